package service

import (
	"testing"
	"time"

	"taskyard/task"
)

func TestHistoryIsCountedByDay(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, noApprove)
	inst.Forward(14 * time.Hour) // 23:00 UTC, the next day in Berlin
	tk := inst.create(maya, "coder", noStart)
	must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "", 0))
	gone := inst.create(maya, "planner", noStart)
	must(inst.s.CancelTask(inst.ctx(), maya, gone.ID, ""))
	inst.Forward(24 * time.Hour)
	bad := inst.create(maya, "coder", noStart)
	inst.finish(inst.runTask(bad.ID), failure(task.PhaseError))
	count := func(f task.HistoryFilter, zone *time.Location) map[string]task.HistoryTime {
		t.Helper()
		m := map[string]task.HistoryTime{}
		out := must(inst.s.HistoryTimes(inst.ctx(), vera, f, zone))
		for _, at := range out.Times {
			if at.Done+at.Canceled+at.Failed > 0 {
				day := at.Start.Std().In(zone).Format("02.01.")
				at.Start = 0
				m[day] = at
			}
		}
		return m
	}
	t.Run("in the caller's zone", func(t *testing.T) {
		got := count(task.HistoryFilter{}, time.UTC)
		equal(t, "first day", got["02.03."], task.HistoryTime{Done: 1, Canceled: 1})
		equal(t, "second day", got["03.03."], task.HistoryTime{Failed: 1})
		east := time.FixedZone("east", 3600)
		equal(t, "first day in the east", count(task.HistoryFilter{}, east)["03.03."], task.HistoryTime{Done: 1, Canceled: 1})
	})
	t.Run("of an owner, an outcome, a creator", func(t *testing.T) {
		equal(t, "planner", count(task.HistoryFilter{Owner: "planner"}, time.UTC)["02.03."], task.HistoryTime{Canceled: 1})
		got := count(task.HistoryFilter{Status: task.Done}, time.UTC)
		equal(t, "done", got["02.03."], task.HistoryTime{Done: 1})
		equal(t, "days", len(got), 1)
		equal(t, "by maya", count(task.HistoryFilter{CreatedBy: "user:maya"}, time.UTC)["02.03."], task.HistoryTime{Done: 1, Canceled: 1})
	})
	t.Run("for 30 days, the requested range, or more days around a single one", func(t *testing.T) {
		day := func(n int) task.Time { return task.TimeFromStd(time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC)) }
		for want, f := range map[int]task.HistoryFilter{
			30: {}, 60: {From: day(2)},
			61: {From: day(1), To: day(300)}, 20: {From: day(1), To: day(21)},
		} {
			out := must(inst.s.HistoryTimes(inst.ctx(), vera, f, time.UTC))
			if f.From != 0 && f.To == 0 || f.To == day(300) {
				want = len(out.Times) // until today
				equal(t, "end", out.End, task.TimeFromStd(time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)))
			}
			equal(t, "days", len(out.Times), want)
			equal(t, "unit", out.Unit, task.UnitDay)
		}
		out := must(inst.s.HistoryTimes(inst.ctx(), vera, task.HistoryFilter{From: day(10), To: day(11)}, time.UTC))
		equal(t, "days", len(out.Times), 30)
		equal(t, "end", out.End, day(18))
	})
}

// TestInsightsSeparateProjects counts tasks, runs, questions and usage of two projects
// and of tasks without a project, incrementally and recounted.
func TestInsightsSeparateProjects(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, noApprove, func(c *Config) { c.Repositories = listedGit{} })
	start := inst.s.Now()
	for _, key := range []string{"web", "api"} {
		must(inst.s.CreateProject(inst.ctx(), maya, task.Project{Key: key, Repository: "/srv/" + key}))
	}
	for i, project := range []string{"web", "web", "api", ""} {
		tk := inst.create(maya, "coder", noStart, func(in *task.New) { in.Project = project })
		st := inst.runTask(tk.ID)
		inst.Forward(time.Duration(i+1) * time.Minute)
		f := completed("")
		f.Usage = task.Usage{TokensIn: 100, CostUSD: float64(i + 1)}
		inst.finish(st, f)
		if project == "api" {
			must(inst.s.Ask(inst.ctx(), coder, tk.ID, "?", false))
			continue
		}
		must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "done", 0))
	}
	for _, when := range []string{"as they happen", "summed again"} {
		in := must(inst.s.Insights(inst.ctx(), vera, task.InsightFilter{From: start}))
		equal(t, when+": projects", len(in.Projects), 3)
		for i, want := range []task.StatRow{
			{Created: 1, Done: 1, RunsCompleted: 1, Millis: 240_000, TokensIn: 100, CostUSD: 4},
			{Project: "web", Created: 2, Done: 2, RunsCompleted: 2, Millis: 180_000, TokensIn: 200, CostUSD: 3},
			{Project: "api", Created: 1, Asked: 1, RunsCompleted: 1, Millis: 180_000, TokensIn: 100, CostUSD: 3},
		} {
			equal(t, when+": "+want.Project, in.Projects[i], want)
		}
		web := must(inst.s.Insights(inst.ctx(), vera, task.InsightFilter{From: start, Project: "web"}))
		equal(t, when+": of web", web.Total.StatRow,
			task.StatRow{Created: 2, Done: 2, RunsCompleted: 2, Millis: 180_000, TokensIn: 200, CostUSD: 3})
		equal(t, when+": median of web", web.Total.P50Ms, int64(60_000))
		equal(t, when+": p95 of web", web.Total.P95Ms, int64(120_000))
		equal(t, when+": the queue of web", web.Times[0].Depth == nil, true)
		ok(t, inst.s.RollUp(inst.ctx()))
	}
	use := must(inst.s.Usage(inst.ctx(), vera, "project", 0, 0))
	for i, want := range []task.UsageRow{
		{Runs: 1, TokensIn: 100, CostUSD: 4},
		{Key: "web", Runs: 2, TokensIn: 200, CostUSD: 3},
		{Key: "api", Runs: 1, TokensIn: 100, CostUSD: 3},
	} {
		equal(t, "used: "+want.Key, use.Rows[i], want)
	}
}

