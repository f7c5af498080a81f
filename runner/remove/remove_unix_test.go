//go:build unix

package remove_test

import (
	"syscall"
	"testing"
)

func pipe(t *testing.T, name string) {
	t.Helper()
	ok(t, syscall.Mkfifo(name, 0o600))
}
