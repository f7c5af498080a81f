// Package testkit contains what the tests of several packages share.
package testkit

import (
	"flag"
	"runtime"
	"strconv"
	"syscall"
)

// EndHelper ends a process that a test started from its own binary, with an
// exit code. Unlike os.Exit, it does not wait for the second that the race
// detector sleeps at the end of every process.
func EndHelper(code int) { syscall.Exit(code) }

// RunBeside lets n tests of a package run in parallel, or one per core if there
// are more cores. It is for tests that mostly wait for other processes. The
// flag -parallel takes precedence.
func RunBeside(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(max(n, runtime.NumCPU())))
	}
}
