//go:build linux

package builtin

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

func TestTheBuiltinAgentWorksWithItsTools(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"openai", "anthropic"} {
		t.Run(api, func(t *testing.T) {
			l := newLoop(t, api,
				modeltest.Step{
					Text: "I write it.", Calls: []modeltest.Call{{Name: "create", Args: `{"path":"notes.md","content":"hello"}`}},
					Usage: modeltest.Usage{In: 100, Out: 20},
				},
				modeltest.Step{
					Calls: []modeltest.Call{{Name: "read", Args: `{"path":"notes.md"}`}},
					Usage: modeltest.Usage{In: 150, Out: 10, Cached: 100},
				},
				modeltest.Step{Text: "All is written.", Usage: modeltest.Usage{In: 200, Out: 5}},
				modeltest.Step{Text: " Wrote notes.md. Nothing blocks. ", Usage: modeltest.Usage{In: 250, Out: 15}},
			)
			l.Prices = map[string]Price{"test-model": {In: 10, Out: 100, Cached: 1}}
			spec := newSpec(t)
			out, r := l.play(t, spec)
			runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			if out.Summary != "Wrote notes.md. Nothing blocks." || strings.Join(out.Artifacts, " ") != "notes.md" {
				t.Errorf("got summary %q, artifacts %v", out.Summary, out.Artifacts)
			}
			want := task.Usage{ToolCalls: 2, TokensIn: 700, TokensOut: 50, TokensCached: 100, CostUSD: 0.0111}
			if d := out.Usage.CostUSD - want.CostUSD; d > 1e-9 || d < -1e-9 {
				t.Errorf("got cost %v, want %v", out.Usage.CostUSD, want.CostUSD)
			}
			if out.Usage.CostUSD = want.CostUSD; out.Usage != want {
				t.Errorf("got usage %+v, want %+v", out.Usage, want)
			}
			if got := r.Types(); got != "text usage tool_call tool_result usage tool_call tool_result text usage log usage" {
				t.Errorf("got events %s", got)
			}
			if text, err := os.ReadFile(filepath.Join(spec.Dir, "work", "notes.md")); string(text) != "hello" {
				t.Errorf("the file contains %q, %v", text, err)
			}
			turns := l.server.Turns()
			first, last := turns[0], turns[3]
			if first.System != "You are terse." || first.Last().Text != "Do the work." || strings.Join(first.Tools, " ") != "read create" {
				t.Errorf("got the first request %+v", first)
			}
			if !last.NoCalls || !strings.HasPrefix(last.Last().Text, "Summarize") {
				t.Errorf("got the last request %+v", last.Last())
			}
			if got := turns[2].Last().Results; len(got) != 1 || got[0].Text != "hello" {
				t.Errorf("got the result of read %+v", got)
			}
			if !l.box.closed {
				t.Error("the tools were not closed")
			}
		})
	}
}

