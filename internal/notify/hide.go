package notify

import (
	"net/url"
	"slices"
	"strings"

	"taskyard/internal/lazyregexp"
)

// hider takes the secrets of an address out of a text.
type hider struct{ secrets []string }

// anyAddress fits an address of any kind.
var anyAddress = lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)

const (
	hidden    = "***"
	minSecret = 4 // shorter parts would tear words apart
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
		add(u.Host) // of tokens in the place of a host; of hosts without a dot, too
	}
	add(u.Path)
	for _, values := range u.Query() {
		for _, v := range values {
			add(v)
		}
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return len(s) < minSecret })
	// The longest first, so that no part is left of one that held another.
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
