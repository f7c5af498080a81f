package db

import (
	"strings"

	"taskyard/task"
)

// matchTerms turns what a person typed into an FTS4 expression: every word
// must occur, the last one may be the beginning of a word. "" means that no
// word is left.
func matchTerms(q string) string {
	words := task.SearchWords(q)
	for i, w := range words {
		words[i] = `"` + w + `"`
	}
	if n := len(words); n > 0 {
		w := strings.Trim(words[n-1], `"`)
		words[n-1] = `"` + w + `*"`
	}
	return strings.Join(words, " ")
}

// searchHistory returns the tasks that a search matches, last created first.
func (rx *Rx) searchHistory(f task.HistoryFilter) ([]*task.Task, string, error) {
	before := int64(1<<31 - 1)
	if f.Before != "" {
		var err error
		if _, before, err = parseCursor(f.Before); err != nil {
			return nil, "", task.FieldErrorf("before", "is not a cursor of this list; use the value of next")
		}
	}
	found, err := rx.matches(f, before, f.Limit+1)
	if err != nil {
		return nil, "", err
	}
	next, bytes := "", 0
	if len(found) > f.Limit {
		found = found[:f.Limit]
		next = "0." + found[f.Limit-1].id.String()
	}
	list := make([]*task.Task, 0, len(found))
	rx.budget.Begin()
	for n, m := range found {
		t, err := rx.one("SELECT "+taskBrief+" FROM tasks t WHERE t.id = ?", m.id)
		if err != nil {
			return nil, "", err
		}
		if bytes += t.JSONBytes(); n > 0 && !rx.budget.Fits(bytes) {
			return list, "0." + found[n-1].id.String(), nil
		}
		list = append(list, t)
	}
	return list, next, nil
}

// archivedTask is a task of history in short.
type archivedTask struct {
	id     task.ID
	at     task.Time
	status task.Status
}

func scanArchived(r rowScanner) (m archivedTask, err error) {
	return m, r.Scan(&m.id, &m.at, &m.status)
}

// matches returns up to limit tasks below an id whose own words, or a line of
// whose runs, a search matches, the highest id first. Both indexes give their
// matches in that order, so a page costs the same in any instance.
func (rx *Rx) matches(f task.HistoryFilter, before int64, limit int) ([]archivedTask, error) {
	terms := matchTerms(f.Query)
	if terms == "" {
		return nil, nil
	}
	before = min(max(before, 0), 1<<31-1)
	r, cancel := rx.bounded()
	defer cancel()
	var own []archivedTask
	err := r.matching("search", terms, 0, before, func(source string, w *where) (bool, error) {
		matchWhere(w, f)
		rows := r.query("SELECT t.id, t.archived_at, t.status FROM "+source+" CROSS JOIN tasks t ON t.id = s.docid"+
			w.sql()+" ORDER BY s.docid DESC LIMIT ?", append(w.args, limit)...)
		list, err := collect(rows, scanArchived)
		own = append(own, list...)
		return len(own) >= limit, err
	})
	if err != nil {
		return nil, err
	}
	commented, err := r.lineMatches(f, terms, before, limit)
	if err != nil {
		return nil, err
	}
	long, err := r.longMatches(f, before, limit)
	if err != nil {
		return nil, err
	}
	return merge(merge(own, commented, limit), long, limit), nil
}

// longMatches are the tasks with texts in several parts: the words may appear
// in different ones.
func (rx *Rx) longMatches(f task.HistoryFilter, before int64, limit int) ([]archivedTask, error) {
	w := &where{}
	from := wordsInParts(f.Query, before, w)
	matchWhere(w, f)
	rows := rx.query("SELECT t.id, t.archived_at, t.status FROM ("+from+") j CROSS JOIN tasks t ON t.id = j.task"+
		w.sql()+" ORDER BY j.task DESC LIMIT ?", append(w.args, limit)...)
	return collect(rows, scanArchived)
}

// maxPartWords is how many words of a search are looked for one by one; those
// after them appear together.
const maxPartWords = 8

// wordsInParts is a query for the tasks below an id in whose parts all words
// of a search appear. Its arguments come first in w.
func wordsInParts(q string, before int64, w *where) string {
	words := strings.Fields(matchTerms(q))
	var list []string
	for i, word := range words[:min(len(words), maxPartWords)] {
		if i+1 == maxPartWords {
			word = strings.Join(words[i:], " ")
		}
		list = append(list, "SELECT docid >> 32 AS task FROM search_parts WHERE search_parts MATCH ? AND docid < ?")
		w.args = append(w.args, word, before<<32)
	}
	if len(list) == 1 {
		list[0] = strings.Replace(list[0], "SELECT", "SELECT DISTINCT", 1)
	}
	return strings.Join(list, " INTERSECT ")
}

// lineMatches are the tasks of the lines that match. Of a task with many of
// them it skips the rest.
func (rx *Rx) lineMatches(f task.HistoryFilter, terms string, before int64, limit int) (list []archivedTask, err error) {
	for batch := 4 * limit; ; {
		read := 0
		err := rx.matching("search_lines", terms, 0, before<<32, func(source string, w *where) (bool, error) {
			matchWhere(w, f)
			lines, key := rx.lineTasks(source)
			rows := rx.query("SELECT t.id, t.archived_at, t.status FROM "+lines+" CROSS JOIN tasks t ON t.id = "+key+" >> 32"+
				w.sql()+" ORDER BY "+key+" DESC LIMIT ?", append(w.args, batch-read)...)
			found, err := collect(rows, scanArchived)
			for _, m := range found {
				if n := len(list); n == 0 || list[n-1].id != m.id {
					list = append(list, m)
				}
			}
			read += len(found)
			return read == batch, err
		})
		if err != nil || read < batch || len(list) >= limit {
			return list, err
		}
		before = int64(list[len(list)-1].id)
	}
}

func matchWhere(w *where, f task.HistoryFilter) {
	w.add("t.archived_at IS NOT NULL")
	historyWhere(w, f)
	if f.Label != "" {
		w.add("instr(' ' || t.labels || ' ', ?) > 0", " "+f.Label+" ")
	}
}

// merge joins two lists that fall by id.
func merge(a, b []archivedTask, limit int) (list []archivedTask) {
	for len(list) < limit && len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].id > b[0].id:
			list, a = append(list, a[0]), a[1:]
		case len(a) > 0 && a[0].id == b[0].id:
			a = a[1:]
		default:
			list, b = append(list, b[0]), b[1:]
		}
	}
	return list
}
