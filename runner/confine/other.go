//go:build !linux

package confine

import "errors"

var errLinux = errors.New("programs are confined on Linux only")

// Version is that of landlock here: there is none.
func Version() int { return 0 }

// HasSeccomp reports whether Filter works here.
func HasSeccomp() bool { return false }

// HasBroker reports whether a Broker works here.
func HasBroker() bool { return false }

// NoNewRights is for Linux.
func NoNewRights() error { return errLinux }

// Enter is for Linux.
func (r Rules) Enter() error { return errLinux }
