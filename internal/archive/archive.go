// Package archive reads and writes backups of an instance: a tar file, compressed
// by zstd, whose first entry is a manifest with the size and the SHA-256 of all
// others. Each entry is a zstd frame of its own, so that damage is found where
// it is; `tar --zstd -xf` reads the file as any other.
package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"
)

// ManifestName is the first entry.
const ManifestName = "manifest.json"

// Format is the version of what a manifest says. A reader refuses a newer one.
const Format = 1

const (
	maxManifest = 64 << 20 // bytes, about 400,000 files
	maxName     = 1024     // bytes
	maxWindow   = 8 << 20  // bytes of memory for what is decompressed
)

// Manifest says what an archive holds.
type Manifest struct {
	Format   int       `json:"format"`
	Version  string    `json:"version"` // of the program that wrote it
	Schema   int64     `json:"schema"`  // of the database
	Created  time.Time `json:"created"`
	Instance string    `json:"instance"`         // its id
	LogEnd   string    `json:"log_end"`          // LINE:HASH of the last event
	Config   string    `json:"config,omitempty"` // where the configuration was, if outside of the data folder
	Runs     bool      `json:"runs"`             // with the folders of runs
	Files    []File    `json:"files"`            // in the order of the archive
}

// File is one entry.
type File struct {
	Name       string `json:"name"` // a path, relative to the data folder
	Size       int64  `json:"size"` // bytes
	SHA256     string `json:"sha256"`
	Executable bool   `json:"executable,omitempty"`
}

// Has reports whether the archive holds a file.
func (m *Manifest) Has(name string) bool {
	return slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == name })
}

// Size returns the bytes of all files.
func (m *Manifest) Size() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// check refuses what no backup holds.
func (m *Manifest) check() error {
	if m.Format > Format {
		return fmt.Errorf("it has format %d, and this program knows formats up to %d: use a newer taskyard", m.Format, Format)
	}
	seen := map[string]bool{}
	var sum int64
	for _, f := range m.Files {
		if err := checkName(f.Name); err != nil {
			return err
		}
		if seen[f.Name] {
			return fmt.Errorf("it lists %q twice", f.Name)
		}
		seen[f.Name] = true
		if f.Size < 0 || sum+f.Size < sum {
			return fmt.Errorf("it gives no size for %q", f.Name)
		}
		sum += f.Size
	}
	if m.Format < 1 || len(m.Files) == 0 {
		return errors.New("it is not one of a Taskyard backup")
	}
	return nil
}

// checkName refuses names that lead out of a folder, or that a terminal or
// another system would read as something else.
func checkName(name string) error {
	odd := func(r rune) bool { return r == '\\' || r == unicode.ReplacementChar || unicode.IsControl(r) }
	if !fs.ValidPath(name) || name == "." || name == ManifestName || len(name) > maxName || strings.ContainsFunc(name, odd) {
		return fmt.Errorf("%.100q is not a name of a file in a data folder", name)
	}
	return nil
}

// IsName reports whether an archive can hold a file of this name.
func IsName(name string) bool { return checkName(name) == nil }
