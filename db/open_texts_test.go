package db_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// openList is an instance with more tasks that contain the same word than a search
// sorts, and the tasks by ID to compute the expected lists from.
type openList struct {
	*testing.T
	d   *db.DB
	all map[task.ID]*task.Task
}

func newOpenList(t *testing.T, n int) *openList {
	var moments atomic.Int64 // each write has a different time, in no order
	clock := func() time.Time { return time.Unix(1_800_000_000+moments.Add(1)*7919%997, 0) }
	l := &openList{t, dbtest.New(t, func(o *db.Options) { o.Now = clock }), map[task.ID]*task.Task{}}
	for first := 0; first < n; first += 100 {
		l.create(first, min(first+100, n), n)
	}
	return l
}

// create inserts the tasks first to end-1 of a list of n.
func (l *openList) create(first, end, n int) {
	l.Helper()
	write(l, l.d, func(tx *db.Tx) error {
		for i := first; i < end; i++ {
			tk := &task.Task{
				Title: fmt.Sprintf("Item %d of the list", n-i), Owner: []string{"coder", "other"}[i%10/9], CreatedBy: "user:maya",
				Status: task.Active, Channel: "web", Priority: i % 7, Description: "It is the number " + fmt.Sprint(i%100) + ".",
			}
			if i%2000 == 0 {
				tk.Labels, tk.Description = []string{"rare"}, "A café, version v0.4, for C++ and 修复登录问题"
			}
			id, err := tx.InsertTask(tk)
			if err == nil {
				err = tx.AddEvent(task.Event{Actor: "user:maya", Kind: task.EvTaskCreated, TaskID: id})
			}
			if err != nil {
				return err
			}
			tk.ID = id
			l.all[id] = tk
		}
		return nil
	})
}

func (l *openList) edit(id task.ID, title, description string) {
	l.Helper()
	write(l, l.d, func(tx *db.Tx) error {
		tk, err := tx.Task(id)
		if err != nil {
			return err
		}
		tk.Title, tk.Description = title, description
		if err := tx.UpdateTask(tk); err != nil {
			return err
		}
		return tx.AddEvent(task.Event{Actor: "user:maya", Kind: task.EvTaskUpdated, TaskID: id})
	})
	l.all[id].Title, l.all[id].Description = title, description
}

func (l *openList) archive(id task.ID) {
	l.Helper()
	write(l, l.d, func(tx *db.Tx) error {
		if err := tx.Archive(id, task.Done, ""); err != nil {
			return err
		}
		return tx.AddEvent(task.Event{Actor: "user:maya", Kind: task.EvTaskCompleted, TaskID: id})
	})
	delete(l.all, id)
}

// index writes all missing rows of open_texts and returns the number of writes.
func (l *openList) index() (n int) {
	l.Helper()
	for {
		var list []db.OpenTextsWrite
		ok(l, l.d.Read(l.Context(), func(rx *db.Rx) (err error) { list, err = rx.ToOpenTexts(); return err }))
		if len(list) == 0 {
			return n
		}
		for _, w := range list {
			n++
			write(l, l.d, func(tx *db.Tx) error { return tx.WriteOpenTexts(w) })
		}
	}
}

// check compares every list with one computed from all tasks.
func (l *openList) check() {
	l.Helper()
	times := l.times()
	for _, q := range []string{
		"", "list", "item 17", "item 1", "numb", "number 42", "umber", "cafe", "v0.4", "C++", "登录", "++", "changed", "nothing here",
	} {
		for _, f := range []task.TaskFilter{
			{},
			{Owner: "other"},
			{Label: "rare"},
			{Sort: task.SortTitle},
			{Sort: task.SortTitle, Desc: true, Owner: "coder"},
			{Sort: task.SortID},
			{Sort: task.SortID, Desc: true, Owner: "coder"},
			{Sort: task.SortAge},
			{Sort: task.SortAge, Desc: true},
			{Sort: task.SortChanged, Owner: "coder"},
			{Sort: task.SortChanged, Desc: true},
		} {
			if q != "" && q != "list" && f.Sort != "" && f.Sort != task.SortTitle {
				continue // these orders come from tables without texts
			}
			f.Query, f.Limit = q, 100
			want := l.want(f, times)
			var got []task.ID
			ok(l, l.d.Read(l.Context(), func(rx *db.Rx) error {
				n, err := rx.CountOpenTasks(f)
				if bound := task.MaxCounted + 1; q != "" && n != min(bound, len(want)) {
					l.Errorf("%+v: got a count of %d, want %d", f, n, len(want))
				}
				for f.After = ""; err == nil && len(got) < 400; {
					var page []*task.Task
					page, f.After, err = rx.OpenTasks(f, true)
					for _, tk := range page {
						got = append(got, tk.ID)
					}
					if f.After == "" {
						break
					}
				}
				return err
			}))
			if !slices.Equal(got, want[:min(len(want), len(got))]) || len(got) < min(400, len(want)) {
				l.Errorf("%+v: got %d tasks, want %d; they begin with %v and %v",
					f, len(got), len(want), got[:min(9, len(got))], want[:min(9, len(want))])
			}
		}
	}
}

