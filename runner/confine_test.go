//go:build linux

package runner

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/runner/confine"
	"taskyard/task"
)

// confined skips where the machine has no landlock that will do.
func confined(t *testing.T) Confinement {
	t.Helper()
	c := Confinement{On: true}
	if k := c.machine(); k.Landlock < 6 || !k.Seccomp {
		t.Skipf("this machine has landlock v%d, seccomp %v", k.Landlock, k.Seccomp)
	}
	return c
}

// confinedSh is an agent of a confined program, which is a shell script.
func confinedSh(c Confinement, script string) *ACP {
	return &ACP{Program: Program{Argv: []string{"/bin/sh", "-c", script}, Grace: 300 * time.Millisecond, Confine: c}, AcceptWeaker: true}
}

func TestAConfinedProgramWritesInItsFoldersOnly(t *testing.T) {
	t.Parallel()
	c := confined(t)
	outside, further := t.TempDir(), t.TempDir()
	mine := filepath.Join(outside, "mine")
	if err := os.WriteFile(mine, []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Writable = []string{further, filepath.Join(outside, "not-there")}
	spec := newSpec(t)
	log := filepath.Join(spec.Dir, "tmp", "log")
	_, _ = run(t, confinedSh(c, `exec 2>`+log+` >&2; set -x
echo a > in && mv in moved && cat moved > $HOME/b && cat $HOME/b > $TMPDIR/c && echo `+
		`to-null > /dev/null && touch `+further+`/d && echo inside=yes
for f in `+mine+` `+outside+`/new `+spec.Dir+`/mcp.json /etc/taskyard-test; do (echo bad > $f) && echo wrote=$f; done
setsid sh -c 'echo bad > `+mine+`' && echo wrote=child
rm `+mine+` && echo removed; mv moved `+outside+` && echo moved-out; ln `+mine+` linked && echo linked; mkdir `+outside+`/sub && echo made
cat `+mine+` && cat /etc/passwd > /dev/null && echo reads=yes
kill -0 `+pid(os.Getpid())+` && echo signals; kill -0 $PPID && echo signals-shim
cat /proc/`+pid(os.Getpid())+`/environ > /dev/null && echo spies
:`), spec)
	text := readText(t, log)
	for _, line := range strings.Split(text, "\n") {
		if word, _, _ := strings.Cut(line, "="); slices.Contains([]string{
			"wrote", "removed",
			"moved-out", "linked", "made", "signals", "spies",
		}, word) {
			t.Errorf("it could: %s", line)
		}
	}
	if !strings.Contains(text, "\ninside=yes") || !strings.Contains(text, "\nreads=yes") || t.Failed() {
		t.Errorf("it said %s", text)
	}
	if got := readText(t, mine); got != "whole" {
		t.Errorf("the file outside is %q", got)
	}
}

func TestAConfinedProgramDoesNotReadWhatIsHidden(t *testing.T) {
	t.Parallel()
	c := confined(t)
	data, spec := t.TempDir(), newSpec(t)
	spec.Dir = filepath.Join(data, "runs", "run-1")
	secrets := []string{filepath.Join(data, "taskyard.db"), filepath.Join(data, "runs", "run-2", "secret")}
	beside := filepath.Join(filepath.Dir(data), "beside")
	for _, file := range append(secrets, beside, filepath.Join(spec.Dir, "mcp.json")) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(filepath.Dir(data), "link")
	if err := os.Symlink(data, link); err != nil {
		t.Fatal(err)
	}
	c.Hidden = []string{data, filepath.Join(data, "not-there")}
	log := filepath.Join(spec.Dir, "tmp", "log")
	_, _ = run(t, confinedSh(c, `exec 2>`+log+` >&2; set -x
echo a > in && cat in `+beside+` `+spec.Dir+`/mcp.json /etc/passwd > out && ls /usr > $TMPDIR/ls && echo reads=yes
for f in `+strings.Join(secrets, " ")+` `+link+`/taskyard.db; do cat $f && echo read=$f; done
ls `+data+` && echo listed; `+"mv "+secrets[0]+` here && echo moved; ln `+secrets[0]+` here && echo linked
:`), spec)
	text := readText(t, log)
	for _, line := range strings.Split(text, "\n") {
		if word, _, _ := strings.Cut(line, "="); slices.Contains([]string{"read", "listed", "moved", "linked"}, word) {
			t.Errorf("it could: %s", line)
		}
	}
	if !strings.Contains(text, "\nreads=yes") || t.Failed() {
		t.Errorf("it said %s", text)
	}
}

func TestACommandOfAnAgentsShellIsHeld(t *testing.T) {
	t.Parallel()
	c := confined(t)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	command := `echo "$FORGE_TOKEN,$ANTHROPIC_API_KEY,$TASKYARD_TOKEN,$PLAIN"; (echo > /dev/tcp/127.0.0.1/` + port +
		`) && echo connected; cat /proc/$PPID/environ | tr '\0' '\n' | grep SECRET; echo x > here; exit 7`
	for _, network := range []bool{false, true} {
		spec := newSpec(t)
		spec.Plan.Tools, spec.Plan.Network, spec.Plan.Env = []string{"bash"}, network, []string{"FORGE_TOKEN", "ANTHROPIC_API_KEY"}
		runner := &Claude{Argv: []string{"claude"}, Confine: c}
		work, err := makeFolders(t.Context(), spec)
		if err == nil {
			err = runner.writeShell(spec)
		}
		if err != nil {
			t.Fatal(err)
		}
		// A parent between, with a secret, as the program is one.
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `"$0" "$1"; echo code $?`, filepath.Join(spec.Dir, shellName), command)
		cmd.Dir = work
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "FORGE_TOKEN=forge", "ANTHROPIC_API_KEY=sk",
			"TASKYARD_TOKEN=ty", "PLAIN=plain", "MY_SECRET=hidden",
		}
		out, err := cmd.CombinedOutput()
		text := string(out)
		if err != nil || !strings.HasPrefix(text, "forge,,,plain\n") || !strings.HasSuffix(text, "code 7\n") || strings.Contains(text, "hidden") {
			t.Errorf("network %v: %q, %v", network, text, err)
		}
		if strings.Contains(text, "connected") != network {
			t.Errorf("network %v: %q", network, text)
		}
		if got := readText(t, filepath.Join(work, "here")); got != "x\n" {
			t.Errorf("it wrote %q", got)
		}
	}
}

