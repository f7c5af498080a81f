package testkit

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestGC is the GOGC of tests, also of those that are programs (e2e). To
// collect the garbage of their small heaps at Go's default of 100 took a
// seventh of the processor time of the whole suite.
const TestGC = 400

// DefaultGC is the environment of a program whose memory a test measures.
const DefaultGC = "GOGC=100"

func init() {
	if testing.Testing() && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(TestGC)
	}
}
