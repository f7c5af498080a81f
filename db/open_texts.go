package db

import (
	"fmt"
	"strings"
	"sync/atomic"
	"unicode"

	sqlite3 "github.com/mattn/go-sqlite3"

	"taskyard/task"
)

// openPlace is the setting that holds up to which line of the log open_texts
// and open_times are up to date.
const openPlace = "open_texts_event"

// Lists look at the tasks of the lines of the log that open_texts has not seen
// themselves, so that these need not be written one by one: tasks that are
// done soon never are. Beyond maxOpenTail lines they read every task instead.
const (
	openTail    = indexRows
	maxOpenTail = 5 * openTail
)

// maxSortedHits is how many tasks with the words of a search are put in order; where
// there are more, a walk in the order of the list meets a page of them sooner.
const maxSortedHits = 10_000

// OpenTextsWrite is what one write changes in open_texts: about indexBytes.
type OpenTextsWrite struct {
	docs     []openText
	from, to task.ID // lines of the log; to is from but in the last write of a batch
	end      logEnd
}

// openText is an open task whose texts or times are new, or one that is not open
// any more.
type openText struct {
	id                 task.ID
	texts              bool // are new; else they are left out
	title, description string
	created, updated   task.Time
	archived           bool
}

// size is about how much a write of it takes, in bytes of text.
func (d *openText) size() int { return len(d.title) + len(d.description) + 64 }

// ToOpenTexts returns the next writes of open_texts, to be made in their order;
// none while fewer than openTail lines of the log are new.
func (rx *Rx) ToOpenTexts() ([]OpenTextsWrite, error) {
	from, last, err := rx.openTail()
	if err != nil || last-from < openTail {
		return nil, err
	}
	at := from
	var docs []openText
	for bytes := 0; at < last && bytes < indexRead && len(docs) < indexRows; {
		rows := rx.query("SELECT id, coalesce(task_id, 0) FROM events WHERE id > ? ORDER BY id LIMIT ?", at, indexRows)
		lines, err := collect(rows, func(r rowScanner) (e logLine, err error) { return e, r.Scan(&e.id, &e.task) })
		if err != nil || len(lines) == 0 {
			return nil, err
		}
		seen := map[task.ID]bool{0: true}
		for _, e := range lines {
			at = e.id
			if seen[e.task] {
				continue
			}
			seen[e.task] = true
			d, changed, err := rx.openText(e.task)
			if err != nil {
				return nil, err
			}
			if changed {
				docs, bytes = append(docs, d), bytes+d.size()
			}
			if bytes >= indexRead {
				break
			}
		}
	}
	end, err := rx.logEnd(at)
	if err != nil {
		return nil, err
	}
	var list []OpenTextsWrite
	for remaining := docs; ; {
		n, bytes := 0, 0
		for n < len(remaining) && (n == 0 || bytes+remaining[n].size() <= indexBytes) {
			bytes += remaining[n].size()
			n++
		}
		w := OpenTextsWrite{docs: remaining[:n], from: from, to: from, end: end}
		if remaining = remaining[n:]; len(remaining) == 0 {
			w.to = at
			return append(list, w), nil
		}
		list = append(list, w)
	}
}

// openTail returns the last line of the log that open_texts has seen, and the
// last one that there is.
func (rx *Rx) openTail() (from, last task.ID, err error) {
	s, err := rx.Setting(openPlace)
	if err == nil && s != "" {
		_, err = fmt.Sscan(s, &from)
	}
	if err != nil {
		return 0, 0, err
	}
	n, err := rx.count("SELECT coalesce(max(id), 0) FROM events")
	return from, task.ID(n), err
}

