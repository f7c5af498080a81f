// Package lazyregexp compiles regular expressions when they are first used.
// Every process between the server and an agent, and every command of the
// client, is this one binary: what its packages compile at the start, each of
// them pays for.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// New returns a function that gives the compiled expression. One that is not
// valid panics at its first use, in the programs of tests at once.
func New(expr string) func() *regexp.Regexp {
	get := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	if strings.HasSuffix(os.Args[0], ".test") {
		get()
	}
	return get
}
