package static

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"taskyard/internal/testkit"
)

func TestVendoredFilesMatchTheLock(t *testing.T) {
	t.Parallel()
	lock, err := os.ReadFile("vendor.lock")
	testkit.NoError(t, err)
	locked := map[string]bool{}
	for line := range strings.Lines(string(lock)) {
		f := strings.Fields(line)
		if len(f) != 6 {
			t.Fatalf("a line has %d fields, want 6: %s", len(f), line)
		}
		locked[f[4]] = true
		b, err := os.ReadFile(f[4])
		testkit.NoError(t, err)
		sum := sha256.Sum256(b)
		if got := hex.EncodeToString(sum[:]); got != f[5] {
			t.Errorf("%s has sha256 %s, want %s from the lock: run static/vendor.sh", f[4], got, f[5])
		}
	}
	for _, dir := range []string{"vendor", "vendor-test"} {
		entries, err := os.ReadDir(dir)
		testkit.NoError(t, err)
		for _, e := range entries {
			if !locked[dir+"/"+e.Name()] {
				t.Errorf("%s/%s is not in vendor.lock", dir, e.Name())
			}
		}
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	t.Run("contains the first twelve digits of the file's hash", func(t *testing.T) {
		sum := sha256.Sum256(read(t, styleSheet))
		if got, want := URL("app.css"), "/static/app.css?v="+hex.EncodeToString(sum[:])[:12]; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("panics on a missing file", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("got no panic")
			}
		}()
		URL("missing.css")
	})
}

func TestTheStyleSheetRefersOnlyToServedFiles(t *testing.T) {
	t.Parallel()
	css := read(t, styleSheet)
	found := regexp.MustCompile(`url\(([^)]*)\)`).FindAllSubmatch(css, -1)
	if len(found) == 0 {
		t.Fatal("no font in the style sheet")
	}
	for _, m := range found {
		name, _, _ := strings.Cut(string(m[1]), "?")
		if _, served := files()[name]; !served || Prefix+string(m[1]) != URL(name) { // relative, because the server may be below a path
			t.Errorf("%s is not the address of a served file", m[1])
		}
	}
}

func TestScriptsUseNoEval(t *testing.T) {
	t.Parallel()
	for name, f := range files() {
		if path.Ext(name) != ".js" || path.Dir(name) != "." {
			continue
		}
		for _, bad := range []string{"eval(", "new Function", "innerHTML", ".style."} {
			moves := name == "drag.js" && bad == ".style." // a dragged card follows the pointer
			if strings.Contains(string(f.Content), bad) && !moves {
				t.Errorf("%s contains %s", name, bad)
			}
		}
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.css": "text/css; charset=utf-8", "a.js": "text/javascript; charset=utf-8", "a.svg": "image/svg+xml",
		"a.woff2": "font/woff2", "a.LICENSE": "text/plain; charset=utf-8",
	} {
		if got := ContentType(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestTheStyleSheetHasOneDeclarationPerLine keeps changes of it readable.
func TestTheStyleSheetHasOneDeclarationPerLine(t *testing.T) {
	t.Parallel()
	for _, name := range joined() {
		css, err := os.ReadFile("css/" + name + ".css")
		testkit.NoError(t, err)
		n := 0
		for line := range strings.Lines(string(css)) {
			n++
			line, _, _ = strings.Cut(" "+strings.TrimSpace(line), " /*") // without its comment
			line = strings.TrimSpace(line)
			if line != "}" && strings.ContainsAny(strings.TrimRight(line, ";{"), ";{}") {
				t.Errorf("css/%s.css:%d: more than one declaration: %s", name, n, line)
			}
		}
	}
}

func TestEveryFileOfAFolderIsJoinedOnce(t *testing.T) {
	t.Parallel()
	for dir, parts := range map[string][]string{"css": joined(), "js": scriptParts} {
		entries, err := os.ReadDir(dir)
		testkit.NoError(t, err)
		var want []string
		for _, e := range entries {
			want = append(want, strings.TrimSuffix(e.Name(), "."+dir))
		}
		if got := slices.Sorted(slices.Values(parts)); !slices.Equal(got, want) {
			t.Errorf("joined %q, want %q as in the folder %s", got, dir, want)
		}
	}
}

// TestScriptsLoseOnlyTheirComments checks that no line of code is removed.
func TestScriptsLoseOnlyTheirComments(t *testing.T) {
	t.Parallel()
	source := "// Said once.\n(() => {\n  // why\n  const at = `https://${host}//`; // kept\n\t//\n})();\n"
	if got, want := string(withoutComments([]byte(source))), "(() => {\n  const at = `https://${host}//`; // kept\n})();\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, name := range scriptParts {
		source, err := os.ReadFile("js/" + name + ".js")
		testkit.NoError(t, err)
		if !bytes.HasSuffix(source, []byte("})();\n")) {
			t.Errorf("js/%s.js is not an immediately called function: joined with the next script, its meaning may change", name)
		}
		if part := withoutComments(source); !bytes.Contains(read(t, script), part) {
			t.Errorf("%s does not contain js/%s.js", script, name)
		}
	}
}

// joined lists the files of css that a style sheet contains.
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

// TestRenderBlockingFilesAreSmall limits what a browser must load before a
// page can be used to what a slow connection transfers in a second.
func TestRenderBlockingFilesAreSmall(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{styleSheet: 15_000, "docs.css": 1_500, script: 14_500, "vendor/htmx.min.js": 17_000} {
		f, _ := Read(name)
		if n := len(f.Gzip()); n > limit {
			t.Errorf("%s has %d compressed bytes, want at most %d", name, n, limit)
		}
	}
	if f, _ := Read("vendor/inter-latin.woff2"); f.Gzip != nil {
		t.Error("a font is compressed again")
	}
}
