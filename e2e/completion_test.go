package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completions lists what the shells get for a line, without the descriptions.
func (s *shell) completions(words ...string) (list []string) {
	s.t.Helper()
	for l := range strings.SplitSeq(s.ok("", append([]string{"complete-words", "--"}, words...)...), "\n") {
		word, _, _ := strings.Cut(l, "\t")
		list = append(list, word)
	}
	return list
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	a := in.shellFor(t, "--agent", agentName)
	a.ok("", "task", "create", "Evil \x1b[31m title", "--owner", otherAgent)
	a.ok("", "task", "create", "Mine")
	for _, c := range []struct{ name, line, want string }{
		{"commands", "ta", "task"},
		{"their commands", "task h", "history heartbeat"},
		{"hidden commands are not offered", "demo", "demo"},
		{"flags, also those of the group", "task claim --", "--help --json --agent --count --wait --quiet"},
		{"flags of the command that runs by default", "delegate --m", "--model"},
		{"agents of the server", "task claim --agent ", otherAgent + " " + agentName},
		{"agents after =", "task claim --agent=co", "--agent=" + otherAgent},
		{"as bash splits it", "task claim --agent = co", otherAgent},
		{"agents as arguments", "task move 1 gen", agentName},
		{"also after a flag with its value", "task move --comment hello 1 gen", agentName},
		{"tasks of the agent's queue", "task show ", "2"},
		{"further arguments of a list", "task block 1 2 ", "2"},
		{"the values of a flag", "task update 1 --status c", "canceled complete"},
		{"the scopes of a token", "token create --scope ", "read operate review admin worker"},
		{"the roles of people", "user add maya --role v", "viewer"},
		{"the values of an argument", "completion ", "bash zsh fish"},
		{"files", "task comment 1 --file ", ":files"},
		{"a text has no completions", "task comment 1 ", ""},
		{"no flag after --", "task move 1 -- --", ""},
		{"an unknown command", "nope ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join((&shell{t, a.env}).completions(strings.Split(c.line, " ")...), " "); got != c.want {
				t.Errorf("%s: got %q, want %q", c.line, got, c.want)
			}
		})
	}
	t.Run("titles cannot control the terminal", func(t *testing.T) {
		if out := a.with(t, "TASKYARD_AGENT", otherAgent).ok("", "complete-words", "--", "task", "show", ""); out != "1\tEvil \\x1b[31m title" {
			t.Errorf("%q", out)
		}
	})
	t.Run("without a server, there are no names and no message", func(t *testing.T) {
		for name, s := range map[string]*shell{
			"away":     a.with(t, "TASKYARD_URL", "http://"+freeAddress(t)),
			"no token": a.with(t, "TASKYARD_TOKEN", ""),
		} {
			if out, errs, code := s.try("", "complete-words", "--", "task", "claim", "--agent", ""); out != "" || errs != "" || code != exitOK {
				t.Errorf("%s: %d %q %q", name, code, out, errs)
			}
		}
	})
}

// script runs a script in a real shell that finds the built program.
func (s *shell) script(t *testing.T, sh, script string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), sh, "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + filepath.Dir(binary(t)) + ":" + os.Getenv("PATH"), "HOME=" + cmd.Dir}
	for k, v := range s.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	out, err := cmd.Output()
	return string(out), err
}

// TestShellsComplete runs the completion scripts in the installed shells.
func TestShellsComplete(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	a := in.shellFor(t, "--agent", agentName)
	ask := func(t *testing.T, sh, script string) []string {
		t.Helper()
		installed(t, sh, "apt-get install "+sh)
		out, err := a.script(t, sh, script)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Fields(out)
	}
	t.Run("bash offers commands and agents", func(t *testing.T) {
		const head = "source <(taskyard completion bash); "
		const tail = `; _taskyard taskyard "${COMP_WORDS[COMP_CWORD]}" 2>/dev/null; printf '%s\n' "${COMPREPLY[@]}"`
		if got := ask(t, "bash", head+`COMP_WORDS=(taskyard task "c"); COMP_CWORD=2`+tail); !slices.Equal(got,
			[]string{"create", "claim", "complete", "cancel", "comment", "check", "checkout"}) {
			t.Errorf("got commands %v", got)
		}
		if got := ask(t, "bash", head+`COMP_WORDS=(taskyard task claim --agent ""); COMP_CWORD=4`+
			tail); !slices.Equal(got, []string{otherAgent, agentName}) {
			t.Errorf("got agents %v", got)
		}
		if got := ask(t, "bash", head+`cd "$HOME"; touch plan.md; COMP_WORDS=(taskyard task steps --file p); COMP_CWORD=4`+
			tail); !slices.Equal(got, []string{"plan.md"}) {
			t.Errorf("got files %v", got)
		}
	})
	t.Run("fish offers agents with their descriptions", func(t *testing.T) {
		got := ask(t, "fish", `taskyard completion fish | source; complete -C "taskyard task claim --agent "`)
		if len(got) < 2 || got[0] != otherAgent || !slices.Contains(got, agentName) {
			t.Errorf("%v", got)
		}
	})
	t.Run("zsh accepts the script", func(t *testing.T) {
		got := ask(t, "zsh", `compdef() { echo "$@" }; source <(taskyard completion zsh); _describe() { print -l "${(@P)2}" }; words=(taskyard task claim --agent ""); CURRENT=5; _taskyard`)
		if len(got) < 3 || !slices.Equal(got[:2], []string{"_taskyard", "taskyard"}) || !strings.HasPrefix(got[2], otherAgent+":") {
			t.Errorf("%v", got)
		}
	})
}
