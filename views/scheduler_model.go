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
	task.SchedulerState
	Enabled     bool
	Next        task.Time   // the next tick, or 0
	NextTicks   []task.Time // the next tick and some after it
	Window      string      // the schedule in words, such as "hourly from 6:00 to 21:00"
	Concurrency int         // parallel runs of one tick
	MaxParallel int         // parallel runs in total
	Jobs        []task.JobInfo
	BackupAt    task.Time // the newest scheduled backup, or 0
	BackupSize  int64     // its size in bytes; 0 if it is on another server
}

// queuedText describes a queued run: its agent, why it was created and why it
// waits.
func (m *SchedulerModel) queuedText(r *task.Run) string {
	return r.Agent + ", " + causeText(r) + ": " + cmp.Or(m.Why[r.ID], "next to start")
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

// tickResult returns the result of a tick, by color and word; only the newest
// can still be running.
func tickResult(t *task.Tick, newest bool) (class, words string) {
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

// skipGroup contains the tasks skipped for one reason.
type skipGroup struct {
	Reason string
	Tasks  []task.SkippedTask
}

// skipGroups groups skipped tasks by reason, in order of first occurrence.
func skipGroups(skips []task.SkippedTask) []skipGroup {
	at := map[string]int{}
	var list []skipGroup
	for _, r := range skips {
		i, ok := at[r.Reason]
		if !ok {
			i = len(list)
			at[r.Reason] = i
			list = append(list, skipGroup{Reason: r.Reason})
		}
		list[i].Tasks = append(list[i].Tasks, r)
	}
	return list
}

// noWakes explains an empty list of wakes.
func noWakes(budget int) string {
	return "None. Answers, comments and closed subtasks wake a task's owner, at most " +
		ui.Count(budget, "time", "times") + " per task, per hour."
}
