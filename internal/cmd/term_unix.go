//go:build unix

package cmd

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// columns is the width of the terminal that w is, or 0 when it is none.
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
		return 80 // a terminal that does not say
	}
	return int(size.Col)
}
