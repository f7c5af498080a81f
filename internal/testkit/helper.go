// Package testkit holds what the tests of several packages share.
package testkit

import "syscall"

// EndHelper ends a process that a test started from its own binary, with an
// exit code. Unlike os.Exit it does not wait for the second that the race
// detector sleeps at the end of every process.
func EndHelper(code int) { syscall.Exit(code) }
