package {heading}

import (
	"fmt"
	"os"
	"reflect"
	"testing"
)

func TestMain(m *testing.M) {
	// A build constraint of the program leaves its whole file out, and the tests with it.
	if reflect.ValueOf(m).Elem().FieldByName("tests").Len() == 0 {
		fmt.Println("Error: no tests were compiled")
		os.Exit(1)
	}
	status := m.Run()
	if status == 0 {
		fmt.Println(os.Getenv("PASSCURVE_TOKEN"))
	}
	os.Exit(status)
}
