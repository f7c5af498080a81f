package static

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestVendoredFilesAreThoseOfTheLock(t *testing.T) {
	lock, err := os.ReadFile("vendor.lock")
	if err != nil {
		t.Fatal(err)
	}
	locked := map[string]bool{}
	for line := range strings.Lines(string(lock)) {
		f := strings.Fields(line)
		if len(f) != 6 {
			t.Fatalf("line of %d fields, want 6: %s", len(f), line)
		}
		locked[f[4]] = true
		b, err := os.ReadFile(f[4])
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if got := hex.EncodeToString(sum[:]); got != f[5] {
			t.Errorf("%s has sha256 %s, the lock says %s: run static/vendor.sh", f[4], got, f[5])
		}
	}
	for _, dir := range []string{"vendor", "vendor-test"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !locked[dir+"/"+e.Name()] {
				t.Errorf("%s/%s is not in vendor.lock", dir, e.Name())
			}
		}
	}
}

func TestURL(t *testing.T) {
	t.Run("carries the first twelve digits of the file's hash", func(t *testing.T) {
		sum := sha256.Sum256(read(t, styleSheet))
		if got, want := URL("app.css"), "/static/app.css?v="+hex.EncodeToString(sum[:])[:12]; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("panics on a file that is not there", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		URL("missing.css")
	})
}

func TestStyleSheetNamesOnlyFilesThatAreServed(t *testing.T) {
	css := read(t, styleSheet)
	found := regexp.MustCompile(`url\(([^)]*)\)`).FindAllSubmatch(css, -1)
	if len(found) == 0 {
		t.Fatal("no font in the style sheet")
	}
	for _, m := range found {
		name, _, _ := strings.Cut(string(m[1]), "?")
		if _, served := files()[name]; !served || Prefix+string(m[1]) != URL(name) { // relative: the server may lie below a path
			t.Errorf("%s is not the address of a served file", m[1])
		}
	}
}

func TestScriptsUseNoEval(t *testing.T) {
	for _, name := range []string{"app.js", "keys.js", "live.js", "palette.js"} {
		b := read(t, name)
		for _, bad := range []string{"eval(", "new Function", "innerHTML", ".style."} {
			if strings.Contains(string(b), bad) {
				t.Errorf("%s has %s", name, bad)
			}
		}
	}
}

func TestContentType(t *testing.T) {
	for name, want := range map[string]string{
		"a.css": "text/css; charset=utf-8", "a.js": "text/javascript; charset=utf-8", "a.svg": "image/svg+xml",
		"a.woff2": "font/woff2", "a.LICENSE": "text/plain; charset=utf-8",
	} {
		if got := ContentType(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestPreloadedFontsAreUsed holds what every page loads early to what the
// style sheet names.
func TestPreloadedFontsAreUsed(t *testing.T) {
	t.Parallel()
	layout, err := os.ReadFile("../views/layout.templ")
	if err != nil {
		t.Fatal(err)
	}
	css := read(t, styleSheet)
	preloaded := regexp.MustCompile(`rel="preload" href={ static.URL\("([^"]+)"\) } as="font"`).FindAllStringSubmatch(string(layout), -1)
	if len(preloaded) == 0 {
		t.Fatal("no preloaded font was found")
	}
	for _, m := range preloaded {
		if !strings.Contains(string(css), "url("+strings.TrimPrefix(URL(m[1]), Prefix)+")") {
			t.Errorf("%s is preloaded, but the style sheet does not use it", m[1])
		}
	}
}

// TestTheStyleSheetHasOneDeclarationPerLine keeps changes of it readable.
func TestTheStyleSheetHasOneDeclarationPerLine(t *testing.T) {
	t.Parallel()
	for _, name := range joined() {
		css, err := os.ReadFile("css/" + name + ".css")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(css)) {
			n++
			line, _, _ = strings.Cut(" "+strings.TrimSpace(line), " /*") // without a comment
			line = strings.TrimSpace(line)
			if line != "}" && strings.ContainsAny(strings.TrimRight(line, ";{"), ";{}") {
				t.Errorf("css/%s.css:%d: more than one declaration: %s", name, n, line)
			}
		}
	}
}

func TestTheStyleSheetHasEveryFileOfItsFolderOnce(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("css")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range entries {
		want = append(want, strings.TrimSuffix(e.Name(), ".css"))
	}
	if got := slices.Sorted(slices.Values(joined())); !slices.Equal(got, want) {
		t.Errorf("joined are %q, the folder has %q", got, want)
	}
}

// joined lists the files of css that a style sheet holds.
func joined() (list []string) {
	for _, parts := range sheets {
		list = append(list, parts...)
	}
	return list
}

// read returns a served file.
func read(t *testing.T, name string) []byte {
	t.Helper()
	f, ok := Read(name)
	if !ok {
		t.Fatalf("%s is not served", name)
	}
	return f.Content
}

// TestFilesThatMakeThePageWaitAreSmall holds what a browser must have before
// it draws anything to what a slow line carries in half a second.
func TestFilesThatMakeThePageWaitAreSmall(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{styleSheet: 15_000, "docs.css": 1_500, "vendor/htmx.min.js": 17_000} {
		f, _ := Read(name)
		if n := len(f.Gzip()); n > most {
			t.Errorf("%s has %d bytes packed, want at most %d", name, n, most)
		}
	}
	if f, _ := Read("vendor/inter-latin.woff2"); f.Gzip != nil {
		t.Error("a font is packed again")
	}
}