// times returns when each task was created and last changed.
func (l *openList) times() map[task.ID][2]int64 {
	l.Helper()
	rows, err := raw(l, l.d.Path()).QueryContext(l.Context(), "SELECT id, created_at, updated_at FROM tasks")
	ok(l, err)
	defer rows.Close()
	m := map[task.ID][2]int64{}
	for rows.Next() {
		var id task.ID
		var at [2]int64
		ok(l, rows.Scan(&id, &at[0], &at[1]))
		m[id] = at
	}
	ok(l, rows.Err())
	return m
}

func (l *openList) want(f task.TaskFilter, times map[task.ID][2]int64) []task.ID {
	m := task.NewMatcher(f.Query)
	words := len(task.SearchWords(f.Query)) > 0
	var list []*task.Task
	for _, tk := range l.all {
		text := tk.Title + "\n" + tk.Description
		fits := true
		for field := range strings.FieldsSeq(f.Query) {
			if strings.ContainsAny(field, "+.登") {
				fits = fits && strings.Contains(text, field)
			}
		}
		if words && !strings.Contains(f.Query, "登") {
			fits = fits && m.Fits(text)
		}
		if fits && (f.Owner == "" || f.Owner == tk.Owner) && (f.Label == "" || slices.Contains(tk.Labels, f.Label)) {
			list = append(list, tk)
		}
	}
	slices.SortFunc(list, func(a, b *task.Task) int {
		if f.Sort == "" {
			return cmp.Or(b.Priority-a.Priority, cmp.Compare(times[a.ID][0], times[b.ID][0]), int(a.ID-b.ID))
		}
		n := int(a.ID - b.ID)
		switch f.Sort {
		case task.SortTitle:
			n = cmp.Or(strings.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title)), n)
		case task.SortAge:
			n = cmp.Or(cmp.Compare(times[a.ID][0], times[b.ID][0]), n)
		case task.SortChanged:
			n = cmp.Or(cmp.Compare(times[a.ID][1], times[b.ID][1]), n)
		}
		if f.Desc {
			return -n
		}
		return n
	})
	ids := make([]task.ID, len(list))
	for i, tk := range list {
		ids[i] = tk.ID
	}
	return ids
}

func TestOpenTaskListsAreExactHoweverMuchIsIndexed(t *testing.T) {
	t.Parallel()
	l := newOpenList(t, 10_600)
	equal(t, "writes of the index", l.index() > 9, true)
	equal(t, "rows", count(t, l.d, "SELECT count(*) FROM open_texts"), 10_000) // lists scan the other 600 themselves
	check := func() {
		if !dbtest.Postgres() { // takes 20 s there, and the state with changes covers the others
			l.check()
		}
	}
	check()
	for id := range task.ID(40) { // too few changes to be indexed
		l.edit(id*7+1, fmt.Sprintf("a changed item %d", id), "Nothing of what it was.")
		l.archive(id*7 + 2)
	}
	l.edit(103, "Item changed", "")
	l.edit(103, "Item 999 of the list", "")
	equal(t, "writes for few changes", l.index(), 0)
	l.check()
	for range 1000 {
		l.edit(200, "Item changed thrice", "number")
	}
	equal(t, "writes for many", l.index() > 0, true)
	equal(t, "rows", count(t, l.d, "SELECT count(*) FROM open_texts"), 10_560)
	check()
	search := func() error { return l.d.Read(t.Context(), func(rx *db.Rx) error { return rx.CheckSearch() }) }
	if !dbtest.Postgres() {
		_, err := raw(t, l.d.Path()).ExecContext(t.Context(), "INSERT INTO open_search (open_search) VALUES ('integrity-check')")
		ok(t, err)
	}
	ok(t, l.d.Read(t.Context(), func(rx *db.Rx) error { return rx.CheckInvariants() }))
	ok(t, search())
	_, err := raw(t, l.d.Path()).ExecContext(t.Context(), "DELETE FROM open_texts WHERE task_id = 10")
	ok(t, err)
	errorContains(t, search(), "the search lacks", "task 10")
	_, err = raw(t, l.d.Path()).ExecContext(t.Context(), "DELETE FROM open_times WHERE task_id = 6")
	ok(t, err)
	errorContains(t, search(), "the search lacks", "task 6")
}

func TestOpenTaskListsReadEveryTaskWhileTheIndexIsFarBehind(t *testing.T) {
	t.Parallel()
	l := newOpenList(t, 5100)
	var found []*task.Task
	ok(t, l.d.Read(t.Context(), func(rx *db.Rx) (err error) {
		found, _, err = rx.OpenTasks(task.TaskFilter{Query: "item 4321", Limit: 10}, false)
		return err
	}))
	equal(t, "found", len(found), 1)
}