func TestWeakerOfClaude(t *testing.T) {
	t.Parallel()
	whole := &confine.Kernel{Landlock: confine.Least, Seccomp: true}
	for _, tt := range []struct {
		name    string
		claude  Claude
		tools   []string
		says    string
		refused bool
	}{
		{"without bash the program holds the agent to its tools", Claude{}, []string{"read", "edit"}, "", false},
		{"bash is held, but reads", Claude{Confine: Confinement{On: true, kernel: whole}}, []string{"bash"}, "can read every file", false},
		{
			"confine = false is refused",
			Claude{Confine: Confinement{kernel: whole}},
			[]string{"bash"},
			"write wherever the account of the server may (confine = false).", true,
		},
		{"and accepted", Claude{Confine: Confinement{kernel: whole}, AcceptWeaker: true}, []string{"bash"}, "confine = false", false},
		{
			"an old kernel is refused",
			Claude{Confine: Confinement{On: true, kernel: &confine.Kernel{Landlock: 2}}},
			[]string{"bash"},
			"Linux 6.2) and use the network", true,
		},
		{
			"a program of another name may not heed the shell",
			Claude{Argv: []string{"/opt/qwen"}, Confine: Confinement{On: true, kernel: whole}},
			[]string{"bash"},
			"/opt/qwen is not known to heed", true,
		},
		{"one started by another is known", Claude{
			Argv:    []string{"npx", "@anthropic-ai/claude-code"},
			Confine: Confinement{On: true, kernel: whole},
		}, []string{"bash"}, "can read", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			says, refused := tt.claude.EnforcementGap(tt.tools)
			if !strings.Contains(says, tt.says) || (says == "") != (tt.says == "") || refused != tt.refused {
				t.Errorf("%q, %v", says, refused)
			}
		})
	}
	t.Run("a refused run fails for good and names the remedy", func(t *testing.T) {
		spec := newSpec(t)
		spec.Plan.Tools = []string{"bash"}
		out, _ := run(t, &Claude{Argv: []string{"/bin/sh"}}, spec)
		wantState(t, out, task.RunFailed, task.PhaseError, "Set accept_weaker = true in the section of this runner")
		if !out.Permanent {
			t.Error("it is tried again")
		}
	})
}

func TestWhatCannotBeWrittenIsNotAskedFor(t *testing.T) {
	t.Parallel()
	c := fake(request("Write", `{"file_path":"/etc/passwd","content":"x"}`, `,"blocked_path":"/etc/passwd"`), "read", "say "+fakeDone, "eof")
	c.Confine = confined(t)
	spec := claudeSpec(t)
	spec.Plan.Tools = []string{"read", "bash", "create"}
	p := &permitting{recorder: &recorder{}}
	out := runWith(t, t.Context(), c, spec, p)
	wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if said := strings.Join(p.texts(EventText), "\n"); len(p.asked) != 0 || !strings.Contains(said, "nobody can permit it: /etc/passwd") {
		t.Errorf("asked %v, said %s", p.asked, said)
	}
}

func pid(n int) string { return task.ID(n).String() }

func readText(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}
