//go:build unix

package config

import "syscall"

// mayWrite returns why this process may not create files in a folder, or nil.
func mayWrite(folder string) error {
	const write = 2
	return syscall.Access(folder, write)
}
