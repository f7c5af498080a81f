// Package tree keeps a program and all that it starts together, finds every
// process of it, and kills them. A keeper is a process between the server and
// the program; what the program starts, in whatever session, stays below it.
// It works on Linux; elsewhere it does nothing.
package tree

import "slices"

// End is how a program ended, as its keeper reports it.
type End struct {
	StartError string `json:"startError,omitempty"` // it could not be started; the rest says nothing then
	Code       int    `json:"code"`                 // exit code, unless Signal
	Signal     int    `json:"signal,omitempty"`     // what killed the program
	Stopped    bool   `json:"stopped,omitempty"`    // it was asked to end before it ended
	Over       string `json:"over,omitempty"`       // the limit that it passed, for which it was killed
	Leftover   int    `json:"leftover,omitempty"`   // processes that outlived the program
	Survivors  int    `json:"survivors,omitempty"`  // processes that could not be killed
}

// KeeperCommand returns the file and the first arguments of a keeper: custom or,
// where that is empty, arg of this very binary, even when another has taken its
// place on the disk.
func KeeperCommand(custom []string, arg string) (path string, args []string) {
	if len(custom) > 0 {
		return custom[0], slices.Clone(custom)
	}
	return "/proc/self/exe", []string{"taskyard", arg}
}