func TestHowARunOfTheBuiltinAgentEnds(t *testing.T) {
	t.Parallel()
	text := modeltest.Step{Text: "Done."}
	tests := []struct {
		name      string
		steps     []modeltest.Step
		limits    task.Limits
		status    task.RunStatus
		phase     task.Phase
		reason    string
		permanent bool
	}{
		{"with an empty reply", []modeltest.Step{{}}, task.Limits{}, task.RunFailed, task.PhaseError, "reply is empty", false},
		{"with a blank reply", []modeltest.Step{{Text: " \n "}}, task.Limits{}, task.RunFailed, task.PhaseError, "reply is empty", false},
		{
			"with a refusal",
			[]modeltest.Step{{Text: "I will not.", Stop: "refusal"}},
			task.Limits{},
			task.RunFailed,
			task.PhaseError, "The model refused to continue: I will not.", false,
		},
		{
			"with a refused key",
			[]modeltest.Step{{Status: 401, Message: "bad key"}},
			task.Limits{},
			task.RunFailed, task.PhaseAuth, "the provider refused the key (401): bad key", true,
		},
		{
			"with an unknown model",
			[]modeltest.Step{{Status: 404, Message: "no such model"}},
			task.Limits{},
			task.RunFailed, task.PhaseError, "no such model", true,
		},
		{
			"with a prompt that is too long",
			[]modeltest.Step{{Status: 400, Message: "prompt is too long"}},
			task.Limits{},
			task.RunFailed, task.PhaseError, "too long for the model", true,
		},
		{"with a conversation that grew too long", []modeltest.Step{
			calls("read", `{"path":"x"}`),
			{Status: 400, Message: "prompt is too long"},
		}, task.Limits{}, task.RunFailed, task.PhaseError, "too long for the model", false},
		{
			"with a provider that asks to wait an hour",
			[]modeltest.Step{{Status: 429, After: "3600"}},
			task.Limits{},
			task.RunFailed, task.PhaseError, "(the provider asks to wait 1h0m0s)", false,
		},
		{
			"with an invalid response",
			[]modeltest.Step{{Raw: "event: message_start\ndata: {nonsense\n\n"}},
			task.Limits{},
			task.RunFailed, task.PhaseProtocol, "makes no sense", false,
		},
		{"with an endless reply", []modeltest.Step{{Flood: 8 << 20}}, task.Limits{}, task.RunFailed, task.PhaseProtocol, "longer than", false},
		{
			"with replies that are cut again and again",
			[]modeltest.Step{{Text: "and so on", Stop: "length", Times: 9}},
			task.Limits{},
			task.RunFailed, task.PhaseError, "3 replies in a row were cut", false,
		},
		{
			"with a reply that is cut before it begins",
			[]modeltest.Step{{Stop: "length"}},
			task.Limits{},
			task.RunFailed, task.PhaseError, "cut off before it contained anything", false,
		},
		{
			"at its limit of turns",
			[]modeltest.Step{calls("read", `{"path":"a"}`), calls("read", `{"path":"b"}`), text},
			task.Limits{MaxTurns: 2},
			task.RunFailed, task.PhaseTurns, "It took 2 turns of at most 2", false,
		},
		{
			"at its limit of tokens",
			[]modeltest.Step{calls("read", `{"path":"a"}`), calls("read", `{"path":"b"}`), text},
			task.Limits{MaxTokens: 25},
			task.RunFailed, task.PhaseTokens, "It used 30 tokens of at most 25", false,
		},
		{
			"at its limit of cost",
			[]modeltest.Step{calls("read", `{"path":"a"}`), calls("read", `{"path":"b"}`), text},
			task.Limits{MaxCostUSD: 0.25},
			task.RunFailed, task.PhaseCost, "It cost 0.3000 USD of at most 0.2500", false,
		},
		{
			"at its limit of time",
			[]modeltest.Step{{Wait: make(chan struct{})}},
			task.Limits{TimeoutSeconds: 1, IdleTimeoutSeconds: 5},
			task.RunFailed, task.PhaseTimeout, "longer than its time limit of 1 s", false,
		},
		{
			"when the model says nothing",
			[]modeltest.Step{{Wait: make(chan struct{})}},
			task.Limits{TimeoutSeconds: 9, IdleTimeoutSeconds: 1},
			task.RunFailed, task.PhaseIdle, "said nothing for 1 s", false,
		},
		{
			"with the same call again and again",
			[]modeltest.Step{{Calls: calls("read", `{"path":"x"}`).Calls, Times: 1000}},
			task.Limits{},
			task.RunFailed, task.PhaseError, "the same call of read brought the same result 6 times", false,
		},
		{
			"completed, after a stream broke off once",
			[]modeltest.Step{{Text: "half of it", Break: modeltest.BreakCut}, text, text},
			task.Limits{},
			task.RunCompleted, task.PhaseEnded, "", false,
		},
		{
			"completed, after the provider was busy",
			[]modeltest.Step{{Status: 429, After: "0.01"}, {Status: 529}, text, text},
			task.Limits{},
			task.RunCompleted, task.PhaseEnded, "", false,
		},
		{"completed, without a closing summary", []modeltest.Step{text, {Status: 400}}, task.Limits{}, task.RunCompleted, task.PhaseEnded, "", false},
		{"completed, with an empty summary", []modeltest.Step{text, {}}, task.Limits{}, task.RunCompleted, task.PhaseEnded, "", false},
		{
			"completed, without room for a summary",
			[]modeltest.Step{text},
			task.Limits{MaxTurns: 1},
			task.RunCompleted, task.PhaseEnded, "", false,
		},
		{
			"completed, with a reply in two parts",
			[]modeltest.Step{{Text: "Do", Stop: "length"}, text, text},
			task.Limits{},
			task.RunCompleted, task.PhaseEnded, "", false,
		},
	}
	for _, api := range []string{"openai", "anthropic"} {
		for _, tt := range tests {
			t.Run(tt.name+", with "+api, func(t *testing.T) {
				t.Parallel()
				l := newLoop(t, api, tt.steps...)
				l.Prices = map[string]Price{"test-model": {In: 10_000, Out: 10_000}}
				spec := newSpec(t)
				spec.Plan.Limits = tt.limits
				out, r := l.play(t, spec)
				runnertest.WantState(t, out, tt.status, tt.phase, tt.reason)
				if out.Permanent != tt.permanent {
					t.Errorf("got permanent %v", out.Permanent)
				}
				if out.Status == task.RunCompleted && out.Summary != "Done." {
					t.Errorf("got the summary %q", out.Summary)
				}
				if n := len(l.server.Turns()); n > 10 {
					t.Errorf("got %d turns", n)
				}
				for _, e := range r.Events {
					if len(e.Text)+len(e.Data) > supervise.MaxEvent {
						t.Errorf("an event of type %s has %d bytes", e.Type, len(e.Text)+len(e.Data))
					}
				}
			})
		}
	}
}

