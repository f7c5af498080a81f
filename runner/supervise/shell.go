package supervise

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"taskyard/runner/confine"
	"taskyard/task"
)

// shellArg makes the shim a shell for one command; see shellMain.
const shellArg = "shell"

// ShellRules restrict a command of an agent's shell.
type ShellRules struct {
	Files   *confine.Rules `json:"files,omitempty"`   // nil: the same as the parent program
	Sockets bool           `json:"sockets,omitempty"` // block sockets except those of the network
	Network bool           `json:"network,omitempty"` // with Sockets: block network sockets too, unless set
	Keep    []string       `json:"keep,omitempty"`    // names of secret variables that commands may see
}

// hides reports whether a variable is hidden from commands of the agent.
func (r ShellRules) hides(name string) bool {
	return task.IsSecretName(name) && !slices.Contains(r.Keep, name)
}

// The files in a run's folder that form its shell.
const (
	shellName      = "shell"
	shellRulesName = "shell.json"
)

// WriteShell writes a program into the folder of a run that executes one
// command, its argument, under rules, and returns its path. shim is that of the
// Program.
func WriteShell(spec Spec, rules ShellRules, shim []string) (path string, err error) {
	text, err := json.Marshal(rules)
	if err != nil {
		return "", err
	}
	file := filepath.Join(spec.Dir, shellRulesName)
	if err := WriteNew(file, string(text)+"\n", 0o600); err != nil {
		return "", err
	}
	if len(shim) == 0 {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		shim = []string{self, ShimArg}
	}
	var line strings.Builder
	for _, word := range append(slices.Clone(shim), shellArg, file) {
		line.WriteString(" " + quoted(word))
	}
	path = ShellPath(spec)
	return path, WriteNew(path, "#!/bin/sh\nexec"+line.String()+` "$1"`+"\n", 0o700)
}

// ShellPath returns the path of the program that WriteShell writes.
func ShellPath(spec Spec) string { return filepath.Join(spec.Dir, shellName) }

// quoted quotes a word for sh.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// WriteNew replaces a file. No process is started in the meantime, because it
// would inherit the open file until its exec, and a file that is open for
// writing cannot be executed.
func WriteNew(file, text string, mode os.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	_ = os.Remove(file)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
