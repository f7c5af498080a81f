//go:build race

package testkit

// Race reports whether the race detector watches: it makes a program up to
// 20 times slower.
const Race = true
