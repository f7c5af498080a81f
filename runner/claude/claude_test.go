//go:build linux

package claude

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// claudeSpec returns a run that may use bash and read.
func claudeSpec(t *testing.T) supervise.Spec {
	spec := runnertest.NewSpec(t)
	spec.Plan.Tools = []string{"read", "bash"}
	return spec
}

func TestOutcomeOfClaude(t *testing.T) {
	t.Parallel()
	result := func(fields string) string { return `say {"type":"result",` + fields + `}` }
	for _, tt := range []struct {
		name      string
		steps     []string
		status    task.RunStatus
		phase     task.Phase
		reason    string
		permanent bool
	}{
		{
			"a success with a result completes",
			[]string{"say " + fakeInit, "say " + fakeDone, "eof"},
			task.RunCompleted, task.PhaseEnded, "", false,
		},
		{
			"a success that is an error fails",
			[]string{result(`"subtype":"success","is_error":true,"result":"it broke"`), "eof", "exit 1"},
			task.RunFailed, task.PhaseError, "it broke", false,
		},
		{
			"exit 0 without a result breaks the protocol",
			[]string{"say " + fakeInit},
			task.RunFailed, task.PhaseProtocol, "without a result", false,
		},
		{"exit 2 without a result fails", []string{"say " + fakeInit, "exit 2"}, task.RunFailed, task.PhaseError, "exit code 2", false},
		{
			"exit 1 after a success fails",
			[]string{"say " + fakeDone, "eof", "exit 1"},
			task.RunFailed, task.PhaseError, "exit code 1 after its result", false,
		},
		{
			"a success completes although the program keeps running",
			[]string{"say " + fakeInit, "say " + fakeDone, "hang"},
			task.RunCompleted, task.PhaseEnded, "", false,
		},
		{
			"an error fails although the program keeps running",
			[]string{result(`"subtype":"success","is_error":true,"result":"it broke"`), "hang"},
			task.RunFailed, task.PhaseError, "it broke", false,
		},
		{
			"a result that does not say whether it is an error breaks the protocol",
			[]string{result(`"subtype":"success","result":"x"`), "eof"},
			task.RunFailed, task.PhaseProtocol, "malformed", false,
		},
		{
			"a result of another shape breaks the protocol",
			[]string{result(`"subtype":5,"is_error":"no"`), "eof"},
			task.RunFailed, task.PhaseProtocol, "malformed", false,
		},
		{
			"an empty result fails",
			[]string{result(`"subtype":"success","is_error":false,"result":" "`), "eof"},
			task.RunFailed, task.PhaseError, "without a result", false,
		},
		{
			"too many turns",
			[]string{result(`"subtype":"error_max_turns","is_error":true,"num_turns":3`), "eof", "exit 1"},
			task.RunFailed, task.PhaseTurns, "3 turns", false,
		},
		{
			"too much money",
			[]string{result(`"subtype":"error_max_budget_usd","is_error":true,"total_cost_usd":0.5`), "eof", "exit 1"},
			task.RunFailed, task.PhaseCost, "0.5", false,
		},
		{"a full context", []string{result(`"subtype":"success","is_error":true,"api_error_status":400,"terminal_reason":"prompt_too_long","result":"Prompt is too long"`), "eof", "exit 1"}, task.RunFailed, task.PhaseError, "context of the model is full", false},
		{
			"a rate limit",
			[]string{result(`"subtype":"success","is_error":true,"api_error_status":429,"result":"slow"`), "eof", "exit 1"},
			task.RunFailed, task.PhaseError, "rate limit", false,
		},
		{"an unknown model is permanent", []string{
			result(`"subtype":"success","is_error":true,"api_error_status":404,"result":"nope"`),
			"eof", "exit 1",
		}, task.RunFailed, task.PhaseError, "model is not known", true},
		{"no credentials are permanent", []string{
			result(`"subtype":"success","is_error":true,"result":"Not logged in · Please run /login"`),
			"eof", "exit 1",
		}, task.RunFailed, task.PhaseAuth, "ANTHROPIC_API_KEY", true},
		{
			"refused credentials stop the retries",
			[]string{`say {"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":401,"error":"authentication_failed"}`, "stop"},
			task.RunFailed, task.PhaseAuth, "401", true,
		},
		{
			"a tool that is not listed is not offered",
			[]string{`say ` + strings.Replace(fakeInit, `"Read"`, `"Read","Write"`, 1), "stop"},
			task.RunFailed, task.PhaseProtocol, "offers the tool Write", true,
		},
		{"text outside the protocol is not a result", []string{"say All done."}, task.RunFailed, task.PhaseProtocol, "without a result", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, _ := runnertest.Run(t, fake(tt.steps...), claudeSpec(t))
			runnertest.WantState(t, out, tt.status, tt.phase, tt.reason)
			if out.Permanent != tt.permanent {
				t.Errorf("got permanent %v", out.Permanent)
			}
		})
	}
}

