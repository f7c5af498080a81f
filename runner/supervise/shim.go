package supervise

// ShimArg is the first argument that makes the server's binary a shim. It is
// not for people.
const ShimArg = "__supervise"

// The file descriptors that a shim gets besides those of the program.
const (
	lifelineFD = 3 // read end: 'T' or end of file asks the tree to end, 'K' kills it
	statusFD   = 4 // write end: one JSON line when the program started, one at the end
)

// The bytes of the lifeline.
const (
	askTerm = 'T'
	askKill = 'K'
)

// report is a line that the shim writes.
type report struct {
	PID        int    `json:"pid,omitempty"`        // first line: the program runs
	StartError string `json:"startError,omitempty"` // only line: it could not be started
	Passing    bool   `json:"passing,omitempty"`    // with StartError: a later start may succeed
	Ended      bool   `json:"ended,omitempty"`      // last line: what follows holds
	Code       int    `json:"code"`                 // exit code, unless Signal
	Signal     int    `json:"signal,omitempty"`     // what killed the program
	Stopped    bool   `json:"stopped,omitempty"`    // it was asked to end before it ended
	Over       string `json:"over,omitempty"`       // the limit that it passed, for which it was killed
	Leftover   int    `json:"leftover,omitempty"`   // processes that outlived the program
	Survivors  int    `json:"survivors,omitempty"`  // processes that could not be killed
}

// maxProcesses is how many processes a program may have at one time.
const maxProcesses = 2048
