package notify

import (
	"net/url"
	"slices"
	"strings"

	"taskyard/internal/lazyregexp"
)

// hider removes the secrets of a URL from a text.
type hider struct{ secrets []string }

// anyAddress matches a URL of any scheme.
var anyAddress = lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)

const (
	hidden    = "***"
	minSecret = 4 // replacing shorter parts would break words
)

func newHider(address string, u *url.URL) hider {
	parts := []string{address}
	add := func(s string) {
		parts = append(parts, s, url.PathEscape(s), url.QueryEscape(s))
		parts = append(parts, strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("/:-@", r) })...)
	}
	if u.User != nil {
		add(u.User.Username())
		if p, ok := u.User.Password(); ok {
			add(p)
		}
	}
	if !strings.Contains(u.Host, ".") {
		add(u.Host) // tokens in place of a host; also hosts without a dot
	}
	add(u.Path)
	for _, values := range u.Query() {
		for _, v := range values {
			add(v)
		}
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return len(s) < minSecret })
	// Replace the longest first, so that no remainder of a longer part is left.
	slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) })
	return hider{slices.Compact(parts)}
}

func (h hider) text(s string) string {
	s = anyAddress().ReplaceAllString(s, hidden)
	for _, secret := range h.secrets {
		s = strings.ReplaceAll(s, secret, hidden)
	}
	return s
}
