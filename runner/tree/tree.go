// Package tree keeps a program and its descendants together, finds all of their
// processes, and kills them. A keeper is a process between the server and the
// program; what the program starts, in any session, remains below it. It works
// on Linux; elsewhere it does nothing.
package tree

import "slices"

// End describes how a program ended, as reported by its keeper.
type End struct {
	StartError string `json:"startError,omitempty"` // why it could not be started; the other fields are then unset
	Code       int    `json:"code"`                 // exit code, unless Signal is set
	Signal     int    `json:"signal,omitempty"`     // signal that killed the program
	Stopped    bool   `json:"stopped,omitempty"`    // it was asked to end before it ended
	Over       string `json:"over,omitempty"`       // the limit that it exceeded, for which it was killed
	Leftover   int    `json:"leftover,omitempty"`   // processes that outlived the program
	Survivors  int    `json:"survivors,omitempty"`  // processes that could not be killed
}

// KeeperCommand returns the path and the first arguments of a keeper: custom
// or, if that is empty, arg with this very binary, even if its file has been
// replaced.
func KeeperCommand(custom []string, arg string) (path string, args []string) {
	if len(custom) > 0 {
		return custom[0], slices.Clone(custom)
	}
	return "/proc/self/exe", []string{"taskyard", arg}
}
