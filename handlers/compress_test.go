package handlers

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"taskyard/internal/testkit"
)

// decompress returns the uncompressed body of a response.
func decompress(t *testing.T, coding string, body []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(body)
	switch coding {
	case "":
	case "gzip":
		z, err := gzip.NewReader(r)
		testkit.NoError(t, err)
		r = z
	case "zstd":
		z, err := zstd.NewReader(r)
		testkit.NoError(t, err)
		defer z.Close()
		r = z
	default:
		t.Fatalf("got coding %q", coding)
	}
	b, err := io.ReadAll(r)
	testkit.NoError(t, err)
	return string(b)
}

func TestResponsesAreCompressedForClientsThatAcceptIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct{ path, accepts, coding, holds string }{
		{"/login", "gzip, deflate, br, zstd", "zstd", "</html>"},
		{"/login", "gzip, deflate", "gzip", "</html>"},
		{"/login", "br", "", "</html>"},
		{"/login", "", "", "</html>"},
		{"/api/docs", "gzip", "gzip", "</html>"},
		{"/api/openapi.json", "gzip", "gzip", `"openapi"`},
		{"/api/me", "gzip", "", `"name"`}, // small, and not for browsers
		{"/static/app.css", "gzip", "gzip", "@layer"},
		{"/static/app.css", "gzip;q=0, deflate", "", "@layer"},
		{"/static/vendor/inter-latin.woff2", "gzip", "", "wOF2"},
	} {
		// An empty header keeps the client from requesting gzip automatically.
		caller := "nobody"
		if c.path == "/api/me" {
			caller = "admin"
		}
		a := s.do(caller, "GET", c.path, "", "Accept-Encoding", c.accepts).want(200)
		coding := a.Header.Get("Content-Encoding")
		if coding != c.coding {
			t.Errorf("%s for %q: got coding %q, want %q", c.path, c.accepts, coding, c.coding)
			continue
		}
		if got := decompress(t, coding, a.Body); !strings.Contains(got, c.holds) {
			t.Errorf("%s for %q: got %.200s", c.path, c.accepts, got)
		}
	}
}

func TestStaticFilesAreCached(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := string(s.do("nobody", "GET", "/login", "").want(200).Body)
	_, rest, _ := strings.Cut(page, `as="font"`)
	before := page[:len(page)-len(rest)]
	font := before[strings.LastIndex(before, `href="`)+len(`href="`):]
	font, _, _ = strings.Cut(font, `"`)
	a := s.do("nobody", "GET", font, "").want(200)
	if got := a.Header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
		t.Errorf("font %s: got Cache-Control %q", font, got)
	}
	plain, _, _ := strings.Cut(font, "?")
	a = s.do("nobody", "GET", plain, "").want(200)
	if got := a.Header.Get("Cache-Control"); strings.Contains(got, "immutable") {
		t.Errorf("without the hash: got Cache-Control %q", got)
	}
	s.do("nobody", "GET", plain, "", "If-None-Match", a.Header.Get("ETag")).want(http.StatusNotModified)
	s.do("nobody", "GET", plain, "", "If-None-Match", `W/"another"`).want(200)
	if got := s.do("nobody", "GET", plain+"?v=another", "").want(200).Header.Get("Cache-Control"); strings.Contains(got, "immutable") {
		t.Error("a wrong hash is cached forever")
	}
}

// A secret that is constant next to text from the request could be guessed from the
// lengths of compressed pages.
func TestFormTokensAreMasked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.do("nobody", "GET", "/login", "").want(200)
	cookie, _, _ := strings.Cut(first.Header.Get("Set-Cookie"), ";")
	token := func(page string) string {
		_, rest, _ := strings.Cut(page, `name="_token" value="`)
		v, _, _ := strings.Cut(rest, `"`)
		return v
	}
	second := s.do("nobody", "GET", "/login", "", "Cookie", cookie).want(200)
	one, two := token(string(first.Body)), token(string(second.Body))
	if len(one) < 64 || len(two) < 64 || one == two {
		t.Fatalf("got tokens %q and %q", one, two)
	}
	for i := range len(one) - 8 {
		if strings.Contains(two, one[i:i+8]) {
			t.Fatalf("tokens %s and %s share %s", one, two, one[i:i+8])
		}
	}
	send := func(token string, status int) {
		t.Helper()
		s.do("nobody", "POST", "/login", "name=nobody&password=wrong&_token="+token, "Cookie", cookie,
			"Content-Type", "application/x-www-form-urlencoded").want(status)
	}
	send(one, http.StatusUnauthorized)
	send(two, http.StatusUnauthorized)
	for name, bad := range map[string]string{
		"none": "", "half": one[:43], "another mask": two[:43] + one[43:], "no base64": strings.Repeat("!", 86),
	} {
		t.Run(name, func(_ *testing.T) { send(bad, http.StatusForbidden) })
	}
}
