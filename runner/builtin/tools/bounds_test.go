//go:build linux

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
)

// within calls a tool that must end within a time, whatever its arguments.
func within(t *testing.T, ctx context.Context, b *Box, limit time.Duration, tool string, a args) Result {
	t.Helper()
	raw, err := json.Marshal(a)
	testkit.NoError(t, err)
	done := make(chan Result, 1)
	go func() { done <- b.Call(ctx, tool, raw) }()
	select {
	case r := <-done:
		return r
	case <-time.After(limit):
		t.Fatalf("%s %s does not end within %v", tool, cutMiddle(fmt.Sprint(a), 200), limit)
		return Result{}
	}
}

// A search holds the entries of each folder on its path.
func TestTheMemoryOfASearchIsBounded(t *testing.T) {
	t.Parallel()
	const levels, each = 11, 10
	b := newBox(t)
	folder := b.places[0]
	for range levels {
		folder = filepath.Join(folder, "a")
		testkit.NoError(t, os.Mkdir(folder, 0o700))
		for i := range each {
			testkit.NoError(t, os.Symlink("x", filepath.Join(folder, fmt.Sprint("b", i))))
		}
	}
	const whole = levels * (each + 1) // entries
	for _, room := range []int{whole, whole - each - 1} {
		seen, open := 0, maxFolder-room
		w := &walk{remaining: maxWalk, open: open, complete: true, each: func(string, fs.DirEntry) error { seen++; return nil }}
		testkit.NoError(t, b.descend(t.Context(), ".", 0, w))
		fits := room == whole
		if w.complete != fits || (seen == levels*each) != fits || w.open != open {
			t.Errorf("with room for %d entries: complete %v, %d seen, %d open afterwards", room, w.complete, seen, w.open)
		}
	}
}

// Each tool gets its most expensive input, and must end without being stopped.
func TestEveryToolEndsWithAnyInput(t *testing.T) {
	t.Parallel()
	const limit = 3 * searchTime // the machine may be busy, and the race detector may be on
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(strings.Repeat(r.URL.Query().Get("p"), maxMarkdown)[:maxMarkdown]))
	}))
	defer page.Close()
	b := newBox(t, func(o *Options) {
		o.FetchAllow = []netip.AddrPort{netip.MustParseAddrPort(page.Listener.Addr().String())}
	})
	file(t, b, strings.Repeat("a", 200)+"b", "")
	file(t, b, strings.Repeat("a/", 90)+"b", "")
	size := maxGrepSize
	if testkit.Race {
		size /= 8
	}
	file(t, b, "lines", strings.Repeat("\n", size))
	file(t, b, "one", strings.Repeat("a", size))
	file(t, b, "edit", strings.Repeat("a", maxWrite))
	ok(t, b, "read", args{"path": "edit"})
	for _, tt := range []struct {
		tool string
		args args
	}{
		{"glob", args{"pattern": strings.Repeat("{a,aa,aaa}", 60)}},
		{"glob", args{"pattern": strings.Repeat("{**/,a/,*/}", 60) + "c"}},
		{"glob", args{"pattern": strings.Repeat("*a", 300) + "c"}},
		{"grep", args{"pattern": ".", "glob": strings.Repeat("{a,aa,aaa}", 60)}},
		{"grep", args{"pattern": "(a|aa)+$", "path": "one"}},
		{"grep", args{"pattern": "x", "path": "lines", "context": 10}},
		{"grep", args{"pattern": "((a{100}){100}){100}"}},
		{"grep", args{"pattern": "(" + strings.Repeat("[a-z]", 150) + "){1000}"}},
		{"read", args{"path": "lines", "offset": size}},
		{"read", args{"path": "one", "column": size - 5}},
		{"list", args{"path": strings.Repeat("a/", 90)}},
		{"edit", args{"path": "edit", "old_text": strings.Repeat("a", maxWrite/2), "new_text": ""}},
		{"create", args{"path": strings.Repeat("c/", 1000) + "x", "content": strings.Repeat("\n", maxWrite)}},
		{"fetch", args{"url": page.URL + "?p=%3Cp%3Ex"}},
		{"fetch", args{"url": page.URL + "?p=%3Ci%3E%3Cb%3E%3Cu%3E%3Cp%3E"}},
		{"fetch", args{"url": page.URL + "?p=%3Ctable%3E%3Ctr%3E%3Ctd%3E"}},
	} {
		begin := time.Now()
		r := within(t, t.Context(), b, limit, tt.tool, tt.args)
		t.Logf("%s %s: %v, %s", tt.tool, cutMiddle(fmt.Sprint(tt.args), 60), time.Since(begin).Round(time.Millisecond), cutMiddle(r.Text, 80))
	}
	refused(t, b, "grep", args{"pattern": "((a{30}){30}){30}"}, "pattern: ")
	refused(t, b, "grep", args{"pattern": "(" + strings.Repeat("[a-z]", 150) + "){1000}"}, "pattern: it is too large")
}

