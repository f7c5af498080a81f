//go:build linux

package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

func TestOutcomeOfACommand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		status       task.RunStatus
		phase        task.Phase
		reason       string
		summary      string
	}{
		{"exit 0 with text completes with the text", "echo one; echo two", task.RunCompleted, task.PhaseEnded, "", "one\ntwo"},
		{"exit 0 without output fails", "exit 0", task.RunFailed, task.PhaseError, "ended without a result", ""},
		{"exit 0 with blank output fails", "echo; echo '  '", task.RunFailed, task.PhaseError, "ended without a result", ""},
		{"exit 0 with only stderr fails", "echo oops >&2", task.RunFailed, task.PhaseError, "ended without a result", ""},
		{
			"exit 3 fails with the end of stderr", "echo fine; echo 'disk on fire' >&2; exit 3",
			task.RunFailed, task.PhaseError, "exit code 3: disk on fire", "",
		},
		{
			"exit 3 quotes stdout if stderr is empty", "echo 'disk on fire'; exit 3",
			task.RunFailed, task.PhaseError, "exit code 3: disk on fire", "",
		},
		{
			"exit 3 takes precedence over reported success", `echo '{"success":true,"summary":"done"}'; exit 3`,
			task.RunFailed, task.PhaseError, "exit code 3", "",
		},
		{"a signal from itself is a crash", "echo hello; kill -SEGV $$", task.RunFailed, task.PhaseCrash, "signal 11", ""},
		{"TERM from elsewhere is a crash", "echo hello; kill -TERM $$", task.RunFailed, task.PhaseCrash, "signal 15", ""},
		{
			"a last line of JSON is the result", `echo working; echo '{"summary":" all done ","success":true}'; echo`,
			task.RunCompleted, task.PhaseEnded, "", "all done",
		},
		{"a last line without a newline is the result", `printf '{"summary":"all done"}'`, task.RunCompleted, task.PhaseEnded, "", "all done"},
		{
			"a JSON line that is not the last is text", `echo '{"summary":"early"}'; echo late`,
			task.RunCompleted, task.PhaseEnded, "", "{\"summary\":\"early\"}\nlate",
		},
		{"other JSON is text", `echo '{"name":"x"}'`, task.RunCompleted, task.PhaseEnded, "", `{"name":"x"}`},
		{
			"success false fails with its summary", `echo trying; echo '{"success":false,"summary":"no access"}'`,
			task.RunFailed, task.PhaseError, "no access", "",
		},
		{
			"success false without summary quotes the text", `echo 'cannot see it'; echo '{"success":false}'`,
			task.RunFailed, task.PhaseError, "cannot see it", "",
		},
		{
			"a success that is not a boolean breaks the protocol", `echo '{"success":"false","summary":"x"}'`,
			task.RunFailed, task.PhaseProtocol, "malformed", "",
		},
		{"an empty summary is not a result", `echo '{"summary":""}'`, task.RunFailed, task.PhaseError, "ended without a result", ""},
		{"stdin that is never read does not hang", "exec 0<&-; echo fine", task.RunCompleted, task.PhaseEnded, "", "fine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, _ := runnertest.Run(t, sh(tt.script), runnertest.NewSpec(t))
			runnertest.WantState(t, out, tt.status, tt.phase, tt.reason)
			if out.Summary != tt.summary {
				t.Errorf("got summary %q, want %q", out.Summary, tt.summary)
			}
			if out.Permanent {
				t.Error("the error is permanent")
			}
		})
	}
}

func TestTheResultHasArtifactsAndIsNotText(t *testing.T) {
	t.Parallel()
	out, r := runnertest.Run(t, sh(`echo working; echo '{"summary":"done","artifacts":["a.md","b.md"]}'`), runnertest.NewSpec(t))
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if !slices.Equal(out.Artifacts, []string{"a.md", "b.md"}) {
		t.Errorf("got artifacts %q", out.Artifacts)
	}
	if got := r.Texts(supervise.EventText); !slices.Equal(got, []string{"working"}) {
		t.Errorf("got text %q", got)
	}
}

func TestTheSummaryIsBounded(t *testing.T) {
	t.Parallel()
	out, _ := runnertest.Run(t, sh(`i=0; while [ $i -lt 3000 ]; do echo "äöü line $i"; i=$((i+1)); done`), runnertest.NewSpec(t))
	if n := len([]rune(out.Summary)); n != task.MaxSummaryRun || !strings.HasSuffix(out.Summary, "line 2999") {
		t.Errorf("got %d characters, which end with %q", n, out.Summary[len(out.Summary)-20:])
	}
}