func TestResultUsageAndSessionOfClaude(t *testing.T) {
	t.Parallel()
	keeper := &runnertest.Keeper{Recorder: &runnertest.Recorder{}}
	out := runnertest.RunWith(t, t.Context(), fake("say "+fakeInit,
		`say {"type":"assistant","message":{"id":"a","usage":{"input_tokens":4,"output_tokens":1},"content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls ty_token-of-this-run"}}]}}`,
		`say {"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a b"},{"type":"image"}]}]}}`,
		"say "+fakeDone, "eof"), claudeSpec(t), keeper)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if want := (task.Usage{ToolCalls: 1, TokensIn: 15, TokensOut: 7, CostUSD: 0.25}); out.Usage != want || out.Summary != "All done." {
		t.Errorf("got usage %+v, summary %q", out.Usage, out.Summary)
	}
	if id := "11111111-2222-4333-8444-555555555555"; out.Session != id || !slices.Equal(keeper.Sessions, []string{id}) {
		t.Errorf("got session %q, reported %q", out.Session, keeper.Sessions)
	}
	if got := keeper.Texts(supervise.EventToolCall); !slices.Equal(got, []string{"Bash: ls [redacted]"}) {
		t.Errorf("got calls %q", got)
	}
	if got := keeper.Texts(supervise.EventToolResult); !slices.Equal(got, []string{"a b\n[image]"}) {
		t.Errorf("got results %q", got)
	}
	for _, e := range keeper.Events {
		if strings.Contains(string(e.Data), "ty_token") {
			t.Errorf("the token is in %s", e.Data)
		}
	}
}

