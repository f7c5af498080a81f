package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// reportUsage makes a run report tokens and dollars.
func (inst *instance) reportUsage(st *Start, tokens int, cost float64) {
	inst.t.Helper()
	ok(inst.t, inst.s.AppendTranscript(inst.ctx(), st.Run.ID, st.Run.Lease, []task.Message{
		{Type: "tool_call", Content: "x"},
		{Type: "usage", Data: fmt.Appendf(nil, `{"tokensIn":%d,"costUsd":%g}`, tokens, cost)},
	}))
}

func (inst *instance) usage(by string) task.UsageReport {
	inst.t.Helper()
	return must(inst.s.Usage(inst.ctx(), vera, by, 0, 0))
}

func TestARunningRunShowsItsUsage(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	st := inst.startNewRun("coder")
	inst.reportUsage(st, 100, 0.5)
	inst.reportUsage(st, 20, 0.25)
	equal(t, "use", inst.run(st.Run.ID).Usage, task.Usage{ToolCalls: 2, TokensIn: 120, CostUSD: 0.75})
	t.Run("the runner's final report counts, and the day counts it once", func(t *testing.T) {
		f := completed("done")
		f.Usage = task.Usage{ToolCalls: 2, TokensIn: 130, TokensOut: 10, CostUSD: 0.75}
		inst.finish(st, f)
		equal(t, "use", inst.run(st.Run.ID).Usage, f.Usage)
		equal(t, "total", inst.usage("day").Total,
			task.UsageRow{Key: "total", Runs: 1, ToolCalls: 2, TokensIn: 130, TokensOut: 10, CostUSD: 0.75})
	})
	t.Run("an interrupted run keeps its usage", func(t *testing.T) {
		st := inst.startNewRun("coder")
		inst.reportUsage(st, 7, 0)
		must(inst.s.CancelRun(inst.ctx(), maya, st.Run.ID, ""))
		equal(t, "use", inst.run(st.Run.ID).Usage.TokensIn, 7)
	})
	t.Run("an estimate is marked, and replaced by the runner's final report", func(t *testing.T) {
		st := inst.startNewRun("coder")
		ok(t, inst.s.AppendTranscript(inst.ctx(), st.Run.ID, st.Run.Lease,
			[]task.Message{{Type: "usage", Data: []byte(`{"tokensIn":999,"estimated":true}`)}}))
		equal(t, "estimated", inst.run(st.Run.ID).Usage.Estimated, true)
		f := completed("done")
		f.Usage = task.Usage{TokensIn: 500}
		inst.finish(st, f)
		equal(t, "use", inst.run(st.Run.ID).Usage, f.Usage)
	})
	t.Run("invalid reports of a program add nothing", func(t *testing.T) {
		st := inst.startNewRun("coder")
		ok(t, inst.s.AppendTranscript(inst.ctx(), st.Run.ID, st.Run.Lease,
			[]task.Message{{Type: "usage", Data: []byte(`{"tokensIn":-5,"costUsd":-1}`)}, {Type: "usage", Data: []byte(`"x"`)}}))
		equal(t, "use", inst.run(st.Run.ID).Usage, task.Usage{})
	})
}

func TestARunOverItsLimitEndsAndReportsItsUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, line, state, reason string
		tokens                    int
		cost                      float64
	}{
		{"tokens", "max_tokens: 100", "failed/tokens", "It used 101 tokens of at most 100", 101, 0},
		{"cost", "max_cost_usd: 1", "failed/cost", "It cost 1.5000 USD of at most 1.0000", 1, 1.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inst := newInstance(t)
			inst.define("coder", definition("tools: read", "runner: script", tt.line))
			st := inst.startNewRun("coder")
			stopped := make(chan error, 1)
			inst.s.RegisterStop(st.Run.ID, func(cause error) { stopped <- cause })
			inst.reportUsage(st, tt.tokens, tt.cost)
			r := inst.run(st.Run.ID)
			equal(t, "state", r.State().String(), tt.state)
			equal(t, "reason", r.Reason, tt.reason)
			equal(t, "use", r.Usage.TokensIn, tt.tokens)
			equal(t, "program stopped for", <-stopped, ErrStopCanceled)
			inst.wantNoRun(t, r.TaskID)
		})
	}
	t.Run("delegated runs count", func(t *testing.T) {
		inst := delegating(t)
		_, st, own := inst.inRun("boss") // 1000 tokens
		inst.delegate(own, task.Delegation{})
		child := inst.start()
		f := completed("done")
		f.Usage = task.Usage{TokensIn: 600}
		inst.finish(child, f)
		inst.reportUsage(st, 500, 0)
		r := inst.run(st.Run.ID)
		equal(t, "state", r.State().String(), "failed/tokens")
		equal(t, "reason", r.Reason, "It used 1100 tokens of at most 1000, what it delegated included")
	})
}

