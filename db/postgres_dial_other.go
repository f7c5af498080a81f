//go:build !linux

package db

import (
	"syscall"
	"time"
)

// limitUnanswered is for Linux; elsewhere the system decides.
func limitUnanswered(time.Duration) func(network, address string, c syscall.RawConn) error {
	return nil
}
