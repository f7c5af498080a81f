package supervise

import "taskyard/runner/tree"

// ShimArg is the first argument that makes the server's binary a shim. It is
// not for people.
const ShimArg = "__supervise"

// The file descriptors of a shim in addition to those of the program.
const (
	lifelineFD = 3 // read end: 'T' or end of file asks the tree to end, 'K' kills it
	statusFD   = 4 // write end: one JSON line when the program has started, one at the end
)

// The bytes of the lifeline.
const (
	askTerm = 'T'
	askKill = 'K'
)

// report is a line that the shim writes.
type report struct {
	PID       int  `json:"pid,omitempty"`     // first line: the program runs
	Transient bool `json:"passing,omitempty"` // only line, with StartError: a later attempt may succeed
	Ended     bool `json:"ended,omitempty"`   // last line: the program has ended
	tree.End
}

// startError says that the program could not be started: not found, not
// executable, or in an unknown format.
type startError struct {
	text      string
	transient bool // a later attempt may succeed
}

func (e *startError) Error() string { return e.text }

// maxProcesses is how many processes a program may have at the same time.
const maxProcesses = 2048
