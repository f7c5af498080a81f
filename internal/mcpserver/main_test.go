package mcpserver_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks for goroutines that were not stopped. That of the session store
// lives as long as the program.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/alexedwards/scs/v2/memstore.(*MemStore).startCleanup"))
}
