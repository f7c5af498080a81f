package browser

import (
	"encoding/json"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

var sampleAgents = map[string]string{
	"planner": "---\ndescription: Plans the work and keeps the overview.\ntools: read, list, grep, task\nrunner: " +
		"script\ntimeout: 20m\n---\nYou are the planner. Turn a goal into a few short steps and delegate what others do better.\n",
	"coder": "---\ndescription: Writes and fixes the code.\ntools: read, list, glob, grep, create, edit, bash, " +
		"task\nrunner: script\ntimeout: 15m\nmodel: sonnet\nmax_tokens_per_day: 250000\n---\nYou are the coder. Work through " +
		"the plan one step after the other. Run the tests before you say that something works.\n",
	"reviewer": "---\ndescription: Checks what others made and asks people when it must.\ntools: read, " +
		"grep, glob, bash, create\nrunner: script\ntimeout: 15m\nmodel: sonnet\n---\nYou are the reviewer. " +
		"Check, proof-read, and ask a person when a decision is not yours.\n",
	"researcher": "---\ndescription: Finds out and reports. Claims its work itself.\ntools: " +
		"read, fetch\nrunner: none\n---\nYou are the researcher.\n",
	"translator": "---\nname: translator\ndescription: Writes the guides.\ntools: read, edit, " +
		"telepathy\nrunner: nowhere\ntimeout: soon\n---\nWrite guides.\n",
}

// sample is an instance in the middle of a working day, with some of everything.
type sample struct {
	*instance
	limiter, ship, question, failed, lonely, canceled, big, waits task.ID
	approval, running, completed, broken                          task.ID // runs
}

func newSample(t testing.TB) *sample {
	t.Helper()
	s := &sample{instance: openInstance(t, sampleAgents, func(c *service.Config) { c.Budget = task.Budget{MaxCostUSD: 20} })}
	u := must(s.svc.AddUser(ctx, task.SystemActor, "maya", password, task.RoleAdmin))
	must(s.svc.AddUser(ctx, task.SystemActor, "jonas", password, task.RoleReviewer))
	s.maya = task.Actor{Name: task.UserActorName(u.Name), Role: u.Role, UserID: u.ID}
	for i, title := range []string{
		"Sort the open issues", "Write the changelog of v0.3",
		"Move the build to Go 1.26", "Drop the old config keys", "Answer the security mail",
	} {
		s.clock.Behind(time.Duration(26-5*i) * time.Hour)
		tk := s.create(task.New{Title: title, Owner: []string{"planner", "coder", "coder", "reviewer", "reviewer"}[i], Priority: 3 + i})
		s.played(tk.ID, time.Duration(100+70*i)*time.Second, 12000+9000*i, "Done: "+title+".")
		must(s.svc.CompleteTask(ctx, s.maya, tk.ID, "Finished and checked: "+title+".", 0))
	}
	s.past(t)
	s.clock.Behind(0)
	s.start()
	s.present(t)
	return s
}

// past creates what happened in the last hours.
func (s *sample) past(t testing.TB) {
	s.clock.Behind(4 * time.Hour)
	s.create(task.New{Title: "Plan the SQLite backup drill", Owner: "planner", Priority: 2})
	s.ship = s.create(task.New{
		Title: "Ship API hardening for v0.4", Owner: "planner", Priority: 9,
		Description: "Everything left to do before a public API.", Steps: []task.Step{
			{Title: "List the gaps"}, {Title: "Agree on limits"}, {Title: "Rate limiting"}, {Title: "Idempotency keys"}, {Title: "Announce it"},
		},
	}).ID
	s.create(task.New{
		Title: "Paginate task history by cursor", Owner: "coder", Priority: 4,
		Steps: []task.Step{{Title: "Cursor"}, {Title: "Links"}, {Title: "Tests"}},
	})
	s.clock.Behind(3 * time.Hour)
	s.create(task.New{Title: "Split the onboarding epic into agent-sized tasks", Owner: "planner", Priority: 5})
	s.canceled = s.create(task.New{Title: "Try the other queue library", Owner: "coder"}).ID
	must(s.svc.CancelTask(ctx, s.maya, s.canceled, "We keep our own."))
	for i := range 2 {
		done := true
		must(s.svc.UpdateStep(ctx, s.maya, s.ship, i, task.StepPatch{Done: &done}))
	}
	s.clock.Behind(130 * time.Minute)
	s.limiter = must(s.svc.CreateSubtask(ctx, s.maya, s.ship, 2, task.New{
		Title: "Add rate limiting to the public API", Owner: "coder", Priority: 9, NoStart: true,
		Description: "Anonymous callers can exhaust the worker pool. Put a token bucket in front of `/api/*`, keyed " +
			"by API token and falling back to IP.\n\n- Default 60 requests per minute, burst 20, both configurable\n- " +
			"Answer 429 with `Retry-After` and a problem+json body\n- No change for `/healthz`",
		Resources: []task.Resource{
			{Type: "url", Value: "https://example.com/pull/318", Label: "Pull request 318: rate limiting"},
			{Type: "file", Value: "/srv/handbook/limits.md", Label: "docs/limits.md"},
			{Type: "url", Value: "https://www.rfc-editor.org/rfc/rfc6585", Label: "RFC 6585, 429 Too Many Requests"},
		},
		Steps: []task.Step{
			{Title: "Pick a limiter algorithm"},
			{Title: "Middleware with a per-token bucket"},
			{Title: "Config keys and defaults"},
			{
				Title:   "Middleware tests, burst and clock skew",
				Details: "Running go test ./internal/limit/...",
			},
			{Title: "Integration tests against a live server"},
		},
	})).ID
	s.completed = s.played(s.limiter, 190*time.Second, 48200,
		"Steps 1 to 3 are done: token bucket per API token, keys limit.rate and limit.burst, defaults 60 and 20.")
	for i := range 3 {
		done := true
		must(s.svc.UpdateStep(ctx, s.maya, s.limiter, i, task.StepPatch{Done: &done}))
	}
	s.clock.Behind(58 * time.Minute)
	must(s.svc.Comment(ctx, s.maya, s.limiter,
		"Token bucket beats a sliding window here: constant memory per key and a natural burst. "+
			"Use `golang.org/x/time/rate`; evict idle buckets after 10 minutes."))
	s.question = s.create(task.New{Title: "Review retry policy: are 5 attempts acceptable?", Owner: "reviewer", Priority: 8}).ID
	run := s.claim(s.question)
	must(s.svc.Ask(ctx, run.agent, s.question,
		"The retry policy makes **5 attempts within an hour**. Is that acceptable, or should it stop earlier?", false))
	run.end(service.Finished{
		State:   task.State{Status: task.RunCompleted, Phase: task.PhaseEnded},
		Summary: "Asked a person about the number of attempts.", Usage: task.Usage{TokensIn: 9100, TokensOut: 400, ToolCalls: 3},
	})
	must(s.svc.Notify(ctx, task.Actor{Name: "coder", Role: task.RoleAgent}, s.limiter,
		"The limiter counts **per token**. Callers without one share a bucket by address; say so if that is not wanted."))
	s.clock.Behind(41 * time.Minute)
	s.create(task.New{
		Title: "Fix flaky TestQueueClaim under the race detector", Owner: "coder", Priority: 8,
		Steps: []task.Step{{Title: "Reproduce it"}, {Title: "Find the cause"}, {Title: "Fix it"}},
	})
	s.big = s.create(task.New{Title: "Survey libraries for server-sent events", Owner: "researcher", Priority: 2, Status: task.Draft}).ID
	s.failed = s.create(task.New{Title: "Lint pass over internal/web", Owner: "reviewer", Priority: 3}).ID
	s.broken = s.fails(s.failed, "Stopped: the token limit of 200k is reached")
	s.lonely = s.create(task.New{Title: "Security pass over token handling", Owner: "reviewer", Priority: 6, Labels: []string{"security"}}).ID
	s.waits = s.create(task.New{
		Title: "Announce v0.4 to the integrators", Owner: "planner", Priority: 1,
		Labels: []string{"docs", "release", "v0-4"}, BlockedBy: []task.ID{1, s.ship, s.canceled},
	}).ID
	s.create(task.New{Title: "Tag the release", Owner: "coder", Priority: 2, Labels: []string{"release"}, BlockedBy: []task.ID{s.ship}})
	labels := []string{"api", "security"}
	must(s.svc.UpdateTask(ctx, s.maya, s.limiter, task.Patch{Labels: &labels}))
}

// present creates what is happening now.
func (s *sample) present(t testing.TB) {
	s.running = s.ask(s.limiter).ID
	a := s.stage.agent(t, s.limiter)
	a.say("Steps 1 to 3 are done. The middleware tests are next: burst, refill and a clock that jumps.")
	a.say(`{"type":"tool_call","text":"go test ./internal/limit/...","data":{"tool":"bash","id":"1","input":{"command":"go test -race ./internal/limit/..."}}}`)
	a.say(`{"type":"tool_result","text":"ok   example.com/api/internal/limit 1.824s\nok   example.com/api/internal/limit/clock 0.312s","data":{"tool":"bash","id":"1"}}`)
	a.say(`{"type":"tool_call","text":"read limit_test.go","data":{"tool":"read","id":"2","input":{"path":"internal/limit/limit_test.go"}}}`)
	a.say(`{"type":"tool_result","text":"no such file: internal/limit/limit_test.go","data":{"tool":"read","id":"2","error":true}}`)
	a.say("Both packages are green. Now the integration tests, which need a live server: that is the reviewer's work.")
	coder := task.Actor{Name: "coder", Role: task.RoleAgent, RunID: s.running}
	step := 4
	s.approval = must(s.svc.Delegate(ctx, coder, task.Delegation{
		AgentType: "reviewer", StepIndex: &step, Resources: []int{1},
		Task: "Run integration tests for the limiter\n\nStart the server on a random port with limit " +
			"5/min, burst 2. Check, over real HTTP:\n\n1. The burst passes, the next call gets 429\n2. " +
			"`Retry-After` is right to the second\n3. `/healthz` is never limited",
	})).RunID
	s.ask(s.ship)
	s.stage.agent(t, s.ship).say("The limiter is under way. Idempotency keys are next.")
	s.until("the transcript is stored", func() bool {
		return len(must(s.svc.Transcript(ctx, s.maya, s.running, 0, 100))) >= 8
	})
	held := must(s.svc.Run(ctx, s.maya, s.running))
	must(s.svc.AskPermission(ctx, held.ID, held.Lease, task.Permission{
		Tool: "bash", Reason: "The integration tests need the port of the staging server.",
		Input: json.RawMessage(`{"command":"curl -fsS https://staging.example.com/port | tee /tmp/port","description":"Ask for the port\u202e of the server\u200b","timeout":120000}`),
	}))
	for _, item := range []string{
		"Rerun the limiter tests with -race", "Ask the reviewer about the burst of 20",
		"Look at the flaky test:\n  go test -run TestQueueClaim -count 100", "Tidy the branch", "Tidy the branch",
	} {
		must(s.svc.Todo(ctx, coder, "coder", task.TodoRPush, item))
	}
	ok(t, s.svc.RollUp(ctx))
}

// played creates a complete run of a task in the past and returns its ID.
func (s *sample) played(id task.ID, took time.Duration, tokens int, summary string) task.ID {
	s.t.Helper()
	run := s.claim(id)
	run.lines(task.Message{Role: task.SpeakerAssistant, Type: "text", Content: "Reading the task."},
		task.Message{
			Role: task.SpeakerAssistant, Type: "tool_call", Content: "grep -rn limit .",
			Data: json.RawMessage(`{"tool":"grep","id":"1","input":{"pattern":"limit"}}`),
		},
		task.Message{
			Role: task.SpeakerTool, Type: "tool_result", Content: "internal/web/api.go:41: // no limit yet",
			Data: json.RawMessage(`{"tool":"grep","id":"1"}`),
		})
	s.clock.Forward(took)
	run.end(service.Finished{
		State: task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}, Summary: summary, Artifacts: []string{"notes.md"},
		Usage: task.Usage{TokensIn: tokens, TokensOut: tokens / 20, ToolCalls: tokens / 3000, CostUSD: float64(tokens) / 200000},
		Work:  sampleWork(run.start.Run.ID),
	})
	return run.start.Run.ID
}