func TestUsageOfABrokenReplyIsCounted(t *testing.T) {
	t.Parallel()
	half := modeltest.Step{Text: "half of it", Break: modeltest.BreakCut, Usage: modeltest.Usage{In: 1000, Out: 5}}
	t.Run("together with the next reply", func(t *testing.T) {
		t.Parallel()
		l := newLoop(t, "anthropic", half, modeltest.Step{Text: "Done."}, modeltest.Step{Text: "Done."})
		out, r := l.play(t, newSpec(t))
		if out.Usage.TokensIn != 1020 || out.Usage.TokensOut <= 10 || !out.Usage.Estimated {
			t.Errorf("got usage %+v", out.Usage)
		}
		if got := r.Types(); got != "text log text usage log usage" {
			t.Errorf("got events %s", got)
		}
	})
	t.Run("if the run is stopped meanwhile", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		l := newLoop(t, "anthropic", half)
		out, err := l.Run(ctx, newSpec(t), &runnertest.Recorder{OnEvent: func(e supervise.Event) {
			if e.Type == supervise.EventLog {
				cancel()
			}
		}})
		if err != nil || out.Status != task.RunCanceled || out.Usage.TokensIn != 1000 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestARunContinuesAfterARefusedToolCall(t *testing.T) {
	t.Parallel()
	end := []modeltest.Step{{Text: "Done."}, {Text: "Done."}}
	tests := []struct{ name, tool, args, want string }{
		{"a tool that the agent may not use", "bash", `{}`, "agent coder may not use the tool bash: its tools are read, create"},
		{"an unknown tool", "launch", `{}`, "may not use the tool launch"},
		{"arguments that are not JSON", "read", `{"path": "unfin`, "they are no JSON object"},
		{"arguments that are not an object", "read", `null`, "they are no JSON object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLoop(t, "openai", append([]modeltest.Step{calls(tt.tool, tt.args)}, end...)...)
			out, r := l.play(t, newSpec(t))
			runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			if got := r.Texts(supervise.EventToolResult); len(got) != 1 || !strings.Contains(got[0], tt.want) {
				t.Errorf("got the result %q", got)
			}
			for _, e := range r.Events {
				if e.Type == supervise.EventToolResult && !strings.Contains(string(e.Data), `"error":true`) {
					t.Errorf("it was recorded as %s", e.Data)
				}
			}
			if got := l.server.Turns()[1].Last().Results[0].Text; !strings.Contains(got, tt.want) {
				t.Errorf("the model got %q", got)
			}
		})
	}
}

func TestToolsTakeArgumentsByTheNamesThatOtherAgentsUse(t *testing.T) {
	t.Parallel()
	l := newLoop(t, "anthropic",
		calls("create", `{"file_path":"notes.txt","content":"milk"}`), calls("read", `{"file_path":"notes.txt"}`), modeltest.Step{Text: "Done."})
	l.Tools = OpenTools(true)
	out, r := l.play(t, newSpec(t))
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if got := r.Texts(supervise.EventToolResult); len(got) != 2 || !strings.Contains(got[1], "milk") {
		t.Errorf("got the results %q", got)
	}
}

func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	const secret = "sk-of-the-provider"
	l := newLoop(t, "anthropic",
		modeltest.Step{
			Text:  "The key is " + secret + ".",
			Calls: []modeltest.Call{{Name: "create", Args: `{"path":"key.txt","content":"` + secret + `"}`}},
		},
		calls("read", `{"path":"key.txt"}`), modeltest.Step{Text: "Done."}, modeltest.Step{Text: "I found " + secret},
	)
	spec := newSpec(t)
	spec.Secrets = []string{secret}
	out, r := l.play(t, spec)
	b, err := json.Marshal(r.Events)
	testkit.NoError(t, err)
	if strings.Contains(string(b), secret) || out.Summary != "I found [redacted]" {
		t.Errorf("got events %s, summary %q", b, out.Summary)
	}
	if got := l.server.Turns()[2].Last().Results[0].Text; got != task.Redacted {
		t.Errorf("the model got %q", got)
	}
}

