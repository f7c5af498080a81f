// Package static contains the files that browsers load: style sheets, scripts,
// icons and vendored files. All files are embedded and have a hash in their
// URL, so that the content of a URL never changes.
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

// styleSheet is loaded by every page: the joined files of css.
const styleSheet = "app.css"

// script is loaded by every page: the files of js, joined in this order. Each
// is a separate function that may use what the previous ones added to
// window.taskyard.
const script = "app.js"

var scriptParts = []string{"toasts", "send", "app", "keys", "palette", "newtask", "live", "notify"}

// sheets lists the files of css in each served style sheet, in order. Within a
// layer, rules of later files take precedence.
var sheets = map[string][]string{
	styleSheet: {
		"layers", "reset", "tokens", "base", "layout",
		// components
		"sidebar", "buttons", "badges", "controls", "charts", "toasts", "dialogs", "content", "forms", "menus",
		// pages
		"board", "task", "plan", "feed", "approvals", "transcript", "lists", "agents", "settings",
		"utilities", "responsive",
	},
	"docs.css":       {"docs"},       // for one page that few people open
	"styleguide.css": {"styleguide"}, // for one page, for developers
	"review.css":     {"review"},     // for reviews, projects and merges
	"print.css":      {"print"},      // which no page waits for
}

// hashLen is how many hex digits of a file's SHA-256 are in its URL.
const hashLen = 12

// File is a served file.
type File struct {
	Content []byte
	Hash    string        // the first digits of its SHA-256
	Gzip    func() []byte // compressed content; nil if it is not smaller
}

// files returns all files served under Prefix, by name. They are read on first
// use: the processes between the server and an agent use the same binary, and
// start a third faster without them.
var files = sync.OnceValue(readAll)

// compressible are the file types that compression makes smaller; fonts are
// already compressed.
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
		dir := path.Dir(name)
		if err != nil || d.IsDir() || dir == "css" || dir == "js" {
			return err
		}
		content, err := embedded.ReadFile(name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".js" && dir == "." {
			content = withoutComments(content)
		}
		add(name, content)
		return nil
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

// pack uses the best compression of gzip, because each file is compressed only
// once.
func pack(content []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // that level exists
	_, _ = w.Write(content)                                 // a buffer never fails
	_ = w.Close()
	return out.Bytes()
}

var (
	lineComment = regexp.MustCompile(`(?m)^[ \t]*//.*\n`)

	comment    = regexp.MustCompile(`(?s)/\*.*?\*/`)
	combinator = regexp.MustCompile(` ?([>+~]) `)
	linked     = regexp.MustCompile(`url\(` + Prefix + `([^)]*)\)`)
)

// joinScripts joins files of js without their comments.
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

// withoutComments removes the lines of a script that contain only a comment.
func withoutComments(js []byte) []byte { return lineComment.ReplaceAll(js, nil) }

// joinSheets joins files of css without comments and unnecessary white space. A
// test ensures that each line has one declaration or selector. URLs of served
// files in them get the hash of the file.
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

// Read returns a served file, and whether it exists.
func Read(name string) (File, bool) {
	f, ok := files()[name]
	return f, ok
}

// URL returns the URL of a file with its hash, which may be cached forever. An
// unknown name is a programming error and panics.
func URL(name string) string { return address(files(), name) }

func address(served map[string]File, name string) string {
	f, ok := served[name]
	if !ok {
		panic(fmt.Sprintf("static: no file %q", name))
	}
	return Prefix + name + "?v=" + f.Hash
}

// ContentType returns the media type of a file by its name, independently of
// the system's own table.
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