func TestClaudeGetsNoSecretOnTheCommandLine(t *testing.T) {
	t.Parallel()
	spec := claudeSpec(t)
	spec.Plan.Limits.MaxTurns, spec.Plan.Limits.MaxCostUSD = 3, 1.5
	out, r := runnertest.Run(t, fake("prompt", "argv", "file "+filepath.Join(spec.Dir, "system-prompt.md"),
		"file "+filepath.Join(spec.Dir, "mcp.json"), "say "+fakeDone, "eof"), spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	said := r.Texts(supervise.EventText)
	if want := `{"message":{"content":[{"text":"Do the work.","type":"text"}],"role":"user"},"type":"user"}`; said[0] != want {
		t.Errorf("got the prompt %s", said[0])
	}
	for _, want := range []string{
		"|--tools|Read,Bash|", "|--strict-mcp-config|",
		"|--model=small|", "|--max-turns|3|", "|--max-budget-usd|1.5",
	} {
		if !strings.Contains(said[1], want) {
			t.Errorf("%s is not in %s", want, said[1])
		}
	}
	if strings.Contains(said[1], "terse") || strings.Contains(said[1], spec.Token) || strings.Contains(said[1], "Do the work") {
		t.Errorf("the command line reveals too much: %s", said[1])
	}
	if said[2] != "You are terse. <nil>" && !strings.HasPrefix(said[2], "You are terse.") {
		t.Errorf("got the system prompt %q", said[2])
	}
	if !strings.Contains(said[3], spec.URL+"/mcp") || !strings.Contains(said[3], "${TASKYARD_TOKEN}") {
		t.Errorf("got the MCP servers %q", said[3])
	}
	for _, name := range []string{"mcp.json", "system-prompt.md"} {
		info, err := os.Stat(filepath.Join(spec.Dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

// permitting is a sink with a person who decides.
type permitting struct {
	*runnertest.Recorder
	asked  []supervise.PermissionRequest
	permit func(context.Context, supervise.PermissionRequest) (supervise.PermissionAnswer, error)
}

func (p *permitting) Permit(ctx context.Context, r supervise.PermissionRequest) (supervise.PermissionAnswer, error) {
	p.asked = append(p.asked, r)
	return p.permit(ctx, r)
}

func TestPermissionsOfClaude(t *testing.T) {
	t.Parallel()
	const outside = `,"decision_reason_type":"workingDir","decision_reason":"Path is outside"`
	yes := func(context.Context, supervise.PermissionRequest) (supervise.PermissionAnswer, error) {
		return supervise.PermissionAnswer{Allow: true}, nil
	}
	no := func(context.Context, supervise.PermissionRequest) (supervise.PermissionAnswer, error) {
		return supervise.PermissionAnswer{Message: "Not that file."}, nil
	}
	broken := func(context.Context, supervise.PermissionRequest) (supervise.PermissionAnswer, error) {
		return supervise.PermissionAnswer{Allow: true}, errors.New("no database")
	}
	for _, tt := range []struct {
		name, line string
		permit     func(context.Context, supervise.PermissionRequest) (supervise.PermissionAnswer, error)
		want       string // part of the answer
		asked      int
		warned     bool
	}{
		{
			"a listed tool is allowed, its input unchanged", askFor("Bash", `{"command":"echo ty_token-of-this-run <x>"}`, ""),
			nil, `"behavior":"allow","updatedInput":{"command":"echo [redacted] `, 0, false,
		},
		{"a tool of the server is allowed", askFor("mcp__taskyard__complete_task", `{}`, ""), nil, `"allow"`, 0, false},
		{
			"another tool is refused with the whitelist", askFor("Write", `{}`, ""), yes,
			`not on the whitelist of agent coder. Allowed tools: Read, Bash, mcp__taskyard__*`, 0, true,
		},
		{
			"a path outside is refused if nobody can be asked", askFor("Read", `{"file_path":"/etc/x"}`, outside),
			nil, `Path is outside. Allowed tools`, 0, true,
		},
		{"a person may permit it", askFor("Read", `{"file_path":"/etc/x"}`, outside), yes, `"allow"`, 1, false},
		{"a person may refuse it", askFor("Read", `{"file_path":"/etc/x"}`, outside), no, `Not that file.`, 1, true},
		{"a failing decision refuses", askFor("Read", `{"file_path":"/etc/x"}`, outside), broken, `nobody could decide: no database`, 1, true},
		{"a person is asked about a blocked path outside", askFor("Bash", `{}`, `,"blocked_path":"/etc/x"`), yes, `"allow"`, 1, false},
		{
			"another request is answered with an error", `say {"type":"control_request","request_id":"r1","request":{"subtype":"hook_callback"}}`,
			nil, `"subtype":"error"`, 0, false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &runnertest.Recorder{}
			p := &permitting{Recorder: r, permit: tt.permit}
			var sink supervise.Sink = p
			if tt.permit == nil {
				sink = r
			}
			out := runnertest.RunWith(t, t.Context(), fake("say "+fakeInit, tt.line, "read", "say "+fakeDone, "eof"), claudeSpec(t), sink)
			runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			said := r.Texts(supervise.EventText)
			if len(said) != 1 || !strings.Contains(said[0], tt.want) ||
				!strings.Contains(said[0], `"request_id":"r1"`) || !json.Valid([]byte(said[0])) {
				t.Errorf("got the answer %q, want %s", said, tt.want)
			}
			if len(p.asked) != tt.asked {
				t.Errorf("asked %d times", len(p.asked))
			}
			if warned := strings.Contains(strings.Join(r.Texts(supervise.EventLog), "\n"), "calls were refused"); warned != tt.warned {
				t.Errorf("got warned = %v", warned)
			}
		})
	}
	t.Run("a request that is too long is refused", func(t *testing.T) {
		out, r := runnertest.Run(t, fake("long 3000000", "read", "say "+fakeDone, "eof"), claudeSpec(t))
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
		if said := r.Texts(supervise.EventText); len(said) != 1 || !strings.Contains(said[0], `"request_id":"big"`) || !strings.Contains(said[0], "deny") {
			t.Errorf("got the answer %.200q", said)
		}
	})
	t.Run("a program that asks and does not read the answers is stopped", func(t *testing.T) {
		out, _ := runnertest.Run(t, fake("ask 500", "hang"), claudeSpec(t))
		runnertest.WantState(t, out, task.RunFailed, task.PhaseProtocol, "does not read the answers")
	})
}

func TestTimeoutsArePausedDuringAPermission(t *testing.T) {
	t.Parallel()
	spec := claudeSpec(t)
	spec.Plan.Limits.TimeoutSeconds, spec.Plan.Limits.IdleTimeoutSeconds = 8, 8
	begin := time.Now()
	p := &permitting{Recorder: &runnertest.Recorder{}, permit: func(
		ctx context.Context, _ supervise.PermissionRequest,
	) (supervise.PermissionAnswer, error) {
		select {
		case <-ctx.Done():
			return supervise.PermissionAnswer{}, context.Cause(ctx)
		case <-time.After(9 * time.Second):
			return supervise.PermissionAnswer{Allow: true}, nil
		}
	}}
	out := runnertest.RunWith(t, t.Context(), fake("say "+fakeInit, askFor("Read", `{}`, `,"decision_reason_type":"workingDir"`),
		"read", "say "+fakeDone, "eof"), spec, p)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if took := time.Since(begin); took < 9*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestStopsOfClaude(t *testing.T) {
	t.Parallel()
	t.Run("a cancel interrupts through the protocol", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &runnertest.Recorder{}
		r.OnEvent = func(e supervise.Event) {
			if strings.HasPrefix(e.Text, "Session") {
				cancel(supervise.ErrCanceled)
			}
		}
		out := runnertest.RunWith(t, ctx, fake("say "+fakeInit, "stop"), claudeSpec(t), r)
		runnertest.WantState(t, out, task.RunCanceled, task.PhaseBy, "canceled")
		if said := r.Texts(supervise.EventText); len(said) != 1 || !strings.Contains(said[0], `"subtype":"interrupt"`) {
			t.Errorf("the program read %q", said)
		}
	})
	t.Run("a program that does not react is killed", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &runnertest.Recorder{OnStart: func(supervise.Process) error { cancel(supervise.ErrCanceled); return nil }}
		runnertest.WantState(t, runnertest.RunWith(t, ctx, fake("hang"), claudeSpec(t), r), task.RunCanceled, task.PhaseBy, "canceled")
	})
	t.Run("a pending permission ends with the run", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		p := &permitting{Recorder: &runnertest.Recorder{}, permit: func(
			ctx context.Context, _ supervise.PermissionRequest,
		) (supervise.PermissionAnswer, error) {
			cancel(supervise.ErrTaskClosed)
			<-ctx.Done()
			return supervise.PermissionAnswer{}, ctx.Err()
		}}
		out := runnertest.RunWith(t, ctx, fake(askFor("Read", `{}`, `,"decision_reason_type":"workingDir"`), "hang"), claudeSpec(t), p)
		runnertest.WantState(t, out, task.RunCanceled, task.PhaseTaskClosed, "closed")
	})
	t.Run("repeatedly failing model calls are not progress", func(t *testing.T) {
		t.Parallel()
		spec := claudeSpec(t)
		spec.Plan.Limits.IdleTimeoutSeconds = 1
		script := `read x; while :; do echo '{"type":"system","subtype":"api_retry","attempt":1,"error_status":529,"error":"overloaded"}'; sleep 0.1; done`
		out, _ := runnertest.Run(t, &Runner{Program: runnertest.Program("/bin/sh", "-c", script), AcceptWeaker: true}, spec)
		runnertest.WantState(t, out, task.RunFailed, task.PhaseIdle, "said nothing")
	})
	t.Run("too many tokens stop it before its result", func(t *testing.T) {
		t.Parallel()
		spec := claudeSpec(t)
		spec.Plan.Limits.MaxTokens = 100
		out, _ := runnertest.Run(t, fake(`say {"type":"assistant","message":{"id":"a","usage":{"input_tokens":99,"output_tokens":2},"content":[]}}`,
			"stop"), spec)
		runnertest.WantState(t, out, task.RunFailed, task.PhaseTokens, "101 tokens of at most 100")
	})
}

func TestClaudeContinuesASession(t *testing.T) {
	t.Parallel()
	const id = "11111111-2222-4333-8444-555555555555"
	former := func(t *testing.T, folder string) supervise.Spec {
		spec := claudeSpec(t)
		spec.Former, spec.Session = t.TempDir(), id
		dir := filepath.Join(spec.Former, folder)
		if os.MkdirAll(dir, 0o700) != nil || os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte("history"), 0o600) != nil {
			t.Fatal("cannot write")
		}
		return spec
	}
	for _, folder := range []string{"home/.claude/projects/-tmp-x", "session"} {
		t.Run("whose file is in "+folder, func(t *testing.T) {
			spec := former(t, folder)
			file := takeSession(spec)
			text, err := os.ReadFile(file)
			if filepath.Dir(file) != filepath.Join(spec.Dir, "session") || string(text) != "history" || err != nil {
				t.Errorf("%q %q %v", file, text, err)
			}
			if args, err := arguments(spec); err != nil || !slices.Contains(args, file) {
				t.Errorf("%q %v", args, err)
			}
		})
	}
	for name, spoil := range map[string]func(*supervise.Spec){
		"an invalid session name": func(s *supervise.Spec) { s.Session = "../../" + id },
		"a deleted folder":        func(s *supervise.Spec) { s.Former += "x" },
		"a deleted session":       func(s *supervise.Spec) { s.Session = strings.Replace(id, "1", "2", 1) },
		"a link": func(s *supervise.Spec) {
			file := filepath.Join(s.Former, "session", id+".jsonl")
			if os.Remove(file) != nil || os.Symlink("/etc/passwd", file) != nil {
				t.Fatal("cannot link")
			}
		},
	} {
		t.Run(name+" starts over", func(t *testing.T) {
			spec := former(t, "session")
			spoil(&spec)
			if file := takeSession(spec); file != "" {
				t.Errorf("it continued from %q", file)
			}
		})
	}
}

func TestProbeOfClaude(t *testing.T) {
	t.Parallel()
	c := &Runner{Program: runnertest.Program("/bin/sh", "-c", `echo "9.9 $0"`)}
	if p := c.Probe(t.Context()); p.Kind != "claude" || !p.Installed || p.Version != "9.9 --version" || !p.EnforcesTools || p.Problem != "" {
		t.Errorf("%+v", p)
	}
}

func TestADeniedCallIsTheReasonOfAFailureOfClaude(t *testing.T) {
	t.Parallel()
	const (
		named = "The agent stopped after a call was denied: Write: /etc/motd: The tool is not on the whitelist of agent coder. "
		empty = `say {"type":"result","subtype":"success","is_error":false,"result":""}`
	)
	write := askFor("Write", `{"file_path":"/etc/motd"}`, "")
	for _, tt := range []struct {
		name  string
		steps []string
		phase task.Phase
		want  string
	}{
		{"no result", []string{write, "read"}, task.PhaseProtocol, named + "It ended without a result"},
		{"an empty result", []string{write, empty, "eof"}, task.PhaseError, named + "It ended without a result"},
		{"an exit code", []string{write, "read", "exit 1"}, task.PhaseError, named + "It ended with exit code 1"},
		{
			"an error",
			[]string{write, "read", `say {"type":"result","subtype":"error_during_execution","is_error":true,"errors":["stopped"]}`, "eof"},
			task.PhaseError, named + "It ended with an error (error_during_execution): stopped",
		},
		{
			"a call that the program itself refused",
			[]string{`say {"type":"result","subtype":"success","is_error":false,"result":"","permission_denials":[{"tool_name":"Bash"}]}`, "eof"},
			task.PhaseError, "a call was denied: Bash: the program itself refused it. It ended without a result",
		},
		{
			"not when another call was allowed after it",
			[]string{write, askFor("Read", `{}`, ""), empty, "eof"},
			task.PhaseError, "It ended without a result",
		},
		{
			"not when the model refuses",
			[]string{write, "read", `say {"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"later"}`, "eof"},
			task.PhaseError, "The model refuses for now (rate limit): later",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := runnertest.NewSpec(t)
			spec.Plan.Tools = []string{"read"}
			out, _ := runnertest.Run(t, fake(append([]string{"say " + strings.Replace(fakeInit, `"Bash",`, "", 1)}, tt.steps...)...), spec)
			runnertest.WantState(t, out, task.RunFailed, tt.phase, tt.want)
			if strings.HasPrefix(tt.name, "not ") && strings.Contains(out.Reason, "denied") {
				t.Errorf("got the reason %q", out.Reason)
			}
		})
	}
}

