package db_test

import (
	"fmt"
	"slices"
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// indexHistory brings the search index of history up to date.
func indexHistory(t *testing.T, d *db.DB) {
	t.Helper()
	for more := true; more; {
		var list []db.IndexWrite
		ok(t, d.Read(t.Context(), func(rx *db.Rx) (err error) { list, err = rx.ToIndex(); return err }))
		for _, w := range list {
			write(t, d, func(tx *db.Tx) error { return tx.Index(w) })
		}
		more = len(list) > 0
	}
}

// The word indexes have more rows than PostgreSQL scans one by one; older entries
// must be found through the index.
func TestASearchOnPostgreSQLFindsOldEntries(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	d := dbtest.New(t)
	var all, said []task.ID
	for _, title := range []string{"one quokka", "two", "three quokkas", "four Quokka"} {
		id := makeTask(t, d, title)
		write(t, d, func(tx *db.Tx) error {
			run, err := tx.InsertRun(newRun(id))
			if err != nil {
				return err
			}
			line := task.Message{TaskID: id, RunID: run, Kind: task.KindRun, Type: "text", Author: "coder", Content: "a wombat in " + title}
			if _, err := tx.InsertMessage(line); err != nil {
				return err
			}
			r, err := tx.Run(run)
			if err != nil {
				return err
			}
			if _, err := tx.EndRun(r, task.State{Status: task.RunCanceled, Phase: task.PhaseBy}, "", "", nil, task.Usage{}); err != nil {
				return err
			}
			if err := tx.AddEvent(task.Event{Actor: "coder", Kind: task.EvRunCanceled, TaskID: id, RunID: run}); err != nil {
				return err
			}
			return tx.Archive(id, task.Done, "")
		})
		if said = append(said, id); title != "two" {
			all = append(all, id)
		}
	}
	slices.Reverse(all)
	slices.Reverse(said)
	indexHistory(t, d)
	for _, q := range []string{
		"INSERT INTO search SELECT i, array_to_tsvector('{common}') FROM generate_series(1000, 28000) i",
		"INSERT INTO search_lines SELECT CAST(i AS bigint) << 32, array_to_tsvector('{common}') FROM generate_series(1000, 28000) i",
	} {
		_, err := dbtest.Raw(t, d).ExecContext(t.Context(), q)
		ok(t, err)
	}
	for query, want := range map[string][]task.ID{"quokka": all, "wombat": said, "common": nil} {
		ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
			var got []task.ID
			f := task.HistoryFilter{Query: query, Limit: 2}
			for more := true; more; more = f.Before != "" {
				list, next, err := rx.History(f)
				if err != nil {
					return err
				}
				for _, tk := range list {
					got = append(got, tk.ID)
				}
				f.Before = next
			}
			equal(t, query, fmt.Sprint(got), fmt.Sprint(want))
			times, cut, err := rx.HistoryCounts(f, 100)
			n := 0
			for _, at := range times {
				n += at.Done
			}
			equal(t, query+": counted", n, len(want))
			equal(t, query+": left out", cut, query == "common")
			return err
		}))
	}
	ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
		lines, err := rx.MatchingLines(said, "wombat")
		equal(t, "lines", len(lines), 4)
		equal(t, "line", lines[said[3]].Text, "a wombat in one quokka")
		return err
	}))
}
