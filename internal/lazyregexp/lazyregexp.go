// Package lazyregexp compiles regular expressions on first use. Every process
// between the server and an agent, and every client command, is the same
// binary: each of them would pay for expressions compiled at startup.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// New returns a function that returns the compiled expression. An invalid
// expression panics on first use; in test binaries, at once.
func New(expr string) func() *regexp.Regexp {
	get := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	if strings.HasSuffix(os.Args[0], ".test") {
		get()
	}
	return get
}
