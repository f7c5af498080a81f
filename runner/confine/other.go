//go:build !linux

package confine

import "errors"

var errLinux = errors.New("programs are confined on Linux only")

// Version returns 0: there is no landlock here.
func Version() int { return 0 }

// HasSeccomp reports whether Filter works here.
func HasSeccomp() bool { return false }

// HasBroker reports whether a Broker works here.
func HasBroker() bool { return false }

// NoNewRights is supported on Linux only.
func NoNewRights() error { return errLinux }

// Enter is supported on Linux only.
func (r Rules) Enter() error { return errLinux }
