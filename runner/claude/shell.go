package claude

import (
	"path/filepath"
	"slices"
	"strings"

	"taskyard/runner/supervise"
)

// shellPrefix is the variable that names a program to run before every command
// of the program's Bash.
const shellPrefix = "CLAUDE_CODE_SHELL_PREFIX"

// signInNames are the variables from which the program reads its credentials.
var signInNames = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}

// acceptShell is the hint in the error for an agent with bash.
const acceptShell = "Set accept_weaker = true in the section of this runner to start it nevertheless, take bash from the agent's " +
	"tools, or choose a runner of kind builtin, whose bash is confined."

// EnforcementGap returns what bash can do here beyond the definition. The
// program enforces the other tools: it offers only those that are listed.
func (c *Runner) EnforcementGap(tools []string) (string, bool) {
	if !slices.Contains(tools, "bash") {
		return "", false
	}
	var beyond []string
	if ok, why := c.Confine.Works(); !ok {
		beyond = append(beyond, "write wherever the account of the server may ("+why+")")
	}
	switch {
	case !c.Confine.Machine().Seccomp:
		beyond = append(beyond, "use the network, whatever its definition says (this machine cannot filter system calls)")
	case !c.isClaude():
		beyond = append(beyond, "use the network, whatever its definition says ("+c.program().Argv[0]+" is not known to heed "+shellPrefix+")")
	}
	if len(beyond) > 0 {
		return "Commands of its bash could also " + strings.Join(beyond, " and ") + ".", !c.AcceptWeaker
	}
	sentence := "Commands of its bash can read every file that the account of the server " +
		"may read, but the data folder; they write in the workspace only."
	if unenforced := c.Confine.Machine().Unenforced(); unenforced != "" {
		sentence += " This machine: " + unenforced + "."
	}
	return sentence, false
}

// confinement adds to a probe how bash is confined on this machine.
func (c *Runner) confinement(p supervise.Probe) supervise.Probe {
	p.Shell = c.Confine.Describe("commands read what the account of the server may, and get no credentials")
	p.Network = "open"
	if c.Confine.Machine().Seccomp && c.isClaude() {
		p.Network = "closed to commands, unless the definition says network: true"
	}
	return p
}

// isClaude reports whether the program is Claude Code itself, by its name.
func (c *Runner) isClaude() bool {
	return slices.ContainsFunc(c.program().Argv, func(arg string) bool { return strings.HasPrefix(filepath.Base(arg), "claude") })
}

// writeShell writes the program that is started before each Bash command. It
// removes what the definition does not grant: the network, and the credentials
// in the environment of the program.
func (c *Runner) writeShell(spec supervise.Spec) error {
	if !slices.Contains(spec.Plan.Tools, "bash") {
		return nil
	}
	files := c.Confine.Rules(spec, c.Env)
	if files != nil {
		files.Hidden = nil // the rules of the parent program still apply, and it may list no folder above the hidden ones
	}
	rules := supervise.ShellRules{Files: files, Sockets: c.Confine.Machine().Seccomp, Network: spec.Plan.Network}
	for _, name := range spec.Plan.Env {
		if !slices.Contains(signInNames, name) && !slices.Contains(c.Pass, name) {
			rules.Keep = append(rules.Keep, name)
		}
	}
	_, err := supervise.WriteShell(spec, rules, c.Shim)
	return err
}
