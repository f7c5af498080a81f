//go:build linux

package codex

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// codexSays returns a Codex that is a shell script with the arguments that Codex
// would get.
func codexSays(script string) *Runner {
	return &Runner{Program: supervise.Program{Argv: []string{"/bin/sh", "-c", script, "codex"}, Grace: 300 * time.Millisecond}}
}

// lines returns a script that prints lines of JSON.
func lines(list ...string) string {
	return "cat >/dev/null; cat <<'EOF'\n" + strings.Join(list, "\n") + "\nEOF\n"
}

const (
	codexBegin = `{"type":"thread.started","thread_id":"01a1"}` + "\n" + `{"type":"turn.started"}`
	codexDone  = `{"type":"item.completed","item":{"id":"i9","type":"agent_message","text":"All done."}}`
	codexEnd   = `{"type":"turn.completed","usage":{"input_tokens":200,"cached_input_tokens":80,"output_tokens":14}}`
	codexAgain = `{"type":"error","message":"Reconnecting... 1/5 (stream disconnected)"}`
	codex401   = `{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: Incorrect API key, url: x"}}`
)

func TestOutcomeOfCodex(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		status       task.RunStatus
		phase        task.Phase
		reason       string
		permanent    bool
	}{
		{"a complete turn completes", lines(codexBegin, codexDone, codexEnd), task.RunCompleted, task.PhaseEnded, "", false},
		{
			"a reconnect in between does not matter", lines(codexBegin, codexAgain, codexDone, codexEnd),
			task.RunCompleted, task.PhaseEnded, "", false,
		},
		{
			"exit 0 before the end of the turn breaks the protocol", lines(codexBegin, codexDone),
			task.RunFailed, task.PhaseProtocol, "turn is complete", false,
		},
		{"exit 0 without output breaks the protocol", "exit 0", task.RunFailed, task.PhaseProtocol, "turn is complete", false},
		{"a complete turn with exit 1 fails", lines(codexBegin, codexDone, codexEnd) +
			"exit 1", task.RunFailed, task.PhaseError, "exit code 1", false},
		{
			"a complete turn completes although the program keeps running", lines(codexBegin, codexDone, codexEnd) + "sleep 600",
			task.RunCompleted, task.PhaseEnded, "", false,
		},
		{
			"a failed turn fails with its reason although the program keeps running",
			lines(codexBegin, `{"type":"turn.failed","error":{"message":"high demand"}}`) + "sleep 600",
			task.RunFailed, task.PhaseError, "high demand", false,
		},
		{"a complete turn without a message fails", lines(codexBegin, codexEnd), task.RunFailed, task.PhaseError, "without a result", false},
		{"a failed turn fails with its reason", lines(codexBegin, `{"type":"turn.failed","error":{"message":"high demand"}}`) +
			"exit 1", task.RunFailed, task.PhaseError, "high demand", false},
		{
			"a failed turn with exit 0 fails too", lines(codexBegin, `{"type":"turn.failed","error":{"message":"high demand"}}`),
			task.RunFailed, task.PhaseError, "high demand", false,
		},
		{"a refused key is permanent", lines(codexBegin, codex401) + "exit 1", task.RunFailed, task.PhaseAuth, "Incorrect API key", true},
		{
			"a refused key ends the reconnects",
			lines(codexBegin, `{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401 Unauthorized)"}`) +
				"sleep 600", task.RunFailed, task.PhaseAuth, "401", true,
		},
		{
			"a missing key on stderr is an authentication error", "cat >/dev/null; echo 'Missing environment variable: X.' >&2; exit 1",
			task.RunFailed, task.PhaseAuth, "Missing environment variable", true,
		},
		{
			"exit 2 quotes stderr", "cat >/dev/null; echo 'unexpected argument' >&2; exit 2",
			task.RunFailed, task.PhaseError, "exit code 2: unexpected argument", false,
		},
		{"a signal is a crash", lines(codexBegin, codexDone, codexEnd) + "kill -SEGV $$", task.RunFailed, task.PhaseCrash, "signal 11", false},
		{
			"other lines and partial lines are ignored",
			lines(codexBegin, "WARNING", "[1]", `{"type":7}`, `{"type":"new.event"}`, `{"type":"item.completed"}`, codexDone, codexEnd) +
				`printf '{"type":"ite'`, task.RunCompleted, task.PhaseEnded, "", false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, _ := runnertest.Run(t, codexSays(tt.script), readingSpec(t))
			runnertest.WantState(t, out, tt.status, tt.phase, tt.reason)
			if out.Permanent != tt.permanent {
				t.Errorf("got permanent %v, want %v", out.Permanent, tt.permanent)
			}
			if tt.status == task.RunCompleted && (out.Summary != "All done." || out.Usage.TokensIn != 200 || out.Usage.TokensOut != 14) {
				t.Errorf("got summary %q, usage %+v", out.Summary, out.Usage)
			}
		})
	}
}

