//go:build linux

package acp

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/confine"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// agent returns a runner of the scripted agent in this binary, which speaks the protocol.
func agent(how ...string) *Runner {
	return &Runner{Program: runnertest.Agent("acp", how...), AcceptWeaker: true}
}

func TestOutcomeOfAnACPAgent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, how string
		status    task.RunStatus
		phase     task.Phase
		reason    string
		permanent bool
	}{
		{"the end of the turn completes", "reason:end_turn", task.RunCompleted, task.PhaseEnded, "", false},
		{"a refusal fails", "reason:refusal", task.RunFailed, task.PhaseError, "refused", false},
		{"the model's token limit fails", "reason:max_tokens", task.RunFailed, task.PhaseTokens, "token limit", false},
		{"too many turns fail", "reason:max_turn_requests", task.RunFailed, task.PhaseTurns, "model calls", false},
		{"a cancellation that was not requested fails", "reason:cancelled", task.RunFailed, task.PhaseError, "nobody canceled it", false},
		{"an unknown reason breaks the protocol", "reason:tired", task.RunFailed, task.PhaseProtocol, "tired", false},
		{"another version of the protocol is permanent", "version", task.RunFailed, task.PhaseProtocol, "version 9", true},
		{"an agent that is not signed in is permanent", "noauth", task.RunFailed, task.PhaseAuth, "Authentication required", true},
		{"an exit before the response fails with its code", "crash", task.RunFailed, task.PhaseError, "exit code 7", false},
		{"end of output before the response breaks the protocol", "eof", task.RunFailed, task.PhaseProtocol, "without answering", false},
		{"an error response fails with its details", "error", task.RunFailed, task.PhaseError, "boom", false},
		{"other lines are ignored", "garbage", task.RunCompleted, task.PhaseEnded, "", false},
		{"a flood of updates loses neither the response nor the text", "flood", task.RunCompleted, task.PhaseEnded, "", false},
		{"an agent that sends requests and does not read is stopped", "pester", task.RunFailed, task.PhaseProtocol, "does not read", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, _ := runnertest.Run(t, agent(tt.how), runnertest.NewSpec(t))
			runnertest.WantState(t, out, tt.status, tt.phase, tt.reason)
			if out.Permanent != tt.permanent {
				t.Errorf("permanent is %v, want %v", out.Permanent, tt.permanent)
			}
		})
	}
}

func TestEventsOfAnACPAgent(t *testing.T) {
	t.Parallel()
	spec := runnertest.NewSpec(t)
	spec.Plan.Workspace = t.TempDir()
	out, rec := runnertest.Run(t, agent("end_turn", "stay"), spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if out.Summary != "All done." || out.Usage != (task.Usage{ToolCalls: 1, TokensIn: 30, TokensOut: 5, CostUSD: 0.5}) {
		t.Errorf("got summary %q, usage %+v", out.Summary, out.Usage)
	}
	if got, want := rec.Texts(supervise.EventText), []string{"First I look.", "All done."}; !slices.Equal(got, want) {
		t.Errorf("got text %q, want %q", got, want)
	}
	if got := rec.Texts(supervise.EventToolResult); !slices.Equal(got, []string{"[redacted]"}) {
		t.Errorf("got results %q", got)
	}
	if log := rec.Texts(supervise.EventLog); !slices.Contains(log, "Hm.") || !slices.Contains(log, "session s1") {
		t.Errorf("got log %q", log)
	}
	input := received(t, spec)
	for _, want := range []string{
		`"protocolVersion":1`, `"fs":{}`, `"cwd":"` + spec.Plan.Workspace + `"`,
		`"url":"http://127.0.0.1:1/mcp?content=text"`, `"value":"Bearer ty_token-of-this-run"`, `You are terse.\n\nDo the work.`,
	} {
		if !strings.Contains(input, want) {
			t.Errorf("the agent did not read %s:\n%s", want, input)
		}
	}
}

func TestAToolCallIsOneEntryThatShowsItsInput(t *testing.T) {
	t.Parallel()
	spec := runnertest.NewSpec(t)
	spec.Plan.Tools = []string{"bash"}
	out, rec := runnertest.Run(t, agent("calls"), spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	want := []string{"ls -l", "read a", "get_task (taskyard MCP Server)"}
	if got := rec.Texts(supervise.EventToolCall); !slices.Equal(got, want) {
		t.Errorf("got calls %q, want %q", got, want)
	}
	data := rec.Data(supervise.EventToolCall)
	if !strings.Contains(data, `"input":{"command":"ls -l"}`) || !strings.Contains(data, `"input":{"x":1}`) {
		t.Errorf("got the call data %s", data)
	}
	if got := rec.Texts(supervise.EventToolResult); len(got) != 2 || got[0] != "a.txt" {
		t.Errorf("got results %q", got)
	}
}

func TestTokensOfAnACPAgent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, how string
		in, out   int
	}{
		{"the tokens of each turn are added up, without those at the end", "calls", 300, 16},
		{"the tokens of a quota are read", "quota", 300, 21},
		{"the tokens of only the last turn are not those of the run", "OpenCode", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, _ := runnertest.Run(t, agent(tt.how), runnertest.NewSpec(t))
			runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			if out.Usage.TokensIn != tt.in || out.Usage.TokensOut != tt.out {
				t.Errorf("got usage %+v", out.Usage)
			}
		})
	}
}

