package db_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbfill"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// TestCountsAndOutlinesAgreeWithFullRows compares counts from indexes and outlines with
// the full rows of a one-year-old instance.
func TestCountsAndOutlinesAgreeWithFullRows(t *testing.T) {
	dbtest.SQLiteOnly(t)
	path := filepath.Join(t.TempDir(), "taskyard.db")
	ok(t, dbtest.Open(t, path).Close())
	_, err := dbfill.Year(t.Context(), path, dbfill.Size{
		Open: 1500, Archived: 1000, Approvals: 150, Subtasks: 200,
		Comments: 10, Lines: 10,
	}, []string{"coder", "planner", "tester"}, time.Now())
	ok(t, err)
	for _, q := range []string{ // tasks that wait for several reasons
		"UPDATE tasks SET question_id = 1 WHERE run_id IS NOT NULL AND archived_at IS NULL AND id % 3 = 0",
		"UPDATE tasks SET blockers_canceled = 1 WHERE (run_id IS NOT NULL OR question_id IS NOT NULL) AND archived_at IS NULL AND id % 4 = 0",
		"UPDATE tasks SET blockers_canceled = 1 WHERE archived_at IS NULL AND id % 97 = 0",
	} {
		_, err := raw(t, path).ExecContext(t.Context(), q)
		ok(t, err)
	}
	d := dbtest.Open(t, path)
	ok(t, d.Read(context.Background(), func(rx *db.Rx) error {
		loads, err := rx.Loads()
		ok(t, err)
		want := map[string]db.AgentLoad{}
		for after := ""; ; {
			list, next, err := rx.OpenTasks(task.TaskFilter{Limit: 500, After: after}, false)
			ok(t, err)
			outlines, _, err := rx.Outlines(task.TaskFilter{Limit: 500, After: after})
			ok(t, err)
			for i, tk := range list {
				want[tk.Owner] = with(want[tk.Owner], tk)
				o := outlines[i]
				if o.ID != tk.ID || o.Status != tk.Status || o.WorkStatus != tk.WorkStatus || o.WaitingFor != tk.WaitingFor ||
					o.Failures != tk.Failures || o.OpenRunID != tk.OpenRunID || o.OpenRunPhase != tk.OpenRunPhase ||
					o.BlockersCanceled != tk.BlockersCanceled {
					t.Fatalf("got outline %+v of task %+v", o, tk)
				}
			}
			if after = next; after == "" {
				break
			}
		}
		equal(t, "owners", len(loads), len(want))
		for owner, l := range want {
			equal(t, "load of "+owner, loads[owner], l)
			if l.Waiting == 0 || l.Working == 0 || l.Failed == 0 || l.Drafts == 0 {
				t.Errorf("%s has too few tasks to compare: %+v", owner, l)
			}
		}
		return nil
	}))
}

// with returns l with one more task.
func with(l db.AgentLoad, tk *task.Task) db.AgentLoad {
	switch {
	case tk.Status == task.Draft:
		l.Drafts++
		return l
	case tk.WorkStatus == task.Working:
		l.Working++
	default:
		l.Queued++
		if l.OldestAt == 0 || tk.CreatedAt < l.OldestAt {
			l.OldestAt = tk.CreatedAt
		}
	}
	if tk.WaitingFor == task.WaitsUser || tk.WaitingFor == task.WaitsApproval || tk.BlockersCanceled > 0 {
		l.Waiting++
	}
	if tk.Failures > 0 && tk.OpenRunID == 0 {
		l.Failed++
	}
	return l
}
