package tools

import (
	"context"
	"fmt"
	"time"
)

// The bounds of bash.
const (
	shellSeconds    = 120
	maxShellSeconds = 600
	maxCommand      = 64 << 10 // characters
	maxOutput       = 30_000   // characters shown, of the beginning and the end together
)

const bashAbout = "Run a command with bash in the workspace; each call starts fresh there. Returns stdout and stderr " +
	"together, at most 30,000 characters of beginning and end. The timeout is 120 s by default, at most 600 s; then, " +
	"and at its end, all its processes are killed, those in the background too. It reaches the workspace, its own " +
	"HOME and TMPDIR, and reads the system's programs; the network only when the agent may."

type bashArgs struct {
	Command string `json:"command"`
	Timeout int    `json:"timeout"` // seconds
}

func (b *Box) bash(ctx context.Context, a bashArgs) (Result, error) {
	if why := refusedShell(b.opts); why != "" {
		return Result{}, fmt.Errorf("%s", why)
	}
	return b.shell(ctx, a)
}

// wait returns the timeout of a command.
func (a bashArgs) wait() time.Duration {
	if a.Timeout == 0 {
		return shellSeconds * time.Second
	}
	return time.Duration(a.Timeout) * time.Second
}