func TestAnImpossibleStartIsPermanent(t *testing.T) {
	t.Parallel()
	notExecutable := filepath.Join(t.TempDir(), "script")
	badFormat := filepath.Join(t.TempDir(), "program")
	if os.WriteFile(notExecutable, []byte("#!/bin/sh\n"), 0o600) != nil || os.WriteFile(badFormat, []byte("\x7fELF?"), 0o700) != nil {
		t.Fatal("cannot write")
	}
	for _, tt := range []struct {
		name, program, workspace, reason string
	}{
		{"a program that does not exist", "/no/such/program", "", "/no/such/program"},
		{"a program that is not in PATH", "no-such-program-at-all", "", "no-such-program-at-all"},
		{"a file that is not executable", notExecutable, "", "permission denied"},
		{"a file that is not a program", badFormat, "", "exec format error"},
		{"a workspace that does not exist", "/bin/true", "/no/such/folder", "/no/such/folder"},
		{"a workspace that is a file", "/bin/true", notExecutable, "not a folder"},
		{"a workspace that is not absolute", "/bin/true", "folder", "not an absolute path"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := runnertest.NewSpec(t)
			spec.Plan.Workspace = tt.workspace
			r := &runnertest.Recorder{OnStart: func(supervise.Process) error { t.Error("Started was called"); return nil }}
			out := runnertest.RunWith(t, t.Context(), program(tt.program), spec, r)
			runnertest.WantState(t, out, task.RunFailed, task.PhaseError, tt.reason)
			if !out.Permanent {
				t.Error("a retry would follow")
			}
		})
	}
}

func TestAStartDuringAReplacementOfTheProgramIsRetried(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "agent")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o700)
	testkit.NoError(t, err)
	defer func() { _ = f.Close() }()
	out := runnertest.RunWith(t, t.Context(), program(name), runnertest.NewSpec(t), &runnertest.Recorder{})
	runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "text file busy")
	if out.Permanent {
		t.Error("the error is permanent")
	}
}

func TestThePromptIsOnlyOnStdin(t *testing.T) {
	t.Parallel()
	t.Run("system prompt, blank line, prompt, end", func(t *testing.T) {
		out, _ := runnertest.Run(t, sh("cat; echo END"), runnertest.NewSpec(t))
		if want := "You are terse.\n\nDo the work.\nEND"; out.Summary != want {
			t.Errorf("got %q, want %q", out.Summary, want)
		}
	})
	t.Run("no command line of the process tree contains it", func(t *testing.T) {
		spec := runnertest.NewSpec(t)
		spec.Plan.Prompt = "the-secret-plan"
		out, r := runnertest.Run(t, sh(`tr '\0' ' ' </proc/$$/cmdline; echo; tr '\0' ' ' </proc/$PPID/cmdline; echo; cat >/dev/null`), spec)
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
		lines := r.Texts(supervise.EventText)
		if len(lines) != 2 || !strings.Contains(lines[1], supervise.ShimArg) || strings.Contains(strings.Join(lines, " "), "secret-plan") {
			t.Errorf("got the command lines %q", lines)
		}
	})
	t.Run("a large prompt that nobody reads does not hang", func(t *testing.T) {
		spec := runnertest.NewSpec(t)
		spec.Plan.Prompt = strings.Repeat("much ", 1<<20)
		out, _ := runnertest.Run(t, sh("echo fine"), spec)
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	})
	t.Run("the workspace is the working folder", func(t *testing.T) {
		spec := runnertest.NewSpec(t)
		spec.Plan.Workspace = t.TempDir()
		out, _ := runnertest.Run(t, sh("pwd"), spec)
		if out.Summary != spec.Plan.Workspace {
			t.Errorf("got the working folder %q", out.Summary)
		}
	})
}

func TestProbe(t *testing.T) {
	t.Parallel()
	t.Run("an existing program has a path and a version", func(t *testing.T) {
		c := program("sh")
		c.VersionArgs = []string{"-c", "echo sh 1.2; echo more"}
		p := c.Probe(t.Context())
		if p.Kind != "command" || !p.Installed || p.Version != "sh 1.2" || !filepath.IsAbs(p.Path) || p.Problem != "" {
			t.Errorf("%+v", p)
		}
	})
	t.Run("a missing program is a problem", func(t *testing.T) {
		if p := program("no-such-program-at-all").Probe(t.Context()); p.Installed || !strings.Contains(p.Problem, "no-such-program-at-all") {
			t.Errorf("%+v", p)
		}
	})
}

// The artifacts of a run are in every list of runs.
func TestTheNumberOfArtifactsIsBounded(t *testing.T) {
	t.Parallel()
	names := strings.Repeat(`,"`+strings.Repeat("<", 100)+`"`, 9000)
	file := filepath.Join(t.TempDir(), "result")
	testkit.NoError(t, os.WriteFile(file, []byte(`{"summary":"Done.","artifacts":["first"`+names+"]}\n"), 0o600))
	out, rec := runnertest.Run(t, sh("cat "+file), runnertest.NewSpec(t))
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	size := 0
	for _, a := range out.Artifacts {
		size += task.JSONBytes(a)
	}
	if size > 64<<10 || len(out.Artifacts) < 100 || out.Artifacts[0] != "first" {
		t.Errorf("got %d artifacts of %d bytes", len(out.Artifacts), size)
	}
	if logs := strings.Join(rec.Texts(supervise.EventLog), "\n"); !strings.Contains(logs, "9001 artifacts; the first") {
		t.Errorf("got the log %q", logs)
	}
}