func TestADeniedCallIsTheReasonOfAFailure(t *testing.T) {
	t.Parallel()
	spec := runnertest.NewSpec(t)
	spec.Plan.Tools = []string{"bash"}
	out, _ := runnertest.Run(t, agent("ask", "fetch", "https://x", "cancels"), spec)
	runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "stopped after a call was denied: https://x. The agent coder may use bash.")
}

func received(t *testing.T, spec supervise.Spec) string {
	t.Helper()
	b, err := os.ReadFile(spec.Plan.Workspace + "/heard")
	testkit.NoError(t, err)
	return string(b)
}

func TestAnACPAgentWithoutHTTPGetsTheBridge(t *testing.T) {
	t.Parallel()
	spec := runnertest.NewSpec(t)
	spec.Plan.Workspace = t.TempDir()
	a := agent("end_turn", "nohttp")
	a.Bridge = []string{"/usr/bin/taskyard", "mcp"}
	out, _ := runnertest.Run(t, a, spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if input := received(t, spec); !strings.Contains(input, `"command":"/usr/bin/taskyard"`) ||
		!strings.Contains(input, `"args":["mcp"]`) || strings.Contains(input, `"url":`) {
		t.Errorf("heard\n%s", input)
	}
}

func TestTheModelIsChosenAmongThoseOffered(t *testing.T) {
	t.Parallel()
	t.Run("an offered model is set", func(t *testing.T) {
		spec := runnertest.NewSpec(t)
		spec.Plan.Workspace = t.TempDir()
		out, _ := runnertest.Run(t, agent("models"), spec)
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
		if input := received(t, spec); !strings.Contains(input, `"session/set_model","params":{"modelId":"$runtime|openai|small(openai)","sessionId":"s1"}`) {
			t.Errorf("heard\n%s", input)
		}
	})
	t.Run("a model that is not offered is a permanent error", func(t *testing.T) {
		spec := runnertest.NewSpec(t)
		spec.Plan.Model = "huge"
		out, _ := runnertest.Run(t, agent("models"), spec)
		runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "does not offer the model huge: it has big, small")
		if !out.Permanent {
			t.Error("a retry would follow")
		}
	})
	t.Run("an agent that requires its API key is told to use it", func(t *testing.T) {
		out, _ := runnertest.Run(t, agent("key"), runnertest.NewSpec(t))
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	})
}

// asking is a recorder whose person gives this answer.
type asking struct {
	*runnertest.Recorder
	answer supervise.PermissionAnswer
	asked  []supervise.PermissionRequest
}

func (a *asking) Permit(_ context.Context, req supervise.PermissionRequest) (supervise.PermissionAnswer, error) {
	a.asked = append(a.asked, req)
	return a.answer, nil
}