func readingSpec(t *testing.T) supervise.Spec {
	t.Helper()
	spec := runnertest.NewSpec(t)
	spec.Plan.Tools = []string{"read", "list", "grep"}
	return spec
}

func TestEventsOfCodex(t *testing.T) {
	t.Parallel()
	out, rec := runnertest.Run(t, codexSays(lines(codexBegin,
		`{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}`,
		`{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"a\n","exit_code":3,"status":"failed"}}`,
		`{"type":"item.started","item":{"id":"i2","type":"mcp_tool_call","server":"taskyard","tool":"get_task","arguments":{"id":7},"status":"in_progress"}}`,
		`{"type":"item.completed","item":{"id":"i2","type":"mcp_tool_call","server":"taskyard","tool":"get_task","arguments":{"id":7},"result":{"content":[{"type":"text","text":"the task ty_token-of-this-run"}]},"status":"completed"}}`,
		`{"type":"item.completed","item":{"id":"i3","type":"file_change","changes":[{"path":"notes.md","kind":"add"}],"status":"completed"}}`,
		`{"type":"item.completed","item":{"id":"i4","type":"command_execution","command":"rm x","aggregated_output":"","status":"declined"}}`,
		codexDone, codexEnd)), readingSpec(t))
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	want := []string{"bash ls", "taskyard get_task", "change add notes.md"}
	if got := rec.Texts(supervise.EventToolCall); !slices.Equal(got, want) {
		t.Errorf("got calls %q, want %q", got, want)
	}
	if got, want := rec.Texts(supervise.EventToolResult), []string{"a\n[exit code 3]", "the task [redacted]", ""}; !slices.Equal(got, want) {
		t.Errorf("got results %q, want %q", got, want)
	}
	if got := rec.Texts(supervise.EventPermission); len(got) != 1 || !strings.Contains(got[0], "declined bash rm x") {
		t.Errorf("got the permission events %q", got)
	}
	if !slices.Contains(rec.Texts(supervise.EventLog), "thread 01a1") ||
		!slices.Equal(out.Artifacts, []string{"notes.md"}) || out.Usage.ToolCalls != 3 {
		t.Errorf("got log %q, artifacts %q, usage %+v", rec.Texts(supervise.EventLog), out.Artifacts, out.Usage)
	}
	for _, e := range rec.Events {
		if e.Data != nil && !json.Valid(e.Data) {
			t.Errorf("got data %q", e.Data)
		}
	}
}

func TestEndlessReconnectsCountAsIdle(t *testing.T) {
	t.Parallel()
	spec := readingSpec(t)
	spec.Plan.Limits = task.Limits{TimeoutSeconds: 60, IdleTimeoutSeconds: 1}
	out, _ := runnertest.Run(t, codexSays(lines(codexBegin)+"while :; do echo '"+codexAgain+"'; echo again >&2; sleep 0.1; done"), spec)
	runnertest.WantState(t, out, task.RunFailed, task.PhaseIdle, "")
}