func TestADailyBudgetStopsItsAgent(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes)
	inst.define("coder", definition("tools: read", "runner: script", "max_parallel: 2", "max_cost_usd_per_day: 5"))
	st, beside := inst.startNewRun("coder"), inst.startNewRun("coder")
	other := inst.startNewRun("reviewer")
	inst.reportUsage(st, 10, 4.99)
	equal(t, "under the budget", inst.run(st.Run.ID).Status, task.RunRunning)
	inst.reportUsage(st, 10, 0.03)
	const words = "budget of coder for today is used up: $5.02 of $5.00, until 00:00 UTC"
	t.Run("its runs end and state the exceeded budget", func(t *testing.T) {
		for _, id := range []task.ID{st.Run.ID, beside.Run.ID} {
			equal(t, "state", inst.run(id).State().String(), "failed/cost")
			equal(t, "reason", inst.run(id).Reason, "The "+words)
		}
		equal(t, "another agent's", inst.run(other.Run.ID).Status, task.RunRunning)
	})
	t.Run("no run of it starts, and queued runs stay queued", func(t *testing.T) {
		inst.Forward(2 * time.Hour)
		inst.nothingStarts()
		equal(t, "retry", inst.openRun(st.Run.TaskID).State().String(), "pending/queued")
		_, later, err := inst.s.NextRun(inst.ctx(), nil)
		ok(t, err)
		equal(t, "next check", later.String(), "2026-03-03T00:00:00.000Z")
	})
	t.Run("the reason is shown", func(t *testing.T) {
		why := must(inst.s.Why(inst.ctx(), maya, st.Run.TaskID))
		equal(t, "code", why[0].Code, task.WhyBudget)
		equal(t, "message", why[0].Message, "The "+strings.Replace(words, "until 00:00", "until 2026-03-03 00:00", 1)+".")
	})
	t.Run("a tick leaves a receipt", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart)
		must(inst.s.Tick(inst.ctx(), "cron"))
		sched := must(inst.s.Scheduler(inst.ctx(), maya))
		found := false
		for _, sk := range sched.Skips {
			found = found || sk.TaskID == tk.ID && sk.Reason == "budget" && sk.Detail == words
		}
		equal(t, "receipt", found, true)
	})
	t.Run("one notice per day", func(t *testing.T) {
		b := inst.inbox()
		equal(t, "notices", b.Totals.Notices, 1)
		equal(t, "text", strings.Contains(b.Notices[0].Text, words), true)
	})
	t.Run("the next day it continues", func(t *testing.T) {
		inst.Forward(24 * time.Hour)
		inst.start()
	})
	inst.checkChain()
}

func TestTheInstanceHasABudget(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, func(c *Config) { c.Budget = task.Budget{MaxTokens: 100} })
	st, other := inst.startNewRun("coder"), inst.startNewRun("reviewer")
	f := completed("done")
	f.Usage = task.Usage{TokensIn: 90, TokensOut: 10}
	inst.finish(st, f)
	equal(t, "the run that used the budget", inst.run(st.Run.ID).Status, task.RunCompleted)
	r := inst.run(other.Run.ID)
	equal(t, "another running run", r.State().String(), "failed/tokens")
	equal(t, "reason", r.Reason, "The budget of the server for today is used up: 100 of 100 tokens, until 00:00 UTC")
	inst.Forward(time.Hour)
	inst.nothingStarts()
	equal(t, "notices", inst.inbox().Totals.Notices, 1)
}

func TestUsageReports(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, func(c *Config) { c.Budget = task.Budget{MaxTokens: 1000} })
	a, b := inst.startNewRun("coder"), inst.startNewRun("reviewer")
	inst.reportUsage(a, 10, 1)
	inst.reportUsage(b, 20, 2)
	inst.finish(a, completed("done"))
	for by, want := range map[string]string{
		"day": "2026-03-02:30", "agent": "reviewer:20 coder:10", "model": ":30",
		"task": a.Run.TaskID.String() + ":10", "run": a.Run.ID.String() + ":10",
	} {
		t.Run("by "+by, func(t *testing.T) {
			var got []string
			for _, r := range inst.usage(by).Rows {
				got = append(got, fmt.Sprintf("%s:%d", r.Key, r.TokensIn))
			}
			equal(t, "rows", strings.Join(got, " "), want)
		})
	}
	t.Run("with the budgets", func(t *testing.T) {
		list := inst.usage("").Budgets
		equal(t, "budgets", len(list), 1)
		equal(t, "used", list[0].Tokens, 30)
	})
	t.Run("invalid queries are refused", func(t *testing.T) {
		_, err := inst.s.Usage(inst.ctx(), vera, "moon", 0, 0)
		refused(t, err, task.CodeInvalidField, "by")
		_, err = inst.s.Usage(inst.ctx(), vera, "day", 5, 4)
		refused(t, err, task.CodeInvalidField, "from")
		_, err = inst.s.Usage(inst.ctx(), vera, "day", 1, inst.s.Now())
		refused(t, err, task.CodeInvalidField, "366 days")
	})
}
