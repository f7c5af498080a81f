//go:build !linux

package remove_test

import "testing"

// nobody returns a folder for the test.
func nobody(t *testing.T) string { return t.TempDir() }
