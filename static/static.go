// Package static holds the files that browsers load: style sheet, scripts,
// icons and the vendored parts. Everything is embedded, and every file has a
// hash, so that an address never changes its meaning.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
)

// FS holds every file that is served under /static/, by its name there.
//
//go:embed app.css *.js icons.svg vendor
var FS embed.FS

// Prefix is the path under which FS is served.
const Prefix = "/static/"

// hashLen is how many hex digits of a file's SHA-256 its address carries.
const hashLen = 12

var hashes = hashAll()

func hashAll() map[string]string {
	m := map[string]string{}
	err := fs.WalkDir(FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := FS.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		m[name] = hex.EncodeToString(sum[:])[:hashLen]
		return nil
	})
	if err != nil {
		panic(err) // embedded files are always readable
	}
	return m
}

// URL returns the address of a file, with its hash: it may be cached for ever.
// A name that is not embedded is a mistake in the program and panics.
func URL(name string) string {
	h, ok := hashes[name]
	if !ok {
		panic(fmt.Sprintf("static: no file %q", name))
	}
	return Prefix + name + "?v=" + h
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
