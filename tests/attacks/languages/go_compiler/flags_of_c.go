package a_test

// #cgo CFLAGS: -fplugin=/tmp/evil.so
// #cgo LDFLAGS: -Wl,--version-script=/etc/passwd
// int answer_c() { return 42; }
import "C"
import "testing"

func answer() int { return int(C.answer_c()) }
