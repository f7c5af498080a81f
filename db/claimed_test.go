package db_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// TestClaimedTasksAreListedInQueueOrder pages through few and through many
// claimed tasks, which are read in two different ways.
func TestClaimedTasksAreListedInQueueOrder(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	type place struct {
		priority int
		id       task.ID
	}
	want := map[string][]place{}
	write(t, d, func(tx *db.Tx) error {
		clear(want)
		for i := range 9000 {
			tk := &task.Task{Title: "t", Owner: "many", CreatedBy: "user:maya", Status: task.Active, Channel: "web", Priority: i * 7 % 11}
			if i%5 == 0 {
				tk.Owner = "few"
			}
			id, err := tx.InsertTask(tk)
			if err != nil {
				return err
			}
			if i%3 == 2 {
				continue // not claimed
			}
			for _, owner := range []string{tk.Owner, ""} {
				want[owner] = append(want[owner], place{tk.Priority, id})
			}
			if err := tx.Claim(id, tk.Owner, time.Hour); err != nil {
				return err
			}
		}
		return nil
	})
	for owner, n := range map[string]int{"few": 1200, "many": 4800, "": 6000} {
		slices.SortFunc(want[owner], func(a, b place) int { return cmp.Or(b.priority-a.priority, int(a.id-b.id)) })
		equal(t, "claimed by "+owner, len(want[owner]), n)
		ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
			var got []place
			f := task.TaskFilter{Owner: owner, Shown: task.ShownWorking, Limit: 500}
			for {
				list, next, err := rx.OpenTasks(f, true)
				ok(t, err)
				for _, tk := range list {
					got = append(got, place{tk.Priority, tk.ID})
				}
				if f.After = next; next == "" {
					break
				}
			}
			if !slices.Equal(got, want[owner]) {
				t.Errorf("%q with %d claims per agent: got %d tasks, not in queue order", owner, n, len(got))
			}
			ids, err := rx.OpenTaskIDs(f, 3)
			equal(t, "first IDs", len(ids), 3)
			equal(t, "first ID", ids[0], want[owner][0].id)
			return err
		}))
	}
}
