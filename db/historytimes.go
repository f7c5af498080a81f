package db

import "taskyard/task"

// historyBuckets is the length in ms of what HistoryCounts sums up: every time
// zone's days begin with one.
const historyBuckets = 15 * 60 * 1000

// HistoryCounts counts the tasks of a filter by quarters of an hour, and tells
// whether only the newest of them, about limit, were counted.
func (rx *Rx) HistoryCounts(f task.HistoryFilter, limit int) (list []task.HistoryTime, cut bool, err error) {
	var found []archivedTask
	if f.Query != "" {
		found, err = rx.matches(f, 1<<62, limit)
	} else {
		w, from := historyFrom(f)
		order := " ORDER BY t.archived_at DESC, t.id DESC LIMIT ?"
		if f.Label != "" {
			order = " ORDER BY l.archived_at DESC, l.task_id DESC LIMIT ?"
		}
		rows, e := rx.query("SELECT t.id, t.archived_at, t.status"+from+w.sql()+order, append(w.args, limit)...)
		found, err = collect(rows, e, scanArchived)
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
	return list, len(found) == limit, err
}

// HistoryHours counts the tasks of an owner ("": all) that became history, and
// the failed runs of that agent, by spans of so many ms, from the hourly sums.
func (rx *Rx) HistoryHours(owner string, from, to task.Time, span int64) ([]task.HistoryTime, error) {
	rows, err := rx.query(`SELECT hour / ?1 * ?1 AS h, sum(n * (what = 'done')), sum(n * (what = 'canceled')), sum(n * (what = 'run.failed'))
 FROM stats_hours WHERE hour >= ?2 AND hour < ?3 AND (?4 = '' OR agent = ?4) GROUP BY h`, span, from, to, owner)
	return collect(rows, err, func(r rowScanner) (t task.HistoryTime, err error) {
		return t, r.Scan(&t.Start, &t.Done, &t.Canceled, &t.Failed)
	})
}
