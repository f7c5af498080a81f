package mcpserver_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain looks for goroutines that nothing ended. That of the store of
// sessions lives as long as the program.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/alexedwards/scs/v2/memstore.(*MemStore).startCleanup"))
}