func TestPermissionOfAnACPAgent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, kind, title string
		person            *supervise.PermissionAnswer // nil: the sink cannot ask anybody
		answer            string
		asked             int
	}{
		{"a listed tool is allowed, once", "execute", "ls", nil, "answer selected once", 0},
		{"a tool that is not listed is denied", "fetch", "https://x", &supervise.PermissionAnswer{Allow: true}, "answer selected no", 0},
		{"a tool of Taskyard is allowed", "other", "complete_task (taskyard MCP Server)", nil, "answer selected once", 0},
		{"a tool with the name of the server in the middle of its title is not", "other", "run taskyard_x", nil, "answer selected no", 0},
		{
			"a person is asked about an unknown tool, and may allow it", "other", "deploy",
			&supervise.PermissionAnswer{Allow: true}, "answer selected once", 1,
		},
		{
			"a person is asked about an unknown tool, and may deny it", "other", "deploy",
			&supervise.PermissionAnswer{Message: "not today"}, "answer selected no", 1,
		},
		{"an unknown tool is denied when nobody can be asked", "other", "deploy", nil, "answer selected no", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := runnertest.NewSpec(t)
			spec.Plan.Tools = []string{"bash"}
			rec := &runnertest.Recorder{}
			var sink supervise.Sink = rec
			person := &asking{Recorder: rec}
			if tt.person != nil {
				person.answer, sink = *tt.person, person
			}
			out, err := agent("ask", tt.kind, tt.title).Run(t.Context(), spec, sink)
			if err != nil || out.Summary != tt.answer {
				t.Errorf("%+v, %v, want %q", out, err, tt.answer)
			}
			if len(person.asked) != tt.asked || tt.asked > 0 && (person.asked[0].Tool != tt.title || string(person.asked[0].Input) != `{"x":1}`) {
				t.Errorf("got the requests %+v", person.asked)
			}
			if events := rec.Texts(supervise.EventPermission); (len(events) > 0) != (tt.answer == "answer selected no" || tt.asked > 0) {
				t.Errorf("got the permission events %q", events)
			}
		})
	}
}

// Its response counts, even if it closes its output before it ends.
func TestAResponseCountsAlthoughTheAgentKeepsRunning(t *testing.T) {
	t.Parallel()
	spec := runnertest.NewSpec(t)
	spec.Plan.Limits = task.Limits{IdleTimeoutSeconds: 5, TimeoutSeconds: 60}
	out, _ := runnertest.Run(t, agent("end_turn", "closed", "stay"), spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
}

func TestAPermissionRequestThatIsTooLongIsAnswered(t *testing.T) {
	t.Parallel()
	spec := runnertest.NewSpec(t)
	spec.Plan.Tools = []string{"bash"}
	spec.Plan.Workspace, spec.Plan.Limits = t.TempDir(), task.Limits{IdleTimeoutSeconds: 10, TimeoutSeconds: 60}
	out, rec := runnertest.Run(t, agent("ask much"), spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if heard := received(t, spec); !strings.Contains(heard, `"id":"p1","error":{"code":-32602`) {
		t.Errorf("the agent received %s", heard)
	}
	if events := rec.Texts(supervise.EventPermission); len(events) != 1 || !strings.Contains(events[0], "too long to be looked at") {
		t.Errorf("got the permission events %q", events)
	}
}

// The protocol allows an agent to omit from its request what it reported earlier.
func TestAPermissionShowsWhatWasReportedAboutTheCall(t *testing.T) {
	t.Parallel()
	person := &asking{Recorder: &runnertest.Recorder{}, answer: supervise.PermissionAnswer{Allow: true}}
	spec := runnertest.NewSpec(t)
	spec.Plan.Tools = []string{"bash"}
	out, err := agent("ask before").Run(t.Context(), spec, person)
	if err != nil || out.Summary != "answer selected once" {
		t.Errorf("%+v, %v", out, err)
	}
	if len(person.asked) != 1 || person.asked[0].Tool != "deploy" || string(person.asked[0].Input) != `{"to":"production"}` {
		t.Errorf("got the requests %+v", person.asked)
	}
}

func TestCancelOfAnACPAgent(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"hang", "deaf"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			spec := runnertest.NewSpec(t)
			spec.Plan.Workspace = t.TempDir()
			ctx, cancel := context.WithCancelCause(t.Context())
			rec := &runnertest.Recorder{OnEvent: func(e supervise.Event) {
				if e.Text == "I think." {
					cancel(fmt.Errorf("%w by a person", supervise.ErrCanceled))
				}
			}}
			out, err := agent(how).Run(ctx, spec, rec)
			testkit.NoError(t, err)
			runnertest.WantState(t, out, task.RunCanceled, task.PhaseBy, "by a person")
			if input := received(t, spec); !strings.Contains(input, `"session/cancel"`) {
				t.Errorf("heard\n%s", input)
			}
		})
	}
}

func TestAnACPAgentIsRefusedIfItsToolsCannotBeEnforced(t *testing.T) {
	t.Parallel()
	a := agent("end_turn")
	a.AcceptWeaker, a.Confine = false, supervise.Confinement{On: true, Kernel: &confine.Kernel{Landlock: 3}}
	spec := runnertest.NewSpec(t)
	spec.Plan.Tools = []string{"read", "bash"}
	out, _ := runnertest.Run(t, a, spec)
	runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "could also use fetch.")
	if !out.Permanent {
		t.Error("a retry would follow")
	}
	spec.Plan.Tools = append(spec.Plan.Tools, "fetch")
	out, _ = runnertest.Run(t, a, spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
}