// A time limit that is reached while the program may still exit does not affect
// its result; a program that continues to work after a result is stopped.
func TestATimeLimitAfterAResultOfClaude(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		steps []string
		grace time.Duration
		state task.State
	}{
		{"the result is kept", []string{"hang"}, runnertest.Deadline, task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}},
		{
			"a program that keeps working is idle",
			[]string{`say {"type":"assistant","message":{"id":"b","content":[]}}`, "hang"},
			runnertest.Grace,
			task.State{Status: task.RunFailed, Phase: task.PhaseIdle},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := claudeSpec(t)
			spec.Plan.Limits = task.Limits{IdleTimeoutSeconds: 2}
			c := fake(append([]string{"say " + fakeInit, "say " + fakeDone}, tt.steps...)...)
			c.Grace = tt.grace
			out, _ := runnertest.Run(t, c, spec)
			runnertest.WantState(t, out, tt.state.Status, tt.state.Phase, "")
		})
	}
}

// A result repeats the denied calls, with everything that they were to write.
func TestAResultOfClaudeMayBeLong(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"result 100 3000000", "result 3000001 100", "result 2000002 2000000"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			out, rec := runnertest.Run(t, fake("say "+fakeInit, step, "eof"), claudeSpec(t))
			runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			if !strings.HasPrefix(out.Summary, `"total_cost_usd":9 üüü`) || strings.ContainsRune(out.Summary, 0xfffd) || out.Usage.CostUSD != 0.25 {
				t.Errorf("got cost %v, summary %.100q", out.Usage.CostUSD, out.Summary)
			}
			runnertest.CheckEvents(t, rec)
		})
	}
}

// A stopping server does not repeat work whose result exists.
func TestAResultOfClaudeCountsWhenTheServerStops(t *testing.T) {
	t.Parallel()
	const after = "The program shortened its context."
	steps := []string{"say " + fakeInit, "say " + fakeDone, `say {"type":"system","subtype":"compact_boundary"}`, "hang"}
	for cause, want := range map[error]task.RunStatus{supervise.ErrShutdown: task.RunCompleted, supervise.ErrCanceled: task.RunCanceled} {
		t.Run(cause.Error(), func(t *testing.T) {
			t.Parallel()
			ctx, r := runnertest.CancelAt(t, after, cause)
			c := fake(steps...)
			c.Grace = runnertest.Deadline
			if out := runnertest.RunWith(t, ctx, c, claudeSpec(t), r); out.Status != want {
				t.Errorf("got %s/%s %q, want %s", out.Status, out.Phase, out.Reason, want)
			}
		})
	}
}