// openText returns what open_texts and open_times should hold of a task, and
// whether they hold something else.
func (rx *Rx) openText(id task.ID) (d openText, changed bool, err error) {
	var has bool
	d.id = id
	err = rx.row(`SELECT t.archived_at IS NOT NULL, o.task_id IS NOT NULL, t.title, t.description, t.created_at, t.updated_at,
 o.task_id IS NULL OR t.title <> o.title COLLATE BINARY OR t.description <> o.description,
 c.task_id IS NULL OR t.updated_at <> c.updated_at
 FROM tasks t LEFT JOIN open_texts o ON o.task_id = t.id LEFT JOIN open_times c ON c.task_id = t.id WHERE t.id = ?`, id).
		Scan(&d.archived, &has, &d.title, &d.description, &d.created, &d.updated, &d.texts, &changed)
	switch {
	case d.archived:
		return openText{id: id, archived: true}, has, err
	case !d.texts:
		d.title, d.description = "", ""
	}
	return d, changed || d.texts, err
}

// WriteOpenTexts performs one write of ToOpenTexts. It does nothing if another
// process has already continued from the same position.
func (tx *Tx) WriteOpenTexts(w OpenTextsWrite) error {
	if at, _, err := tx.openTail(); err != nil || at != w.from {
		return err
	}
	if ok, err := tx.hasLogLine(w.end); err != nil || !ok {
		return err
	}
	for i := range w.docs {
		if err := tx.writeOpenText(&w.docs[i]); err != nil {
			return err
		}
	}
	if w.to == w.from {
		return nil
	}
	return tx.SetSetting(openPlace, w.to.String())
}

var insertOpenSearch = storeSQL{
	"INSERT INTO open_search (docid, title, description) VALUES (?, ?, ?)",
	"INSERT INTO open_search (docid, words) VALUES (?, array_to_tsvector(words_of(CAST(? AS TEXT) || ' ' || CAST(? AS TEXT))))",
}

func (tx *Tx) writeOpenText(d *openText) error {
	if d.archived || d.texts {
		// The index takes out the words that the table has until then.
		if err := tx.do("DELETE FROM open_search WHERE docid = ?", d.id); err != nil {
			return err
		}
	}
	if d.archived {
		if err := tx.do("DELETE FROM open_times WHERE task_id = ?", d.id); err != nil {
			return err
		}
		return tx.do("DELETE FROM open_texts WHERE task_id = ?", d.id)
	}
	if d.texts {
		err := tx.do("INSERT INTO open_texts (task_id, title, description) VALUES (?, ?, ?) "+
			"ON CONFLICT (task_id) DO UPDATE SET title = excluded.title, description = excluded.description", d.id, d.title, d.description)
		if err == nil {
			err = tx.do(insertOpenSearch.forStore(&tx.Rx), d.id, d.title, d.description)
		}
		if err != nil {
			return err
		}
	}
	return tx.do("INSERT INTO open_times (task_id, created_at, updated_at) VALUES (?, ?, ?) "+
		"ON CONFLICT (task_id) DO UPDATE SET created_at = excluded.created_at, updated_at = excluded.updated_at", d.id, d.created, d.updated)
}

// openTailIDs returns the tasks of the log after a line as JSON.
func (rx *Rx) openTailIDs(from task.ID) (ids string, err error) {
	err = rx.row("SELECT json_group_array(DISTINCT +task_id) FROM events WHERE id > ? AND +task_id IS NOT NULL", from).Scan(&ids)
	return ids, err
}

// openHits is what is known of the open tasks that the words of a search fit.
type openHits struct {
	query    string
	last     task.ID // line of the log
	complete bool    // open_texts and the tail tell; else every task must be read
	ids      string  // ids as JSON of the tasks that fit, where they are few; else ""
}

// lastSearch is what the last search found: a board asks the same for each of
// its columns.
type lastSearch struct{ p atomic.Pointer[openHits] }

// openHits looks for the words of a search in open_texts and in the tasks that
// changed since.
func (rx *Rx) openHits(q string) (*openHits, error) {
	terms := matchTerms(q)
	if terms == "" || !separatesWords(q) {
		return &openHits{}, nil
	}
	from, last, err := rx.openTail()
	if err != nil || last-from > maxOpenTail {
		return &openHits{}, err
	}
	if rx.found != nil {
		if f := rx.found.p.Load(); f != nil && f.query == q && f.last == last {
			return f, nil
		}
	}
	f := &openHits{query: q, last: last, complete: true}
	if f.ids, err = rx.matchingIDs(from, q, terms); err != nil {
		return nil, err
	}
	if rx.found != nil {
		rx.found.p.Store(f)
	}
	return f, nil
}

