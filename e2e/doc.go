// Package e2e holds the tests of the whole program: real processes, real files
// and a real browser.
package e2e
