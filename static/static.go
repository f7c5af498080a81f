// Package static holds the files that browsers load: style sheet, scripts,
// icons and the vendored parts. Everything is embedded, and every file has a
// hash, so that an address never changes its meaning.
package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
)

//go:embed css/*.css *.js icons.svg vendor
var embedded embed.FS

// Prefix is the path under which the files are served.
const Prefix = "/static/"

// styleSheet is the one style sheet that pages load: the files of css, joined.
const styleSheet = "app.css"

// sheets are the files of css in the order in which they are joined. Rules of
// later files of the same layer win.
var sheets = []string{
	"layers", "reset", "tokens", "base", "layout",
	// components
	"sidebar", "buttons", "badges", "controls", "charts", "toasts", "dialogs", "content", "forms", "menus",
	// pages
	"board", "task", "plan", "feed", "approvals", "transcript", "lists", "agents", "settings", "docs",
	"utilities", "responsive", "print",
}

// hashLen is how many hex digits of a file's SHA-256 its address carries.
const hashLen = 12

type file struct {
	content []byte
	hash    string
}

// files are all files that are served under Prefix, by name.
var files = readAll()

func readAll() map[string]file {
	m := map[string]file{}
	add := func(name string, content []byte) {
		sum := sha256.Sum256(content)
		m[name] = file{content, hex.EncodeToString(sum[:])[:hashLen]}
	}
	add(styleSheet, joinSheets())
	err := fs.WalkDir(embedded, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Dir(name) == "css" {
			return err
		}
		content, err := embedded.ReadFile(name)
		if err == nil {
			add(name, content)
		}
		return err
	})
	if err != nil {
		panic(err) // embedded files are always readable
	}
	return m
}

func joinSheets() []byte {
	var out bytes.Buffer
	for _, name := range sheets {
		sheet, err := embedded.ReadFile("css/" + name + ".css")
		if err != nil {
			panic(err)
		}
		out.Write(sheet)
	}
	return out.Bytes()
}

// Read returns the content of a served file, and whether there is one of that
// name.
func Read(name string) ([]byte, bool) {
	f, ok := files[name]
	return f.content, ok
}

// URL returns the address of a file, with its hash: it may be cached for ever.
// A name that is not embedded is a mistake in the program and panics.
func URL(name string) string {
	f, ok := files[name]
	if !ok {
		panic(fmt.Sprintf("static: no file %q", name))
	}
	return Prefix + name + "?v=" + f.hash
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