// matchingIDs returns the ids of the open tasks that the words of a search fit as
// JSON, or "" when there are more than maxSortedHits. from is what open_texts has
// seen of the log.
func (rx *Rx) matchingIDs(from task.ID, q, terms string) (string, error) {
	r, cancel := rx.bounded()
	defer cancel()
	// The tasks with a beginning of a word are all gathered before the first is
	// known, those with whole words are not.
	n, err := r.count("SELECT count(*) FROM (SELECT 1 FROM open_search WHERE open_search MATCH ? LIMIT ?)",
		strings.ReplaceAll(terms, "*", ""), maxSortedHits+1)
	if err != nil || n > maxSortedHits {
		return "", err
	}
	tail, fit, err := r.matchTail(from, q)
	if err != nil {
		return "", err
	}
	rows := r.query("SELECT docid FROM open_search WHERE open_search MATCH ? "+
		"AND docid NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) LIMIT ?",
		terms, jsonIDs(tail), maxSortedHits+1)
	found, err := collect(rows, column[task.ID])
	if err != nil || len(found) > maxSortedHits {
		return "", err
	}
	return jsonIDs(append(found, fit...)), nil
}

// matchTail returns the open tasks of the log after a line, and those among them
// that the words of a search fit.
func (rx *Rx) matchTail(from task.ID, q string) (tail, fit []task.ID, err error) {
	m := task.NewMatcher(q)
	rows := rx.query("SELECT t.id, t.title, t.description FROM (SELECT DISTINCT +task_id AS task_id FROM events WHERE id > ?) j "+
		"CROSS JOIN tasks t ON t.id = j.task_id WHERE t.archived_at IS NULL", from)
	err = each(rows, func(r rowScanner) error {
		var id task.ID
		var title, description string
		err := r.Scan(&id, &title, &description)
		if tail = append(tail, id); m.Fits(title + "\n" + description) {
			fit = append(fit, id)
		}
		return err
	})
	return tail, fit, err
}

// addWordsFit gives a connection the function that looks at the texts of a
// task: whether the words of a search are in its title and description.
func addWordsFit(c *sqlite3.SQLiteConn) error {
	var query string
	var m task.Matcher
	return c.RegisterFunc("words_fit", func(q, title, description string) bool {
		if q != query {
			query, m = q, task.NewMatcher(q)
		}
		return m.Fits(title + "\n" + description)
	}, true)
}

// separatesWords reports whether a text is of scripts that write words apart,
// so that the index knows each word of theirs.
func separatesWords(q string) bool {
	return !strings.ContainsFunc(q, func(r rune) bool {
		return !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Common, unicode.Armenian,
			unicode.Georgian, unicode.Hebrew, unicode.Arabic, unicode.Hangul) || unicode.IsMark(r)
	})
}

// words keeps the tasks whose title and description have the words of a search.
func (rx *Rx) words(w *where, f task.TaskFilter) error {
	if f.Query == "" {
		return nil
	}
	found, err := rx.openHits(f.Query)
	if err != nil {
		return err
	}
	switch {
	case !found.complete:
	case found.ids != "" && f.Label == "":
		w.fromIDs = true
		w.args = append([]any{found.ids}, w.args...)
	case found.ids != "":
		w.add("t.id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", found.ids)
	default:
		w.add("words_fit(?, t.title, t.description)", f.Query)
	}
	w.uncounted = found.complete && found.ids == ""
	fields := strings.Fields(f.Query)
	for _, field := range fields[:min(len(fields), maxPartWords)] {
		if found.complete && !strings.ContainsFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			continue
		}
		w.uncounted = false
		p := likePattern(field)
		w.add(`(t.title LIKE ? ESCAPE '\' OR t.description LIKE ? ESCAPE '\')`, p, p)
	}
	return nil
}
