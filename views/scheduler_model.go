package views

import (
	"time"

	"taskyard/task"
)

// SchedulerModel is the page of the clock: ticks, jobs, and what waits.
type SchedulerModel struct {
	Enabled     bool
	Next        task.Time // the next tick, or 0
	Window      string    // the window in words, such as "hourly from 6:00 to 21:00"
	Concurrency int       // runs of one tick at a time
	MaxParallel int       // runs in all at a time
	Ticks       []TickRow // newest first
	Jobs        []JobRow
	InFlight    []task.Run
	Queued      []task.Run        // pending/queued, in order
	Skipped     []SkipRow         // tasks that the last tick left alone
	Unmanned    map[string]string // by agent, why no worker carries out its runs
}

// unmanned tells, a sentence for each agent that has queued runs, why no
// worker takes them.
func (m *SchedulerModel) unmanned() (list []string) {
	told := map[string]bool{}
	for _, r := range m.Queued {
		if why := m.Unmanned[r.Agent]; why != "" && !told[r.Agent] {
			told[r.Agent] = true
			list = append(list, "Runs of "+r.Agent+" wait: "+why+".")
		}
	}
	return list
}

// TickRow is one round of the scheduler.
type TickRow struct {
	At      task.Time
	By      string // who asked for it: "" for the clock
	Queued  int
	Skipped int
}

// JobRow is one job of the clock.
type JobRow struct {
	Name     string
	About    string // what it does, in a few words
	Schedule string
	LastRun  task.Time // 0: not since the start
	Took     time.Duration
	Error    string // of the last run, or ""
	Next     task.Time
	Running  bool
}

// SkipRow is a task that a tick skipped, with its receipt.
type SkipRow struct {
	Task   task.Task
	Reason string // in a word or two; rows are gathered by it
	Detail string // what exactly
}

// skipGroup is the tasks skipped for one reason.
type skipGroup struct {
	Reason string
	Rows   []SkipRow
}

// skipGroups gathers skipped tasks by reason, in the order of first sight.
func skipGroups(rows []SkipRow) []skipGroup {
	at := map[string]int{}
	var list []skipGroup
	for _, r := range rows {
		i, ok := at[r.Reason]
		if !ok {
			i = len(list)
			at[r.Reason] = i
			list = append(list, skipGroup{Reason: r.Reason})
		}
		list[i].Rows = append(list[i].Rows, r)
	}
	return list
}
