package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

type manCmd struct{}

// Run prints the manual page, generated from the same tree as the help.
func (manCmd) Run(e *Env, k *kong.Context) error {
	_, err := io.WriteString(e.Stdout, manual(k.Model, e.Build.Version, e.Build.Date))
	return err
}

// manual returns the manual page in man(7) format.
func manual(app *kong.Application, version, date string) string {
	var b strings.Builder
	date, _, _ = strings.Cut(date, "T")
	fmt.Fprintf(&b, ".TH TASKYARD 1 %q %q \"User Commands\"\n", date, "taskyard "+version)
	fmt.Fprintf(&b, ".SH NAME\ntaskyard \\- %s\n", roff(app.Help))
	b.WriteString(".SH SYNOPSIS\n.B taskyard\n[\\fICOMMAND\\fR] [\\fIFLAGS\\fR]\n.SH COMMANDS\n")
	for _, leaf := range app.Leaves(true) {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(leaf.Summary()), roff(leaf.Help))
		for _, f := range leaf.Flags {
			if !f.Hidden {
				fmt.Fprintf(&b, ".RS\n.TP\n.B %s\n%s\n.RE\n", roff(f.String()), roff(f.Help))
			}
		}
	}
	b.WriteString(manualEnd)
	return b.String()
}

const manualEnd = `.SH FILES
.TP
.I /etc/taskyard/taskyard.toml
Configuration of the service.
.TP
.I /var/lib/taskyard
Data folder of the service.
.SH ENVIRONMENT
.TP
.B TASKYARD_URL, TASKYARD_TOKEN, TASKYARD_TOKEN_FILE
Server that client commands use, and their token.
.TP
.B TASKYARD_CONFIG, TASKYARD_DATA
Configuration file and data folder.
.TP
.B TASKYARD_\fIKEY\fR
Any key of the configuration in capitals, such as TASKYARD_RUNS_MAX_PARALLEL.
.SH SIGNALS
.TP
.B SIGHUP
Read the definitions of agents and the configuration again.
.TP
.B SIGTERM, SIGINT
Stop: running agents are put back into the queue, the last requests are answered.
.SH EXIT STATUS
0 done, 1 refused, 2 wrong usage, 3 nothing to claim or pop, 4 server not reached.
`

// roff escapes a text.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ", "…", "...").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
