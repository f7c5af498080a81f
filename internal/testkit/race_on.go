//go:build race

package testkit

// Race reports whether the race detector is enabled, which makes a program up
// to 20 times slower.
const Race = true
