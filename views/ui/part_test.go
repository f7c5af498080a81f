package ui

import (
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"taskyard/internal/testkit"
)

func renderPart(t *testing.T, held, inner string) string {
	t.Helper()
	ctx := templ.WithChildren(WithKnownParts(t.Context(), held), templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, inner)
		return err
	}))
	var b strings.Builder
	testkit.NoError(t, Part("li", "t-1", templ.Attributes{"class": "row"}).Render(ctx, &b))
	return b.String()
}

func TestAnUnchangedPartIsNotSentAgain(t *testing.T) {
	t.Parallel()
	const now = `One <time datetime="2026-01-01T00:00:00Z" title="1 Jan" data-rel="ago">3m ago</time> end`
	version := func(html string) string {
		t.Helper()
		m := regexp.MustCompile(`^<li id="t-1" data-part="([\w-]{8})" class="row">`).FindStringSubmatch(html)
		if m == nil {
			t.Fatalf("there is no version in %s", html)
		}
		return m[1]
	}
	first := renderPart(t, "", now)
	if want := now + "</li>"; !strings.HasSuffix(first, want) {
		t.Errorf("got %s, want the suffix %s", first, want)
	}
	held := "aaaaaaaa " + version(first) + " bbbbbbbb"
	for _, c := range []struct {
		name, held, inner string
		same              bool
	}{
		{"held", held, now, true},
		{"an older relative time", held, strings.Replace(now, "3m ago", "4m ago", 1), true},
		{"another time", held, strings.Replace(now, "2026-01-01", "2026-01-02", 1), false},
		{"another text before the time", held, "Two" + now[3:], false},
		{"another text after it", held, now + "!", false},
		{"the client has another version", "aaaaaaaa", now, false},
		{"the client has no version", "", now, false},
		{"the client has more versions than a page has parts", strings.Repeat("aaaaaaaa ", maxKnownParts) + version(first), now, false},
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

func TestACachedPartIsRenderedOncePerStateAndKey(t *testing.T) {
	t.Parallel()
	var c PartCache
	drawn := 0
	ask := func(gen uint64, second int64, key any, held string) string {
		t.Helper()
		ctx := templ.WithChildren(WithKnownParts(t.Context(), held), templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
			drawn++
			_, err := io.WriteString(w, strconv.Itoa(drawn))
			return err
		}))
		var b strings.Builder
		testkit.NoError(t, c.Part(PartState{gen, second}, key, "li", "t-1", nil).Render(ctx, &b))
		return b.String()
	}
	text := regexp.MustCompile(`^<li id="t-1" data-part="([\w-]{8})">(\d+)</li>$`)
	for i, step := range []struct {
		name   string
		gen    uint64
		second int64
		key    any
		want   string
	}{
		{"the first", 5, 1, "a", "1"},
		{"again", 5, 1, "a", "1"},
		{"another key", 5, 1, "b", "2"},
		{"a change", 6, 1, "a", "3"},
		{"a request that began before the change", 5, 1, "a", "4"},
		{"its rendering is not cached", 6, 1, "a", "3"},
		{"a second later", 6, 2, "a", "5"},
	} {
		m := text.FindStringSubmatch(ask(step.gen, step.second, step.key, ""))
		if m == nil || m[2] != step.want {
			t.Fatalf("%d, %s: got %q, want %s", i, step.name, m, step.want)
		}
	}
	version := text.FindStringSubmatch(ask(6, 2, "a", ""))[1]
	if got := ask(6, 2, "a", version); got != `<li id="t-1" data-same></li>` {
		t.Errorf("part that the client has: got %s", got)
	}
	for i := range 2 * maxKept {
		ask(6, 2, i, "")
	}
	if len(c.kept) > maxKept {
		t.Errorf("got %d cached parts", len(c.kept))
	}
}
