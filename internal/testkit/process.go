// Package testkit holds what the tests of several packages share.
package testkit

import (
	"flag"
	"runtime"
	"strconv"
	"syscall"
)

// EndHelper ends a process that a test started from its own binary, with an
// exit code. Unlike os.Exit it does not wait for the second that the race
// detector sleeps at the end of every process.
func EndHelper(code int) { syscall.Exit(code) }

// RunBeside lets n tests of a package run beside each other, or as many as
// there are cores if that is more. It is for tests that wait for other
// processes more than they compute. The flag -parallel wins.
func RunBeside(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(max(n, runtime.NumCPU())))
	}
}
