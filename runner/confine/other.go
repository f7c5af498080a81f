//go:build !linux

package confine

import "errors"

var errLinux = errors.New("programs are confined on Linux only")

// Version is that of landlock here: there is none.
func Version() int { return 0 }

// HasSeccomp tells whether Sockets works here.
func HasSeccomp() bool { return false }

// NoNewRights is for Linux.
func NoNewRights() error { return errLinux }

// Enter is for Linux.
func (r Rules) Enter() error { return errLinux }

// Sockets is for Linux.
func Sockets(bool) error { return errLinux }