func TestAToolStopsWithItsRun(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	file(t, b, "one", strings.Repeat("a", maxGrepSize))
	slow := args{"pattern": "(" + strings.Repeat("(a|b)", 40) + "){90}c", "path": "one"}
	t.Run("while a single line is searched", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(100*time.Millisecond, cancel)
		defer timer.Stop()
		if r := within(t, ctx, b, 10*time.Second, "grep", slow); !r.IsError || r.Text != errStopped.Error() {
			t.Errorf("%+v", r)
		}
	})
	t.Run("at its own limit", func(t *testing.T) {
		b := newBox(t, func(o *Options) { o.Root, o.searchTime = b.opts.Root, 100*time.Millisecond })
		if r := within(t, t.Context(), b, 10*time.Second, "grep", slow); !r.IsError || r.Text != errTooLong.Error() {
			t.Errorf("%+v", r)
		}
	})
	for _, tt := range []struct {
		tool string
		args args
	}{
		{"read", args{"path": "one"}},
		{"list", args{}},
		{"glob", args{"pattern": "**"}},
		{"grep", args{"pattern": "a"}},
		{"fetch", args{"url": "http://127.0.0.1:1/"}},
		{"bash", args{"command": "sleep 600"}},
	} {
		t.Run(tt.tool+" does nothing for an ended run", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if tt.tool == "bash" {
				confined(t)
			}
			if r := within(t, ctx, b, 10*time.Second, tt.tool, tt.args); !r.IsError || !strings.Contains(r.Text, "stopped") {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestGlobs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		glob     string
		yes, not []string
	}{
		{"*.go", []string{"a.go", ".go"}, []string{"a/b.go", "a.gox"}},
		{"**/*.go", []string{"a.go", "a/b.go", "a/b/c.go"}, []string{"a.g"}},
		{"a/**", []string{"a/b", "a/b/c", "a"}, []string{"ab", "b/a"}},
		{"a/**/b", []string{"a/b", "a/x/b", "a/x/y/b"}, []string{"ab", "a/xb"}},
		{"a**b", []string{"ab", "axxb"}, []string{"a/b"}},
		{"**", []string{"a", "a/b"}, nil},
		{"{src,test}/**/*.{go,md}", []string{"src/a.go", "test/x/y.md"}, []string{"lib/a.go", "src/a.txt"}},
		{"{a,b{c,d}}x", []string{"ax", "bcx", "bdx"}, []string{"bx"}},
		{"{**/,}x", []string{"x", "a/x"}, []string{"ax"}},
		{"?.[ch]", []string{"a.c", "é.h"}, []string{"a.o", "/.c", "ab.c"}},
		{"[!a-c]*", []string{"d", "dx"}, []string{"a", "/d"}},
		{"[^a]", []string{"b", "\n"}, []string{"a", "/"}},
		{"a[+-9]b", []string{"a0b", "a.b"}, []string{"a/b"}},
		{"[]a]", []string{"]", "a"}, []string{"b"}},
		{`\*[\]]`, []string{"*]"}, []string{"x]"}},
		{"a.b+(c)$", []string{"a.b+(c)$"}, []string{"axb+(c)$"}},
		{"}a,b", []string{"}a,b"}, nil},
	} {
		matches, err := matcher(t.Context(), ".", tt.glob)
		if err != nil {
			t.Errorf("%s: %v", tt.glob, err)
			continue
		}
		for _, name := range tt.yes {
			if !matches(name) {
				t.Errorf("%s does not match %q", tt.glob, name)
			}
		}
		for _, name := range tt.not {
			if matches(name) {
				t.Errorf("%s matches %q", tt.glob, name)
			}
		}
	}
	for _, glob := range []string{"[a", "{a", "{a,{b}", `a\`, "[z-a]", "[", "[a-"} {
		if _, err := matcher(t.Context(), ".", glob); err == nil {
			t.Errorf("%s was accepted", glob)
		}
	}
}
