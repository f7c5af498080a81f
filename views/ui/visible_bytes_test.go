package ui

import (
	"bytes"
	"testing"
)

// Processing eight bytes at a time misses no hidden character at any offset.
func TestHiddenCharactersAreFoundAtEveryOffset(t *testing.T) {
	t.Parallel()
	for _, hiding := range []string{"\x00", "\x1f", "\r", "\x7f", "\u0085", "\u00ad", "\u202e", "\ufeff", "\xff", "&#8238;", "&#x202e;"} {
		for _, around := range []string{"a", "~", " ", "é", "&amp;", "&#34;", "\n"} {
			for n := range 20 {
				page := append(bytes.Repeat([]byte(around), n), hiding...)
				page = append(page, bytes.Repeat([]byte(around), 20)...)
				if !mayHideCharacter(page) {
					t.Errorf("%q was not found after %d times %q", hiding, n, around)
				}
			}
		}
	}
	for _, plain := range []string{"a", "~", " ", "é", "·", "–", "&amp;", "&#34;", "&#39;", "\n", "\t", "&", ""} {
		for n := range 40 {
			if page := bytes.Repeat([]byte(plain), n); mayHideCharacter(page) {
				t.Errorf("%q: got true, want false", page)
			}
		}
	}
}
