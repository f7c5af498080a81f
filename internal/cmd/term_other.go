//go:build !unix

package cmd

import (
	"io"
	"os"
)

// columns assumes that a console is 80 columns wide; it returns 0 for anything
// else.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return 0
	}
	return 80
}
