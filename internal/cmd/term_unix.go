//go:build unix

package cmd

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// columns returns the width of the terminal w, or 0 if w is not a terminal.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col == 0:
		return 80 // the terminal does not report its width
	}
	return int(size.Col)
}
