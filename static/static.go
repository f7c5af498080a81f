// Package static holds the files that browsers load: style sheet, scripts,
// icons and the vendored parts. Everything is embedded, and every file has a
// hash, so that an address never changes its meaning.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"
)

//go:embed css/*.css js/*.js *.js icons.svg vendor
var embedded embed.FS

// Prefix is the path under which the files are served.
const Prefix = "/static/"

// styleSheet is what every page loads: the files of css, joined.
const styleSheet = "app.css"

// script is what every page runs: the files of js, joined in this order. Each
// is a function of its own that may use what those before it put into
// window.taskyard.
const script = "app.js"

var scriptParts = []string{"toasts", "send", "app", "keys", "palette", "newtask", "live", "notify"}

// sheets are the files of css that each served style sheet is joined of, in
// that order. Rules of later files of the same layer win.
var sheets = map[string][]string{
	styleSheet: {
		"layers", "reset", "tokens", "base", "layout",
		// components
		"sidebar", "buttons", "badges", "controls", "charts", "toasts", "dialogs", "content", "forms", "menus",
		// pages
		"board", "task", "plan", "feed", "approvals", "transcript", "lists", "agents", "settings",
		"utilities", "responsive",
	},
	"docs.css":       {"docs"},       // of one page, which few open
	"styleguide.css": {"styleguide"}, // of one page, for who changes pages
	"review.css":     {"review"},     // of reviews, projects and merges
	"print.css":      {"print"},      // which no page waits for
}

// hashLen is how many hex digits of a file's SHA-256 its address carries.
const hashLen = 12

// File is a served file.
type File struct {
	Content []byte
	Hash    string        // the first digits of its SHA-256
	Gzip    func() []byte // compressed content; nil where that is no smaller
}

// files are all files that are served under Prefix, by name. They are read once
// they are asked for: the processes between the server and an agent are this
// program too, and start without them in two thirds of the time.
var files = sync.OnceValue(readAll)

// compressible are the kinds of files that compression makes smaller: fonts
// are compressed already.
var compressible = map[string]bool{".css": true, ".js": true, ".svg": true, ".LICENSE": true}

func readAll() map[string]File {
	m := map[string]File{}
	add := func(name string, content []byte) {
		sum := sha256.Sum256(content)
		f := File{Content: content, Hash: hex.EncodeToString(sum[:])[:hashLen]}
		if compressible[path.Ext(name)] {
			f.Gzip = sync.OnceValue(func() []byte { return pack(content) })
		}
		m[name] = f
	}
	err := fs.WalkDir(embedded, ".", func(name string, d fs.DirEntry, err error) error {
		if dir := path.Dir(name); err != nil || d.IsDir() || dir == "css" || dir == "js" {
			return err
		}
		content, err := embedded.ReadFile(name)
		if path.Ext(name) == ".js" && path.Dir(name) == "." {
			content = withoutComments(content)
		}
		if err == nil {
			add(name, content)
		}
		return err
	})
	if err != nil {
		panic(err) // embedded files are always readable
	}
	add(script, joinScripts(scriptParts))
	for name, parts := range sheets {
		add(name, joinSheets(m, parts))
	}
	return m
}

// pack compresses as well as gzip can: it is done once for each file that is
// asked for.
func pack(content []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // that level exists
	_, _ = w.Write(content)                                 // a buffer takes all
	_ = w.Close()
	return out.Bytes()
}

var (
	lineComment = regexp.MustCompile(`(?m)^[ \t]*//.*\n`)

	comment    = regexp.MustCompile(`(?s)/\*.*?\*/`)
	combinator = regexp.MustCompile(` ?([>+~]) `)
	linked     = regexp.MustCompile(`url\(` + Prefix + `([^)]*)\)`)
)

// joinScripts joins files of js.
func joinScripts(parts []string) []byte {
	var out bytes.Buffer
	for _, name := range parts {
		part, err := embedded.ReadFile("js/" + name + ".js")
		if err != nil {
			panic(err)
		}
		out.Write(withoutComments(part))
	}
	return out.Bytes()
}

// withoutComments leaves out the lines of a script that hold nothing but a
// comment.
func withoutComments(js []byte) []byte { return lineComment.ReplaceAll(js, nil) }

// joinSheets joins files of css without comments and needless blanks: a line
// of them holds one declaration or selector, as a test says. The addresses of
// served files in them get the hash of what they name.
func joinSheets(served map[string]File, parts []string) []byte {
	var out bytes.Buffer
	for _, name := range parts {
		sheet, err := embedded.ReadFile("css/" + name + ".css")
		if err != nil {
			panic(err)
		}
		for line := range strings.Lines(string(comment.ReplaceAll(sheet, nil))) {
			line = strings.TrimSpace(line)
			if strings.HasSuffix(line, ";") {
				line = strings.Replace(line, ": ", ":", 1)
			}
			line = strings.ReplaceAll(line, ", ", ",")
			if selector, ok := strings.CutSuffix(line, " {"); ok {
				line = combinator.ReplaceAllString(selector, "$1") + "{"
			}
			out.WriteString(line)
			if line != "" && !strings.ContainsAny(line[len(line)-1:], "{};,") {
				out.WriteByte(' ')
			}
		}
	}
	sheet := bytes.ReplaceAll(out.Bytes(), []byte(";}"), []byte("}"))
	return linked.ReplaceAllFunc(sheet, func(b []byte) []byte {
		name := string(linked.FindSubmatch(b)[1])
		return []byte("url(" + strings.TrimPrefix(address(served, name), Prefix) + ")") // relative to the sheet
	})
}

// Read returns a served file, and whether there is one of that name.
func Read(name string) (File, bool) {
	f, ok := files()[name]
	return f, ok
}

// URL returns the address of a file, with its hash: it may be cached for ever.
// A name that is not embedded is a mistake in the program and panics.
func URL(name string) string { return address(files(), name) }

func address(served map[string]File, name string) string {
	f, ok := served[name]
	if !ok {
		panic(fmt.Sprintf("static: no file %q", name))
	}
	return Prefix + name + "?v=" + f.Hash
}

// ContentType returns the media type of a file by its name. The system's own
// table is not asked, so that every machine answers the same.
func ContentType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	}
	return "text/plain; charset=utf-8"
}
