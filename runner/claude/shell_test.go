//go:build linux

package claude

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/confine"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

func TestTheShellOfAnAgentIsConfined(t *testing.T) {
	t.Parallel()
	c := runnertest.Confined(t)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testkit.NoError(t, err)
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	command := `echo "$FORGE_TOKEN,$ANTHROPIC_API_KEY,$TASKYARD_TOKEN,$PLAIN"; (echo > /dev/tcp/127.0.0.1/` + port +
		`) && echo connected; cat /proc/$PPID/environ | tr '\0' '\n' | grep SECRET; echo x > here; exit 7`
	for _, network := range []bool{false, true} {
		spec := runnertest.NewSpec(t)
		spec.Plan.Tools, spec.Plan.Network, spec.Plan.Env = []string{"bash"}, network, []string{"FORGE_TOKEN", "ANTHROPIC_API_KEY"}
		runner := &Runner{Program: supervise.Program{Argv: []string{"claude"}, Confine: c}}
		if refused, err := supervise.MakeFolders(t.Context(), spec); refused != nil {
			t.Fatal(refused, err)
		}
		testkit.NoError(t, runner.writeShell(spec))
		work := filepath.Join(spec.Dir, "work")
		// A parent in between, with a secret, as the program is one.
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `"$0" "$1"; echo code $?`, supervise.ShellPath(spec), command)
		cmd.Dir = work
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "FORGE_TOKEN=forge", "ANTHROPIC_API_KEY=sk",
			"TASKYARD_TOKEN=ty", "PLAIN=plain", "MY_SECRET=hidden",
		}
		out, err := cmd.CombinedOutput()
		text := string(out)
		if err != nil || !strings.HasPrefix(text, "forge,,,plain\n") || !strings.HasSuffix(text, "code 7\n") || strings.Contains(text, "hidden") {
			t.Errorf("network %v: got %q, %v", network, text, err)
		}
		if strings.Contains(text, "connected") != network {
			t.Errorf("network %v: got %q", network, text)
		}
		if got := runnertest.ReadText(t, filepath.Join(work, "here")); got != "x\n" {
			t.Errorf("the command wrote %q", got)
		}
	}
}

func TestEnforcementOfClaude(t *testing.T) {
	t.Parallel()
	whole := &confine.Kernel{Landlock: confine.MinVersion, Seccomp: true}
	for _, tt := range []struct {
		name    string
		claude  Runner
		tools   []string
		says    string
		refused bool
	}{
		{"without bash, the program enforces the tools", Runner{}, []string{"read", "edit"}, "", false},
		{"bash is confined, but can read", Runner{Program: supervise.Program{Confine: supervise.Confinement{On: true, Kernel: whole}}}, []string{"bash"}, "can read every file", false},
		{
			"confine = false is refused",
			Runner{Program: supervise.Program{Confine: supervise.Confinement{Kernel: whole}}},
			[]string{"bash"},
			"write wherever the account of the server may (confine = false).", true,
		},
		{"confine = false can be accepted", Runner{Program: supervise.Program{Confine: supervise.Confinement{Kernel: whole}}, AcceptWeaker: true}, []string{"bash"}, "confine = false", false},
		{
			"an old kernel is refused",
			Runner{Program: supervise.Program{Confine: supervise.Confinement{On: true, Kernel: &confine.Kernel{Landlock: 2}}}},
			[]string{"bash"},
			"Linux 6.2) and use the network", true,
		},
		{
			"a program with another name may ignore the shell",
			Runner{Program: supervise.Program{Argv: []string{"/opt/qwen"}, Confine: supervise.Confinement{On: true, Kernel: whole}}},
			[]string{"bash"},
			"/opt/qwen is not known to heed", true,
		},
		{"a program started by another is recognized", Runner{Program: supervise.Program{
			Argv:    []string{"npx", "@anthropic-ai/claude-code"},
			Confine: supervise.Confinement{On: true, Kernel: whole},
		}}, []string{"bash"}, "can read", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			says, refused := tt.claude.EnforcementGap(tt.tools)
			if !strings.Contains(says, tt.says) || (says == "") != (tt.says == "") || refused != tt.refused {
				t.Errorf("got %q, refused %v", says, refused)
			}
		})
	}
	t.Run("a refused run fails permanently and names the fix", func(t *testing.T) {
		spec := runnertest.NewSpec(t)
		spec.Plan.Tools = []string{"bash"}
		out, _ := runnertest.Run(t, &Runner{Program: supervise.Program{Argv: []string{"/bin/sh"}}}, spec)
		runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "Set accept_weaker = true in the section of this runner")
		if !out.Permanent {
			t.Error("a retry would follow")
		}
	})
}

func TestNobodyIsAskedAboutAnUnwritablePath(t *testing.T) {
	t.Parallel()
	c := fake(askFor("Write", `{"file_path":"/etc/passwd","content":"x"}`, `,"blocked_path":"/etc/passwd"`), "read", "say "+fakeDone, "eof")
	c.Confine = runnertest.Confined(t)
	spec := claudeSpec(t)
	spec.Plan.Tools = []string{"read", "bash", "create"}
	p := &permitting{Recorder: &runnertest.Recorder{}}
	out := runnertest.RunWith(t, t.Context(), c, spec, p)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	said := strings.Join(p.Texts(supervise.EventText), "\n")
	if len(p.asked) != 0 || !strings.Contains(said, "nobody can permit it: /etc/passwd") {
		t.Errorf("got the requests %v, answer %s", p.asked, said)
	}
}