func TestInsights(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, noApprove)
	start := inst.s.Now()
	for i := range 20 { // of 10, 20 … 200 seconds
		tk := inst.create(maya, "coder", noStart)
		st := inst.runTask(tk.ID)
		inst.Forward(time.Duration(i+1) * 10 * time.Second)
		f := completed("")
		f.Usage = task.Usage{TokensIn: 100, TokensOut: 10, CostUSD: .5, Estimated: i == 3}
		inst.finish(st, f)
		must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "", 0))
	}
	waits := inst.create(maya, "planner", noStart)
	must(inst.s.Ask(inst.ctx(), planner, waits.ID, "?", false))
	ok(t, inst.s.RollUp(inst.ctx()))
	inst.Forward(3 * time.Hour)
	inst.create(maya, "planner", noStart)
	get := func(f task.InsightFilter) task.Insights {
		t.Helper()
		return must(inst.s.Insights(inst.ctx(), vera, f))
	}
	t.Run("by hour, including empty hours", func(t *testing.T) {
		in := get(task.InsightFilter{From: start})
		equal(t, "hours", len(in.Times), 4)
		equal(t, "created", in.Times[0].Created, 21)
		equal(t, "done", in.Times[0].Done, 20)
		equal(t, "runs", in.Total.RunsCompleted, 20)
		equal(t, "tokens", in.Total.TokensIn, 2000)
		equal(t, "cost", in.Total.CostUSD, 10.0)
		equal(t, "estimated", in.Total.Estimated, true)
		equal(t, "median", in.Total.P50Ms, int64(100_000))
		equal(t, "p95", in.Total.P95Ms, int64(190_000))
		equal(t, "p95 of the hour", in.Times[0].P95Ms, int64(190_000))
		equal(t, "an hour without runs", in.Times[1].RunSpans, task.RunSpans{})
	})
	t.Run("queues as measured, and their current state", func(t *testing.T) {
		in := get(task.InsightFilter{From: start})
		equal(t, "then", *in.Times[0].Depth, task.Depth{Queued: 1, Waiting: 1})
		equal(t, "unmeasured", in.Times[1].Depth == nil, true)
		equal(t, "now", *in.Times[3].Depth, task.Depth{Queued: 2, Waiting: 1})
		equal(t, "the longest of a day", get(task.InsightFilter{From: start, Daily: true}).Times[0].Depth.Queued, 2)
	})
	t.Run("of one agent", func(t *testing.T) {
		in := get(task.InsightFilter{From: start, Agent: "planner"})
		equal(t, "created", in.Total.Created, 2)
		equal(t, "runs", in.Total.Runs(), 0)
		equal(t, "queue", in.Times[0].Depth.Queued, 1)
		in = get(task.InsightFilter{From: start, Agent: "coder"})
		equal(t, "an empty queue is measured too", *in.Times[0].Depth, task.Depth{})
		equal(t, "now", *in.Times[3].Depth, task.Depth{})
	})
	t.Run("by agent and model, the costliest first", func(t *testing.T) {
		in := get(task.InsightFilter{From: start})
		equal(t, "agents", len(in.Agents), 2)
		equal(t, "first", in.Agents[0].Agent, "coder")
		equal(t, "took", in.Agents[0].P50Ms, int64(100_000))
		equal(t, "models", len(in.Models), 1)
		equal(t, "runs", in.Models[0].RunsCompleted, 20)
	})
	t.Run("within 400 days, for callers who may read", func(t *testing.T) {
		equal(t, "hours", len(get(task.InsightFilter{From: -1 << 60}).Times), maxStatDays*24+1)
		equal(t, "from the future", len(get(task.InsightFilter{From: 1 << 60, Daily: true}).Times), 1)
		_, err := inst.s.Insights(inst.ctx(), task.Actor{}, task.InsightFilter{})
		refused(t, err, task.CodeUnauthorized)
	})
	t.Run("old depths are dropped", func(t *testing.T) {
		inst.Forward((maxStatDays - 1) * 24 * time.Hour)
		ok(t, inst.s.Sweep(inst.ctx()))
		in := get(task.InsightFilter{From: -1 << 60})
		measured := 0
		for _, at := range in.Times {
			if at.Depth != nil {
				measured++
			}
		}
		equal(t, "kept", measured, 2)
		inst.Forward(3 * 24 * time.Hour)
		ok(t, inst.s.Sweep(inst.ctx()))
	})
}
