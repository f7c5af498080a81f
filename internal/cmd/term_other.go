//go:build !unix

package cmd

import (
	"io"
	"os"
)

// columns takes a console for 80 columns wide; what is none has 0.
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