// fails creates a run with a failure that no retry can fix.
func (s *sample) fails(id task.ID, reason string) task.ID {
	s.t.Helper()
	run := s.claim(id)
	run.lines(task.Message{Role: task.SpeakerAssistant, Type: "text", Content: "Linting 212 files."},
		task.Message{Role: task.SpeakerSystem, Type: "log", Content: "warning: 1,204 findings so far"},
		task.Message{Role: task.SpeakerSystem, Type: "log", Content: "internal/api.go:41:9: unused result of limit\nlimit(r)\n^"},
		task.Message{Role: task.SpeakerAssistant, Type: "text", Content: "I fix the findings one by one."})
	run.end(service.Finished{
		State: task.State{Status: task.RunFailed, Phase: task.PhaseTokens}, Reason: reason,
		Permanent: true, Usage: task.Usage{TokensIn: 198000, TokensOut: 2100, ToolCalls: 44},
	})
	return run.start.Run.ID
}

// pastRun is a run that the test claimed instead of a runner.
type pastRun struct {
	s     *sample
	start *service.Start
	agent task.Actor
}

func (s *sample) claim(id task.ID) *pastRun {
	s.t.Helper()
	if r := s.ask(id); r.Phase == task.PhaseApproval {
		must(s.svc.ApproveRun(ctx, s.maya, r.ID, service.Approve{}))
	}
	start, _, err := s.svc.NextRun(ctx, nil)
	ok(s.t, err)
	ok(s.t, s.svc.RunWorking(ctx, start.Run.ID, start.Run.Lease, 1, "1", "boot"))
	return &pastRun{s, start, must(s.svc.Authenticate(ctx, start.Token, "127.0.0.1"))}
}

func (r *pastRun) lines(list ...task.Message) {
	r.s.t.Helper()
	must(r.s.t, r.s.svc.AppendTranscript(ctx, r.start.Run.ID, r.start.Run.Lease, list))
}

func (r *pastRun) end(f service.Finished) {
	r.s.t.Helper()
	must(r.s.t, r.s.svc.FinishRun(ctx, r.start.Run.ID, r.start.Run.Lease, f))
}
