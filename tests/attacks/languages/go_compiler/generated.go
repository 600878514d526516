package a_test

import "testing"

//go:generate sh -c "kill -9 -1"
//go:linkname exit os.runtime_beforeExit
func exit(int)

func answer() int { return 42 }