func TestAPanicOfAToolFailsTheCall(t *testing.T) {
	t.Parallel()
	l := newLoop(t, "openai", calls("grep", `{}`), modeltest.Step{Text: "Done."}, modeltest.Step{Text: "Done."})
	spec := newSpec(t)
	spec.Plan.Tools = []string{"grep"}
	out, err := l.Run(t.Context(), spec, &runnertest.Recorder{})
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if err == nil || !strings.Contains(err.Error(), "a bug in grep") {
		t.Errorf("got the log %v", err)
	}
}

func TestPlansThatCannotBeRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*Runner, *supervise.Spec)
		phase  task.Phase
		reason string
	}{
		{"without a model", func(b *Runner, _ *supervise.Spec) { b.DefaultModel = "" }, task.PhaseError, "No model is named"},
		{
			"with a model that the provider does not have", func(b *Runner, s *supervise.Spec) { b.Models, s.Plan.Model = []string{"a", "b"}, "c" },
			task.PhaseError, "its models are a, b",
		},
		{
			"with a limit of cost and no price", func(_ *Runner, s *supervise.Spec) { s.Plan.Limits.MaxCostUSD = 1 },
			task.PhaseError, "has no price of test-model",
		},
		{"without a key", func(b *Runner, _ *supervise.Spec) { b.Problem = "KEY is empty" }, task.PhaseAuth, "KEY is empty"},
		{
			"with a missing workspace", func(_ *Runner, s *supervise.Spec) { s.Plan.Workspace = "/nowhere/at/all" },
			task.PhaseError, "does not exist",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, spec := newLoop(t, "openai"), newSpec(t)
			tt.change(l.Runner, &spec)
			out, _ := l.play(t, spec)
			runnertest.WantState(t, out, task.RunFailed, tt.phase, tt.reason)
			if !out.Permanent || len(l.server.Requests()) > 0 {
				t.Errorf("got permanent %v, %d requests", out.Permanent, len(l.server.Requests()))
			}
		})
	}
}

func TestAFloodOfRepliesTakesLittleMemory(t *testing.T) {
	l := newLoop(t, "anthropic", modeltest.Step{Flood: 1 << 20, Calls: []modeltest.Call{{Name: "read", Args: `{"path":"x"}`}}, Times: 3},
		modeltest.Step{Text: "Done."}, modeltest.Step{Text: "Done."})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak := uint64(0)
	r := &runnertest.Recorder{OnEvent: func(e supervise.Event) {
		if e.Type == supervise.EventUsage {
			runtime.GC()
			runtime.ReadMemStats(&after)
			peak = max(peak, after.HeapAlloc)
		}
	}}
	out, err := l.Run(t.Context(), newSpec(t), r)
	testkit.NoError(t, err)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if r.Bytes > runnertest.MaxTranscript+supervise.MaxEvent {
		t.Errorf("got %d bytes of events", r.Bytes)
	}
	if grown := int64(peak) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
}
