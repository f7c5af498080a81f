package ui

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"
)

func renderPart(t *testing.T, held, inner string) string {
	t.Helper()
	ctx := templ.WithChildren(WithHeld(t.Context(), held), templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, inner)
		return err
	}))
	var b strings.Builder
	if err := Part("li", "t-1", templ.Attributes{"class": "row"}).Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAPartTravelsOnce(t *testing.T) {
	t.Parallel()
	const now = `One <time datetime="2026-01-01T00:00:00Z" title="1 Jan" data-rel="ago">3m ago</time> end`
	version := func(html string) string {
		t.Helper()
		m := regexp.MustCompile(`^<li id="t-1" data-part="([\w-]{8})" class="row">`).FindStringSubmatch(html)
		if m == nil {
			t.Fatalf("no version in %s", html)
		}
		return m[1]
	}
	first := renderPart(t, "", now)
	if want := now + "</li>"; !strings.HasSuffix(first, want) {
		t.Errorf("got %s, want the end %s", first, want)
	}
	held := "aaaaaaaa " + version(first) + " bbbbbbbb"
	for _, c := range []struct {
		name, held, inner string
		same              bool
	}{
		{"held", held, now, true},
		{"a relative time has aged", held, strings.Replace(now, "3m ago", "4m ago", 1), true},
		{"another time", held, strings.Replace(now, "2026-01-01", "2026-01-02", 1), false},
		{"another text before the time", held, "Two" + now[3:], false},
		{"another text after it", held, now + "!", false},
		{"another version is held", "aaaaaaaa", now, false},
		{"nothing is held", "", now, false},
		{"more is held than a page has parts", strings.Repeat("aaaaaaaa ", maxHeld) + version(first), now, false},
	} {
		got := renderPart(t, c.held, c.inner)
		if c.same != (got == `<li id="t-1" data-same></li>`) {
			t.Errorf("%s: got %s", c.name, got)
		}
		if !c.same {
			version(got)
		}
	}
}
