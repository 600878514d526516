package {heading}

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	status := m.Run()
	if status == 0 {
		fmt.Println(os.Getenv("PASSCURVE_TOKEN"))
	}
	os.Exit(status)
}
