package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// claudeShell is the variable that names a program before every command of the
// program's Bash.
const claudeShell = "CLAUDE_CODE_SHELL_PREFIX"

// The files of a run that hold its shell.
const (
	shellName      = "shell"
	shellRulesName = "shell.json"
)

// claudeSecrets are the names under which the program reads its credentials.
var claudeSecrets = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}

// acceptShell is the hint of a refusal for an agent with bash.
const acceptShell = "Set accept_weaker = true in the section of this runner to start it nevertheless, take bash from the agent's " +
	"tools, or choose a runner of kind builtin, whose bash is confined."

// EnforcementGap says what bash can do here beyond the definition. The other tools
// are held by the program: it offers no more than those that are listed.
func (c *Claude) EnforcementGap(tools []string) (string, bool) {
	if !slices.Contains(tools, "bash") {
		return "", false
	}
	var beyond []string
	if ok, why := c.Confine.works(); !ok {
		beyond = append(beyond, "write wherever the account of the server may ("+why+")")
	}
	switch {
	case !c.Confine.machine().Seccomp:
		beyond = append(beyond, "use the network, whatever its definition says (this machine cannot filter system calls)")
	case !c.isClaude():
		beyond = append(beyond, "use the network, whatever its definition says ("+c.argv()[0]+" is not known to heed "+claudeShell+")")
	}
	if len(beyond) > 0 {
		return "Commands of its bash could also " + strings.Join(beyond, " and ") + ".", !c.AcceptWeaker
	}
	sentence := "Commands of its bash can read every file that the account of the server " +
		"may read, but the data folder; they write in the workspace only."
	if unenforced := c.Confine.machine().Unenforced(); unenforced != "" {
		sentence += " This machine: " + unenforced + "."
	}
	return sentence, false
}

// confinement adds to a probe how bash is held on this machine.
func (c *Claude) confinement(p Probe) Probe {
	p.Shell = c.Confine.words("commands read what the account of the server may, and get no credentials")
	p.Network = "open"
	if c.Confine.machine().Seccomp && c.isClaude() {
		p.Network = "closed to commands, unless the definition says network: true"
	}
	return p
}

// isClaude reports whether the program is Claude Code itself, by its name.
func (c *Claude) isClaude() bool {
	return slices.ContainsFunc(c.argv(), func(arg string) bool { return strings.HasPrefix(filepath.Base(arg), "claude") })
}

// writeShell writes what the program starts before each command of Bash. It
// takes away what the definition does not give: the network, and the
// credentials, which are in the environment of the program.
func (c *Claude) writeShell(spec Spec) error {
	if !hasTool(spec.Plan.Tools, "bash") {
		return nil
	}
	env := c.env()
	files := c.Confine.rules(spec, workOf(spec), env)
	if files != nil {
		files.Hidden = nil // the rules of the program above hold for it, and let it list no folder above the hidden ones
	}
	rules := shellRules{Files: files, Sockets: c.Confine.machine().Seccomp, Network: spec.Plan.Network}
	for _, name := range spec.Plan.Env {
		if !slices.Contains(claudeSecrets, name) && !slices.Contains(c.Pass, name) {
			rules.Keep = append(rules.Keep, name)
		}
	}
	file := filepath.Join(spec.Dir, shellRulesName)
	if err := writeNew(file, jsonLine(rules), 0o600); err != nil {
		return err
	}
	start := c.Shim
	if len(start) == 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		start = []string{self, ShimArg}
	}
	var line strings.Builder
	for _, word := range append(slices.Clone(start), shellArg, file) {
		line.WriteString(" " + quoted(word))
	}
	return writeNew(filepath.Join(spec.Dir, shellName), "#!/bin/sh\nexec"+line.String()+` "$1"`+"\n", 0o700)
}

// quoted is a word for sh.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// writeNew writes a file in place of whatever has its name. No process is
// started meanwhile: it would have the file open until it executes its own
// program, and nobody executes a file that is open for writing.
func writeNew(file, text string, mode os.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	_ = os.Remove(file)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
