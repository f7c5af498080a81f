//go:build !linux

package remove_test

import "testing"

// nobody gives the test a folder.
func nobody(t *testing.T) string { return t.TempDir() }
