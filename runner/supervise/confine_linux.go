package supervise

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"taskyard/runner/confine"
)

// rulesArg encodes rules for the shim, as an argument before the program.
func rulesArg(r *confine.Rules) []string {
	if r == nil {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // plain data
	}
	return []string{string(text)}
}

// takeRules extracts the rules from a shim's arguments. A program is an
// absolute path and never begins with a brace.
func takeRules(args []string) (*confine.Rules, []string, error) {
	if len(args) < 3 || !strings.HasPrefix(args[2], "{") {
		return nil, args, nil
	}
	var r confine.Rules
	err := json.Unmarshal([]byte(args[2]), &r)
	return &r, slices.Delete(slices.Clone(args), 2, 3), err
}

// confineThread confines this thread, which must be locked and run nothing else, and
// thus the program that it starts. The caller must serve the broker, which is
// nil if none is needed.
func confineThread(r *confine.Rules) (*confine.Broker, error) {
	if r == nil {
		return nil, nil
	}
	if err := confine.NoNewRights(); err != nil {
		return nil, err
	}
	if err := r.Enter(); err != nil || !r.Seccomp {
		return nil, err
	}
	listener, err := confine.Filter{Attributes: r.Attributes}.Enter()
	if err != nil || listener < 0 {
		return nil, err
	}
	return confine.NewBroker(listener, r.Writable), nil
}

// shellMain becomes a shell for one command of an agent: args are the file with
// the rules, and the command. It returns only on failure.
func shellMain(args []string) (exitCode int) {
	runtime.LockOSThread()
	err := fmt.Errorf("it takes a file and a command, not %d arguments", len(args))
	if len(args) == 2 {
		err = becomeShell(args[0], args[1])
	}
	fmt.Fprintln(os.Stderr, "taskyard: the command is not started:", err)
	return 126
}

func becomeShell(file, command string) error {
	var rules ShellRules
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &rules)
	}
	if err != nil {
		return err
	}
	shell, err := exec.LookPath("bash")
	if err != nil {
		shell = "/bin/sh"
	}
	if rules.Files != nil || rules.Sockets {
		if err := confine.NoNewRights(); err != nil {
			return err
		}
	}
	// Use a separate domain, so that it cannot read the memory and environment
	// of the parent program, which hold the credentials.
	if rules.Files != nil {
		if err := rules.Files.Enter(); err != nil {
			return err
		}
	}
	if rules.Sockets {
		if _, err := (confine.Filter{Sockets: true, Network: rules.Network}).Enter(); err != nil {
			return err
		}
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return rules.hides(name)
	})
	return syscall.Exec(shell, []string{shell, "-c", command}, env)
}
