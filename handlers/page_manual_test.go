package handlers

import (
	"io"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"taskyard/docs"
)

var (
	anchorID  = regexp.MustCompile(` id="([^"]+)"`)
	docsLinks = regexp.MustCompile(` (?:href|src)="(/docs[^"]*|#[^"]*)"`)
)

func TestTheDocumentation(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	get := func(t *testing.T, path string) string {
		t.Helper()
		res, err := http.Get(inst.url + path)
		inst.ok(err)
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("GET %s: %s", path, res.Status)
		}
		b, err := io.ReadAll(res.Body)
		inst.ok(err)
		return string(b)
	}
	t.Run("every document is listed and can be read without signing in", func(t *testing.T) {
		files, err := fs.Glob(docs.Files, "*.md")
		inst.ok(err)
		for _, f := range files {
			if name := strings.TrimSuffix(f, ".md"); !slices.Contains(docs.Order, name) {
				t.Errorf("docs.Order lacks %s", name)
			}
		}
		for _, name := range docs.Order[1:] {
			if page := get(t, "/docs/"+name); !strings.Contains(page, `aria-current="page"`) || strings.Contains(page, `id="nav"`) {
				t.Errorf("%s is not rendered correctly", name)
			}
		}
	})
	t.Run("every link leads somewhere", func(t *testing.T) {
		ids := func(page string) (list []string) {
			for _, m := range anchorID.FindAllStringSubmatch(page, -1) {
				list = append(list, m[1])
			}
			return list
		}
		links := 0
		for _, name := range docs.Order {
			path := "/docs/" + name
			if name == "README" {
				path = "/docs"
			}
			page := get(t, path)
			for _, m := range docsLinks.FindAllStringSubmatch(page, -1) {
				to, anchor, has := strings.Cut(m[1], "#")
				at := page
				if to != "" {
					at = get(t, to)
				}
				if has && !slices.Contains(ids(at), anchor) {
					t.Errorf("%s links to %s, which does not exist", path, m[1])
				}
				links++
			}
		}
		if links < 100 {
			t.Errorf("followed only %d links", links)
		}
	})
	t.Run("a search finds sections that contain all words", func(t *testing.T) {
		if page := get(t, "/docs?q=restore+backup"); !strings.Contains(page, `href="/docs/operations#`) || !strings.Contains(page, "<mark>") {
			t.Errorf("got %s", page)
		}
		if page := get(t, "/docs?q=qwertyuiop"); !strings.Contains(page, "Nothing found") {
			t.Error("a nonsense search found something")
		}
	})
	t.Run("a signed-in person has the navigation", func(t *testing.T) {
		inst.maya().get("/docs/concepts").is(http.StatusOK).shows(`id="nav"`, "Hand-over and delegation")
	})
	t.Run("unknown documents are not found, and a long search is refused", func(t *testing.T) {
		for path, want := range map[string]int{
			"/docs/nothing": http.StatusNotFound, "/docs/nothing.svg": http.StatusNotFound, "/docs/..%2fgo.svg": http.StatusNotFound,
			"/docs?q=" + strings.Repeat("a", maxManualQuery+1): http.StatusUnprocessableEntity, "/docs/concepts.svg": http.StatusOK,
			"/docs/nothing.png": http.StatusNotFound, "/docs/review-light-1280.png": http.StatusOK,
		} {
			res, err := http.Get(inst.url + path)
			inst.ok(err)
			_ = res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("GET %.40s: got %s, want %d", path, res.Status, want)
			}
		}
	})
}
