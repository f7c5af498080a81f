// Package buildinfo identifies the running build of Taskyard.
package buildinfo

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Info identifies a build. A field is "" if unknown.
type Info struct {
	Version string `json:"version"`          // such as v0.1.0; "dev" if unknown
	Commit  string `json:"commit,omitempty"` // Git commit, 40 digits; with "+changes" if files differ from it
	Date    string `json:"date,omitempty"`   // of the commit, RFC 3339
	Go      string `json:"go"`               // version and platform
	SQLite  string `json:"sqlite,omitempty"` // "" in a client without a database
}

// The linker sets these in a release, with -X
// taskyard/internal/buildinfo.linkedVersion=v0.1.0 and so on. Otherwise, Go's
// own build information is used: go install and go build record the version of
// the module, or the commit.
var linkedVersion, linkedCommit, linkedDate string

// Read returns the build of this program.
func Read() Info {
	b, _ := debug.ReadBuildInfo()
	return read(b)
}

func read(b *debug.BuildInfo) Info {
	i := Info{
		Version: linkedVersion, Commit: linkedCommit, Date: linkedDate,
		Go: strings.Join([]string{runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}, " "),
	}
	if b == nil {
		i.Version = cmp.Or(i.Version, "dev")
		return i
	}
	if b.Main.Version != "(devel)" {
		i.Version = cmp.Or(i.Version, b.Main.Version)
	}
	i.Version = cmp.Or(i.Version, "dev")
	if i.Commit != "" {
		return i
	}
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Commit = s.Value + i.Commit
		case "vcs.time":
			i.Date = cmp.Or(i.Date, s.Value)
		case "vcs.modified":
			if s.Value == "true" {
				i.Commit += "+changes"
			}
		}
	}
	return i
}

// String returns one line per field, the version first.
func (i Info) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "taskyard %s\n", i.Version)
	for _, f := range [][2]string{{"commit", i.Commit}, {"date", i.Date}, {"go", i.Go}, {"sqlite", i.SQLite}} {
		if f[1] != "" {
			fmt.Fprintf(&b, "%-8s %s\n", f[0], f[1])
		}
	}
	return b.String()
}
