//go:build linux

package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/tools"
	"taskyard/task"
)

// The test binary is also the keeper of a command.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == tools.ToolShellArg {
		testkit.EndHelper(tools.ToolShellMain(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func run(t *testing.T, command string, with ...func(*Command)) Outcome {
	t.Helper()
	if tools.Level(tools.Options{}) == "off" {
		t.Skip("nothing on this machine confines a command")
	}
	c := Command{Run: command, Folder: t.TempDir(), Home: filepath.Join(t.TempDir(), "home"), Timeout: time.Minute, Task: 7}
	for _, f := range with {
		f(&c)
	}
	return Runner{Redact: task.NewRedactor("hush-hush").Text}.Run(t.Context(), c)
}

func TestACheckIsRecorded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command  string
		verdict  task.Verdict
		code     int
		reason   string
		log      string
		notInLog string
	}{
		"it passes":                       {"echo fine; pwd >&2", task.CheckPassed, 0, "", "fine", ""},
		"it fails with its exit code":     {"echo bad; exit 7", task.CheckFailed, 7, "exit code 7", "bad", ""},
		"it is killed":                    {"kill -9 $$", task.CheckFailed, 0, "signal 9", "", ""},
		"secrets are not in its log":      {"echo hush-hush", task.CheckPassed, 0, "", task.Redacted, "hush-hush"},
		"control characters are replaced": {`printf 'a\033[31mb'`, task.CheckPassed, 0, "", "a^[[31mb", "\033"},
		"it knows that it is a check":     {"echo $CI $TASKYARD_TASK_ID", task.CheckPassed, 0, "", "true 7", ""},
		"no secret is in its environment": {"env", task.CheckPassed, 0, "", "HOME=", "TASKYARD_TOKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := run(t, c.command)
			if out.Verdict != c.verdict || out.ExitCode != c.code || !strings.Contains(out.Reason, c.reason) ||
				!strings.Contains(out.Log, c.log) || c.notInLog != "" && strings.Contains(out.Log, c.notInLog) {
				t.Errorf("%+v", out)
			}
			if out.Level == "" || out.Level == "off" {
				t.Errorf("got level %q", out.Level)
			}
		})
	}
}

func TestACheckIsConfined(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	testkit.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("data of the server"), 0o600))
	t.Run("it writes in its folder, HOME and TMPDIR only", func(t *testing.T) {
		t.Parallel()
		out := run(t, "set -e; echo x > here; echo x > $HOME/h; echo x > $TMPDIR/t; ! echo x > "+outside+"/out")
		if _, err := os.Stat(filepath.Join(outside, "out")); out.Verdict != task.CheckPassed || err == nil {
			t.Errorf("got %+v, %v", out, err)
		}
	})
	t.Run("it does not read the files of the server", func(t *testing.T) {
		t.Parallel()
		if out := run(t, "cat "+outside+"/secret"); out.Verdict != task.CheckFailed || strings.Contains(out.Log, "data of") {
			t.Errorf("%+v", out)
		}
	})
	t.Run("it has no network", func(t *testing.T) {
		t.Parallel()
		if out := run(t, "exec 3<>/dev/tcp/127.0.0.1/9"); out.Verdict != task.CheckFailed || strings.Contains(out.Log, "refused") {
			t.Errorf("%+v", out)
		}
	})
	t.Run("HOME is kept for the next command, TMPDIR is not", func(t *testing.T) {
		t.Parallel()
		home := func(c *Command) { c.Home = filepath.Join(outside, "home") }
		run(t, "echo x > $HOME/kept; echo x > $TMPDIR/gone", home)
		if out := run(t, "test -e $HOME/kept && ! test -e $TMPDIR/gone", home); out.Verdict != task.CheckPassed {
			t.Errorf("%+v", out)
		}
	})
}

func TestACheckEndsEverythingThatItStarted(t *testing.T) {
	t.Parallel()
	began := time.Now()
	out := run(t, "sleep 300 & setsid sleep 300 & echo started; sleep 300", func(c *Command) { c.Timeout = time.Second })
	if out.Verdict != task.CheckTimedOut || !strings.Contains(out.Reason, "longer than 1s") || out.Log != "started\n" {
		t.Errorf("%+v", out)
	}
	if took := time.Since(began); took > 60*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestTheEndOfALongLogIsKept(t *testing.T) {
	t.Parallel()
	out := run(t, "i=0; while [ $i -lt 20000 ]; do echo line $i of a long output that says the same again and again; i=$((i+1)); done")
	if n := len(out.Log); n > task.MaxCheckLog || n < task.MaxCheckLog-spare || !strings.HasPrefix(out.Log, "line ") ||
		!strings.HasSuffix(out.Log, "line 19999 of a long output that says the same again and again\n") {
		t.Errorf("got %d bytes: %.40q … %q", len(out.Log), out.Log, out.Log[len(out.Log)-80:])
	}
}