func TestTokensOverTheLimitFailTheRun(t *testing.T) {
	t.Parallel()
	spec := readingSpec(t)
	spec.Plan.Limits.MaxTokens = 100
	out, _ := runnertest.Run(t, codexSays(lines(codexBegin, codexDone, codexEnd)), spec)
	runnertest.WantState(t, out, task.RunFailed, task.PhaseTokens, "214 tokens of at most 100")
}

func TestCodexGetsItsSandboxAndNoSecret(t *testing.T) {
	const echo = `cat >prompt; for a; do printf '%s\n' "$a" >>args; done; env >env; `
	t.Setenv("OPENAI_API_KEY", "sk-handed-on")
	for _, tt := range []struct {
		name     string
		tools    []string
		network  bool
		has, not []string
	}{
		{
			"reading tools get the read-only sandbox",
			[]string{"read", "grep"},
			true,
			[]string{"read-only", `web_search="disabled"`},
			[]string{"network_access"},
		},
		{"fetch does not change the web search", []string{"read", "fetch"}, false, []string{"read-only"}, []string{"web_search"}},
		{
			"bash gets the writable sandbox, without network",
			[]string{"bash"},
			false,
			[]string{"workspace-write", "sandbox_workspace_write.network_access=false"},
			nil,
		},
		{"the network is configured", []string{"bash"}, true, []string{"sandbox_workspace_write.network_access=true"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := runnertest.NewSpec(t)
			spec.Plan.Tools, spec.Plan.Env, spec.Plan.Workspace = tt.tools, []string{"OPENAI_API_KEY"}, t.TempDir()
			c := codexSays(echo + lines(codexBegin, codexDone, codexEnd))
			c.Network = tt.network
			out, _ := runnertest.Run(t, c, spec)
			runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			read := func(name string) string {
				b, err := os.ReadFile(spec.Plan.Workspace + "/" + name)
				testkit.NoError(t, err)
				return string(b)
			}
			args := read("args")
			for _, want := range append(tt.has, "exec\n--json\n--skip-git-repo-check\n-s\n", `mcp_servers.taskyard.url="http://127.0.0.1:1/mcp"`,
				`bearer_token_env_var="TASKYARD_TOKEN"`, "-m\nsmall\n-\n") {
				if !strings.Contains(args, want) {
					t.Errorf("%q is not in\n%s", want, args)
				}
			}
			for _, not := range append(tt.not, spec.Token, "sk-handed-on", "Do the work") {
				if strings.Contains(args, not) {
					t.Errorf("%q is in\n%s", not, args)
				}
			}
			if env := read("env"); !strings.Contains(env, "CODEX_HOME="+spec.Dir+"/home/.codex\n") ||
				!strings.Contains(env, "CODEX_API_KEY=sk-handed-on\n") {
				t.Errorf("environment\n%s", env)
			}
			if p := read("prompt"); p != "You are terse.\n\nDo the work.\n" {
				t.Errorf("got the prompt %q", p)
			}
		})
	}
}

func TestCodexRefusesToolsThatItsSandboxCannotEnforce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tools  []string
		beyond string
	}{
		{[]string{"read", "list", "glob", "grep", "fetch"}, ""},
		{[]string{"bash"}, ""},
		{[]string{"read", "create", "edit", "bash", "task"}, ""},
		{[]string{"read", "create"}, "edit, bash"},
		{[]string{"list"}, "read"},
	} {
		t.Run(strings.Join(tt.tools, " "), func(t *testing.T) {
			c := codexSays(lines(codexBegin, codexDone, codexEnd))
			spec := runnertest.NewSpec(t)
			spec.Plan.Tools = tt.tools
			out, _ := runnertest.Run(t, c, spec)
			if tt.beyond == "" {
				runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
				return
			}
			runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "could also use "+tt.beyond+".")
			if !out.Permanent {
				t.Error("a retry would follow")
			}
			c.AcceptWeaker = true
			out, _ = runnertest.Run(t, c, spec)
			runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			if s, refused := c.EnforcementGap(tt.tools); s == "" || refused {
				t.Errorf("got %q, refused %v", s, refused)
			}
		})
	}
}
