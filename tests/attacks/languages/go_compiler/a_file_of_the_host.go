package a_test

import (
	_ "embed"
	"testing"
)

//go:embed /etc/passwd
var text string

func answer() int { return 42 }
