package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// countedRuns is how many runs are asked how long they took.
const countedRuns = 20_000

func readDepths(rx *db.Rx) (map[string]task.Depth, error) {
	loads, err := rx.Loads()
	depths := make(map[string]task.Depth, len(loads))
	for agent, l := range loads {
		depths[agent] = toDepth(l)
	}
	return depths, err
}

func toDepth(l db.AgentLoad) task.Depth {
	return task.Depth{Queued: l.Queued, Working: l.Working, Waiting: l.Waiting}
}

// Insights returns what happened until now: tasks, runs, what they took and
// used, and how long the queues were. It goes back 400 days at most. Error:
// may not read.
func (s *Service) Insights(ctx context.Context, a task.Actor, f task.InsightFilter) (out task.Insights, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return out, err
	}
	o, err := s.Overview(ctx, a)
	if err != nil {
		return out, err
	}
	now := s.Now()
	f.From = min(max(f.From, now.Add(-maxStatDays*24*time.Hour)), now)
	starts := insightStarts(f, now)
	in := &insights{out: task.Insights{From: starts[0], Daily: f.Daily}, starts: starts}
	for _, at := range starts[:len(starts)-1] {
		in.out.Times = append(in.out.Times, task.InsightTime{StatRow: task.StatRow{Hour: at}})
	}
	rows := task.StatFilter{From: starts[0], To: now + 1, Agent: f.Agent, Project: f.Project}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error { return in.read(rx, rows) })
	if f.Project == "" { // the hour that is under way is not measured to its end: what is now counts
		in.measured(now, currentDepth(o, f.Agent))
	}
	return in.out, err
}

func currentDepth(o Overview, agent string) (d task.Depth) {
	for id, l := range o.Loads {
		if agent == "" || agent == id {
			d.Add(toDepth(l))
		}
	}
	return d
}

// insightStarts divides the time until now into hours (UTC: every zone's begin
// with one, or half an hour later) or into days of the zone.
func insightStarts(f task.InsightFilter, now task.Time) (starts []task.Time) {
	if f.Daily {
		starts, _ = task.Calendar(f.From, now+1, f.Zone, maxStatDays+2)
		return starts
	}
	for at := f.From - f.From%task.Hour; at <= now; at += task.Hour {
		starts = append(starts, at)
	}
	return append(starts, starts[len(starts)-1]+task.Hour)
}

// insights gathers what was read.
type insights struct {
	out    task.Insights
	starts []task.Time
}

func (in *insights) read(rx *db.Rx, f task.StatFilter) error {
	hours, err := rx.StatHours(f)
	if err != nil {
		return err
	}
	for i := range hours {
		if n := task.CalendarIndex(in.starts, hours[i].Hour); n >= 0 {
			in.out.Times[n].Add(&hours[i])
			in.out.Total.Add(&hours[i])
		}
	}
	groups, err := rx.StatGroups(f)
	if err != nil {
		return err
	}
	in.group(groups)
	if f.Project == "" { // queues are measured by agent
		depths, err := rx.Depths(f.Agent, f.From, f.To)
		if err != nil {
			return err
		}
		for at, d := range depths {
			in.measured(at, d)
		}
	}
	tooks, err := rx.RunDurations(f, countedRuns)
	in.out.Cut = len(tooks) == countedRuns
	in.spans(tooks)
	return err
}

// group sums by agent, by model and by project. What cost most comes first.
func (in *insights) group(rows []task.StatRow) {
	agents, models, projects := map[string]*task.StatRow{}, map[string]*task.StatRow{}, map[string]*task.StatRow{}
	add := func(to map[string]*task.StatRow, key string, r *task.StatRow) {
		if to[key] == nil {
			to[key] = &task.StatRow{}
		}
		to[key].Add(r)
	}
	for i := range rows {
		r := &rows[i]
		add(agents, r.Agent, r)
		add(projects, r.Project, r)
		if r.Runs() > 0 {
			add(models, r.Model, r)
		}
	}
	for id, r := range agents {
		r.Agent = id
		in.out.Agents = append(in.out.Agents, task.InsightGroup{StatRow: *r})
	}
	for name, r := range models {
		r.Model = name
		in.out.Models = append(in.out.Models, *r)
	}
	if projects[""] == nil || len(projects) > 1 {
		for key, r := range projects {
			r.Project = key
			in.out.Projects = append(in.out.Projects, *r)
		}
	}
	slices.SortFunc(in.out.Agents, func(a, b task.InsightGroup) int { return byUse(&a.StatRow, &b.StatRow) })
	for _, list := range [][]task.StatRow{in.out.Models, in.out.Projects} {
		slices.SortFunc(list, func(a, b task.StatRow) int { return byUse(&a, &b) })
	}
}

func byUse(a, b *task.StatRow) int {
	return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.TokensIn+b.TokensOut, a.TokensIn+a.TokensOut),
		cmp.Compare(b.Runs()+b.Created, a.Runs()+a.Created), cmp.Compare(a.Agent+a.Model+a.Project, b.Agent+b.Model+b.Project))
}

// measured records the length of a queue at a moment: of a day, the longest.
func (in *insights) measured(at task.Time, d task.Depth) {
	i := task.CalendarIndex(in.starts, at)
	if i < 0 {
		return
	}
	before := in.out.Times[i].Depth
	if before == nil || !in.out.Daily || d.Queued+d.Working > before.Queued+before.Working {
		in.out.Times[i].Depth = &d
	}
}

func (in *insights) spans(list []db.RunDuration) {
	all, times, agents := make([]int64, 0, len(list)), make([][]int64, len(in.out.Times)), map[string][]int64{}
	for _, t := range list {
		all = append(all, t.Millis)
		agents[t.Agent] = append(agents[t.Agent], t.Millis)
		if i := task.CalendarIndex(in.starts, t.Ended); i >= 0 {
			times[i] = append(times[i], t.Millis)
		}
	}
	in.out.Total.RunSpans = percentileSpans(all)
	for i := range times {
		in.out.Times[i].RunSpans = percentileSpans(times[i])
	}
	for i := range in.out.Agents {
		in.out.Agents[i].RunSpans = percentileSpans(agents[in.out.Agents[i].Agent])
	}
}

// percentileSpans returns the percentiles of a list by the nearest rank.
func percentileSpans(list []int64) (s task.RunSpans) {
	n := len(list)
	if n == 0 {
		return s
	}
	slices.Sort(list)
	s.P50Ms, s.P95Ms = list[(n*50+99)/100-1], list[(n*95+99)/100-1]
	return s
}
