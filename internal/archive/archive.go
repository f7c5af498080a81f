// Package archive reads and writes backups of an instance: a tar file,
// compressed with zstd, whose first entry is a manifest with the size and
// SHA-256 of all others. Each entry is a separate zstd frame, so that damage
// can be located; `tar --zstd -xf` can read the file.
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

// Format is the version of the manifest. Newer ones are rejected.
const Format = 1

const (
	maxManifest = 64 << 20 // bytes, about 400,000 files
	maxName     = 1024     // bytes
	maxWindow   = 8 << 20  // bytes of memory for decompression
)

// Manifest describes the contents of an archive.
type Manifest struct {
	Format   int       `json:"format"`
	Version  string    `json:"version"` // of the program that wrote it
	Schema   int64     `json:"schema"`  // of the database
	Created  time.Time `json:"created"`
	Instance string    `json:"instance"`         // its id
	LogEnd   string    `json:"log_end"`          // LINE:HASH of the last event
	Config   string    `json:"config,omitempty"` // path of the configuration, if outside the data folder
	Runs     bool      `json:"runs"`             // includes the folders of runs
	Files    []File    `json:"files"`            // in archive order
}

// File is one entry.
type File struct {
	Name       string `json:"name"` // a path, relative to the data folder
	Size       int64  `json:"size"` // bytes
	SHA256     string `json:"sha256"`
	Executable bool   `json:"executable,omitempty"`
}

// Has reports whether the archive contains a file.
func (m *Manifest) Has(name string) bool {
	return slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == name })
}

// Size returns the total size of all files in bytes.
func (m *Manifest) Size() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// check returns an error if the manifest cannot be that of a backup.
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

// checkName rejects names that lead out of a folder, or that a terminal or
// another system could misinterpret.
func checkName(name string) error {
	odd := func(r rune) bool { return r == '\\' || r == unicode.ReplacementChar || unicode.IsControl(r) }
	if !fs.ValidPath(name) || name == "." || name == ManifestName || len(name) > maxName || strings.ContainsFunc(name, odd) {
		return fmt.Errorf("%.100q is not a name of a file in a data folder", name)
	}
	return nil
}

// IsName reports whether an archive can contain a file with this name.
func IsName(name string) bool { return checkName(name) == nil }
