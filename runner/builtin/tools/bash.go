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
	"together, at most 30,000 characters from the beginning and the end. The timeout is 120 s by default, at most 600 s. When " +
	"the command ends or times out, all its processes are killed, including background ones. It can use the workspace, its own " +
	"HOME and TMPDIR, and the system's programs; the network only if the agent is allowed to."

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
