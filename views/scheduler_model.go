package views

import (
	"cmp"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"taskyard/task"
	"taskyard/views/ui"
)

// SchedulerModel is the page of the scheduler: ticks, jobs, and what waits.
type SchedulerModel struct {
	Enabled     bool
	Next        task.Time   // the next tick, or 0
	NextTicks   []task.Time // the next tick and some after it
	Window      string      // the schedule in words, such as "hourly from 6:00 to 21:00"
	Concurrency int         // parallel runs of one tick
	MaxParallel int         // parallel runs in total
	Ticks       []TickRow   // newest first
	Jobs        []JobRow
	InFlight    []task.Run
	Queued      []QueuedRow // pending/queued, in order
	Skipped     []SkipRow   // tasks that the last tick skipped
	Claims      []ClaimRow  // claims, the first to expire first
	Wakes       []WakeRow   // of the last hour
	WakeBudget  int         // wakes per task and hour; 0: none
	BackupAt    task.Time   // the newest scheduled backup, or 0
	BackupSize  int64       // its size in bytes; 0 if it is on another server
}

// QueuedRow is a run that has not started.
type QueuedRow struct {
	Run    task.Run
	Reason string // why it waits; "": it is next
}

// text describes a queued run: its agent, why it was created and why it waits.
func (q *QueuedRow) text() string {
	return q.Run.Agent + ", " + causeText(&q.Run) + ": " + cmp.Or(q.Reason, "next to start")
}

// ClaimRow is a claimed task.
type ClaimRow struct {
	Task         task.ID
	Title        string
	Holder       string
	Since, Until task.Time
	Run          task.ID // the active run that holds it, or 0
}

// WakeRow is the used part of a task's wake budget.
type WakeRow struct {
	Task         task.ID
	Title, Owner string
	Used         int
	Last         task.Time
}

// lateHeartbeat is the age of a heartbeat that needs attention: three are missing.
const lateHeartbeat = 30 * time.Second

func (m *SchedulerModel) late(r *task.Run, now task.Time) bool {
	return now.Sub(r.HeartbeatAt) > lateHeartbeat
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

// schedulerLive returns the attributes of a live part that also polls, because
// heartbeats and frequent jobs publish no changes.
func schedulerLive(c Chrome) templ.Attributes {
	a := Live(c, "sched-now", TopicScheduler, "sched-jobs", "sched-rest", "sched-acts")
	a["hx-trigger"] = "live, every 15s"
	return a
}

// TickRow is one round of the scheduler.
type TickRow struct {
	At      task.Time
	Ended   task.Time // 0: it has not ended
	By      string    // who requested it: "": the schedule
	Queued  int
	Skipped int
}

// result returns the result of a tick, by color and word; only the newest can
// still be running.
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

// JobRow is one background job.
type JobRow struct {
	Name     string
	About    string // short description
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
	Reason string // a word or two, by which rows are grouped
	Detail string // details
}

// skipGroup contains the tasks skipped for one reason.
type skipGroup struct {
	Reason string
	Rows   []SkipRow
}

// skipGroups groups skipped tasks by reason, in order of first occurrence.
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

// noWakes explains an empty list of wakes.
func noWakes(budget int) string {
	return "None. Answers, comments and closed subtasks wake a task's owner, at most " +
		ui.Count(budget, "time", "times") + " per task, per hour."
}
