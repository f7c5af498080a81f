package views

import (
	"cmp"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"taskyard/task"
	"taskyard/views/ui"
)

// SchedulerModel is the page of the clock: ticks, jobs, and what waits.
type SchedulerModel struct {
	Enabled     bool
	Next        task.Time   // the next tick, or 0
	NextTicks   []task.Time // that and some after it
	Window      string      // the window in words, such as "hourly from 6:00 to 21:00"
	Concurrency int         // runs of one tick at a time
	MaxParallel int         // runs in all at a time
	Ticks       []TickRow   // newest first
	Jobs        []JobRow
	InFlight    []task.Run
	Queued      []QueuedRow // pending/queued, in order
	Skipped     []SkipRow   // tasks that the last tick left alone
	Claims      []ClaimRow  // claims, the first to run out first
	Wakes       []WakeRow   // of the last hour
	WakeBudget  int         // wakes a task an hour; 0: nothing is woken
	BackupAt    task.Time   // the newest scheduled backup, or 0
	BackupSize  int64       // its bytes
}

// QueuedRow is a run that has not started.
type QueuedRow struct {
	Run task.Run
	Why string // "": it is next
}

// text says whose run it is, why it was made and why it waits.
func (q *QueuedRow) text() string {
	return q.Run.Agent + ", " + causeText(&q.Run) + ": " + cmp.Or(q.Why, "next to start")
}

// ClaimRow is a claimed task.
type ClaimRow struct {
	Task         task.ID
	Title        string
	Holder       string
	Since, Until task.Time
	Run          task.ID // the run in flight that holds it, or 0
}

// WakeRow is what a task used of its wake budget.
type WakeRow struct {
	Task         task.ID
	Title, Owner string
	Used         int
	Last         task.Time
}

// lateBeat is the age of a heartbeat that deserves a look: three are missing.
const lateBeat = 30 * time.Second

func (m *SchedulerModel) late(r *task.Run, now task.Time) bool {
	return now.Sub(r.HeartbeatAt) > lateBeat
}

// processText describes where a run is executed.
func processText(r *task.Run) string {
	switch {
	case r.Worker != 0:
		return "on a worker"
	case r.PID > 1:
		return "process " + strconv.Itoa(r.PID)
	case r.Phase == task.PhaseStarting:
		return "being started"
	}
	return "without a process"
}

// schedulerLive is a live part that looks by itself, too: heartbeats and the
// quick jobs are told to nobody.
func schedulerLive(c Chrome) templ.Attributes {
	a := Live(c, "sched-now", TopicScheduler, "sched-jobs", "sched-rest", "sched-acts")
	a["hx-trigger"] = "live, every 15s"
	return a
}

// TickRow is one round of the scheduler.
type TickRow struct {
	At      task.Time
	Ended   task.Time // 0: it did not end
	By      string    // who asked for it: "" for the clock
	Queued  int
	Skipped int
}

// result says what a tick did, by color and word; only the newest can be
// under way still.
func (t *TickRow) result(newest bool) (class, words string) {
	switch {
	case t.Ended == 0 && newest:
		return "run", "under way"
	case t.Ended == 0:
		return "bad", "cut off"
	case t.Queued == 0:
		return "", "nothing to queue"
	}
	return "ok", strconv.Itoa(t.Queued) + " queued"
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

// noWakes says what wakes tasks, where none was woken.
func noWakes(budget int) string {
	return "None. Answers, comments and closed subtasks wake a task's owner, at most " +
		ui.Count(budget, "time", "times") + " per task, per hour."
}
