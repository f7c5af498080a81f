package db

import (
	"cmp"
	"maps"
	"slices"

	"taskyard/task"
)

// historyBuckets is the length in ms of what HistoryCounts sums up: every time
// zone's days begin with one.
const historyBuckets = 15 * 60 * 1000

// HistoryCounts counts the tasks of a filter by quarters of an hour, and reports
// whether only the newest of them, about limit, were counted.
func (rx *Rx) HistoryCounts(f task.HistoryFilter, limit int) (list []task.HistoryTime, cut bool, err error) {
	var found []archivedTask
	if f.Query != "" {
		found, cut, err = rx.newestMatches(f, limit)
	} else {
		w, from, order := historyFrom(f)
		found, err = collect(rx.query("SELECT t.id, t.archived_at, t.status"+from+w.sql()+order, append(w.args, limit)...), scanArchived)
	}
	at := map[task.Time]int{}
	for _, m := range found {
		start := m.at - m.at%historyBuckets
		i, ok := at[start]
		if !ok {
			i, at[start] = len(list), len(list)
			list = append(list, task.HistoryTime{Start: start})
		}
		if m.status == task.Done {
			list[i].Done++
		} else {
			list[i].Canceled++
		}
	}
	return list, cut || len(found) == limit, err
}

// What is looked at in each index for each task that may be counted: where a
// filter leaves out nearly all, the whole index would be walked.
const (
	walkedTasks = 4
	walkedLines = 2
)

// newestMatches returns up to limit of the newest tasks that a search matches,
// and reports whether older matches were left out.
func (rx *Rx) newestMatches(f task.HistoryFilter, limit int) (found []archivedTask, cut bool, err error) {
	terms := matchTerms(f.Query)
	if terms == "" {
		return nil, false, nil
	}
	r, cancel := rx.bounded()
	defer cancel()
	seen := map[task.ID]bool{}
	for _, index := range []struct {
		table string
		limit int
		shift int
	}{{"search", walkedTasks * limit, 0}, {"search_lines", walkedLines * limit, 32}} {
		n := 0
		err := r.matching(index.table, terms, 0, 1<<62, func(source string, w *where) (bool, error) {
			rows := r.query("SELECT s.docid FROM "+source+w.sql()+" ORDER BY s.docid DESC LIMIT ?", append(w.args, index.limit-n)...)
			err = each(rows, func(row rowScanner) error {
				var doc int64
				err := row.Scan(&doc)
				seen[task.ID(doc>>index.shift)] = true
				n++
				return err
			})
			return n == index.limit, err
		})
		if err != nil {
			return nil, false, err
		}
		cut = cut || n == index.limit
	}
	w := &where{}
	rows := r.query(wordsInParts(f.Query, 1<<31-1, w)+" ORDER BY task DESC LIMIT ?", append(w.args, limit)...)
	long, err := collect(rows, column[task.ID])
	if err != nil {
		return nil, false, err
	}
	cut = cut || len(long) == limit
	for _, id := range long {
		seen[id] = true
	}
	ids := slices.SortedFunc(maps.Keys(seen), func(a, b task.ID) int { return cmp.Compare(b, a) })
	w = &where{args: []any{jsonIDs(ids)}}
	matchWhere(w, f)
	rows = r.query("SELECT t.id, t.archived_at, t.status FROM json_each(?) j CROSS JOIN tasks t ON t.id = CAST(j.value AS BIGINT)"+
		w.sql()+" ORDER BY j.key LIMIT ?", append(w.args, limit)...)
	found, err = collect(rows, scanArchived)
	return found, cut, err
}

// HistoryHours counts, from the hourly sums, the archived tasks of an owner
// ("": all) and the failed runs of that agent, in periods of the given number
// of milliseconds.
func (rx *Rx) HistoryHours(owner string, from, to task.Time, span int64) ([]task.HistoryTime, error) {
	// Hours come in order, so that only their sums are put into spans.
	rows := rx.query(`SELECT hour / ?1 * ?1 AS h, sum(done), sum(canceled), sum(failed) FROM (SELECT hour,
 sum(CASE what WHEN 'done' THEN n ELSE 0 END) AS done, sum(CASE what WHEN 'canceled' THEN n ELSE 0 END) AS canceled,
 sum(CASE what WHEN 'run.failed' THEN n ELSE 0 END) AS failed
 FROM stats_hours WHERE hour >= ?2 AND hour < ?3 AND what IN ('done', 'canceled', 'run.failed') AND (?4 = '' OR agent = ?4)
 GROUP BY hour) GROUP BY h`, span, from, to, owner)
	return collect(rows, func(r rowScanner) (t task.HistoryTime, err error) {
		return t, r.Scan(&t.Start, &t.Done, &t.Canceled, &t.Failed)
	})
}
