package db

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"taskyard/task"
)

// The bounds of what is searched: of a line of a transcript its first
// characters, of a run its last lines up to about so many bytes, and of the
// runs of a task the last summaries up to about so many.
const (
	lineChars    = 8 << 10
	runBytes     = 256 << 10
	summaryBytes = 1 << 20
)

// What is read at once to be indexed, at least one text, and how much of that
// one write takes: others wait for it.
const (
	indexRows  = 1000
	indexRead  = 512 << 10
	indexBytes = 16 << 10
)

// lineDoc is the docid of a line of a transcript in search_lines, and of a part
// of a task in search_parts.
func lineDoc(id, line task.ID) int64 { return int64(id)<<32 | int64(line) }

// indexDoc is what one row of the search holds.
type indexDoc struct {
	into  string // search, search_parts or search_lines
	id    int64  // the docid
	title string // only in search
	text  string // at most indexBytes, or of a line lineChars
}

// indexPlace is how far the search has come: the log up to event, and of a
// task that comes next, where it is long, the comments up to message, which
// make the first parts.
type indexPlace struct {
	event, task, message, part task.ID
}

const searchPlace = "search_event" // the setting that holds it

func (rx *Rx) indexPlace() (p indexPlace, err error) {
	s, err := rx.Setting(searchPlace)
	if err == nil && s != "" {
		_, err = fmt.Sscan(s+" 0 0 0", &p.event, &p.task, &p.message, &p.part)
	}
	return p, err
}

func (p indexPlace) String() string {
	if p.part == 0 {
		return p.event.String()
	}
	return fmt.Sprint(int64(p.event), int64(p.task), int64(p.message), int64(p.part))
}

// IndexState is how many lines of the log the search has seen, and how many
// it has yet to see.
type IndexState struct{ Done, Behind int }

// Percent is how much is done, 100 when nothing is left.
func (s IndexState) Percent() int {
	if s.Behind == 0 {
		return 100
	}
	return min(99, int(100*int64(s.Done)/int64(s.Done+s.Behind)))
}

// IndexState returns how far the search has come.
func (rx *Rx) IndexState() (s IndexState, err error) {
	p, err := rx.indexPlace()
	if err != nil {
		return s, err
	}
	last, err := rx.count("SELECT coalesce(max(id), 0) FROM events")
	s.Done = min(int(p.event), last)
	s.Behind = last - s.Done
	return s, err
}

// OpenIndexState returns how far open_texts and open_times have come. They may
// be openTail lines behind while nothing is left to do.
func (rx *Rx) OpenIndexState() (IndexState, error) {
	from, last, err := rx.openTail()
	return IndexState{Done: int(from), Behind: int(last - from)}, err
}

// IndexWrite is what one write adds to the search.
type IndexWrite struct {
	docs     []indexDoc
	from, to indexPlace // to is from but in the last write of a batch
	end      logEnd
	More     bool // the log had more than the batch, of which this is the last write
}

// logEnd is the last line of the log that was read for a write.
type logEnd struct {
	id   task.ID
	hash []byte
}

// logEnd returns the end of the log at a line.
func (rx *Rx) logEnd(id task.ID) (e logEnd, err error) {
	e.id = id
	_, err = optional(rx.row("SELECT hash FROM events WHERE id = ?", id).Scan(&e.hash))
	return e, err
}

// hasLogLine reports whether the log still has the line. When a standby was promoted
// meanwhile that had not heard of it, another one has its id by now.
func (rx *Rx) hasLogLine(e logEnd) (bool, error) {
	now, err := rx.logEnd(e.id)
	return bytes.Equal(now.hash, e.hash), err
}

// ToIndex returns the next writes of the search, to be made in their order;
// none when it is up to date.
func (rx *Rx) ToIndex() ([]IndexWrite, error) {
	from, err := rx.indexPlace()
	if err != nil {
		return nil, err
	}
	r := indexReader{Rx: rx, place: from}
	more, err := r.read()
	if err != nil || r.place == from {
		return nil, err
	}
	end, err := rx.logEnd(r.place.event)
	if err != nil {
		return nil, err
	}
	var list []IndexWrite
	for remaining := r.docs; ; {
		n, bytes := 0, 0
		for n < len(remaining) && (n == 0 || bytes+len(remaining[n].text) <= indexBytes) {
			bytes += len(remaining[n].text)
			n++
		}
		w := IndexWrite{docs: remaining[:n], from: from, to: from, end: end}
		if remaining = remaining[n:]; len(remaining) == 0 {
			w.to, w.More = r.place, more
			return append(list, w), nil
		}
		list = append(list, w)
	}
}

// On PostgreSQL the search has only the words.
var (
	insertSearch = storeSQL{
		"INSERT OR REPLACE INTO search (docid, title, body) VALUES (?, ?, ?)",
		"INSERT INTO search (docid, words) VALUES (?, array_to_tsvector(words_of(CAST(? AS TEXT) || ' ' || CAST(? AS TEXT)))) " +
			"ON CONFLICT (docid) DO UPDATE SET words = excluded.words",
	}
	insertParts = storeSQL{
		"INSERT OR REPLACE INTO search_parts (docid, content) VALUES (?, ?)",
		"INSERT INTO search_parts (docid, words) VALUES (?, array_to_tsvector(words_of(?))) " +
			"ON CONFLICT (docid) DO UPDATE SET words = excluded.words",
	}
	insertLines = storeSQL{
		"INSERT OR REPLACE INTO search_lines (docid, content) VALUES (?, ?)",
		"INSERT INTO search_lines (docid, words) VALUES (?, array_to_tsvector(words_of(?))) " +
			"ON CONFLICT (docid) DO UPDATE SET words = excluded.words",
	}
)

// Index performs one write of ToIndex. It does nothing if another process has
// already continued from the same position.
func (tx *Tx) Index(w IndexWrite) error {
	if at, err := tx.indexPlace(); err != nil || at != w.from {
		return err
	}
	if ok, err := tx.hasLogLine(w.end); err != nil || !ok {
		return err
	}
	for _, d := range w.docs {
		var err error
		switch d.into {
		case "search":
			err = tx.do(insertSearch.forStore(&tx.Rx), d.id, d.title, d.text)
		case "search_parts":
			if d.id&(1<<32-1) == 0 { // it may have been short before
				err = tx.do("DELETE FROM search WHERE docid = ?", d.id>>32)
			}
			if err == nil {
				err = tx.do(insertParts.forStore(&tx.Rx), d.id, d.text)
			}
		default:
			err = tx.do(insertLines.forStore(&tx.Rx), d.id, d.text)
		}
		if err != nil {
			return err
		}
	}
	if w.to == w.from {
		return nil
	}
	return tx.SetSetting(searchPlace, w.to.String())
}

// indexReader gathers what comes next for the search.
type indexReader struct {
	*Rx
	place indexPlace
	docs  []indexDoc
	bytes int
}

// logLine is a line of the log as the search sees it.
type logLine struct {
	id, task, run task.ID
	kind          string
}

// read goes through the log until indexRows lines are seen or indexRead bytes
// gathered; more reports whether there is likely more of it.
func (r *indexReader) read() (more bool, err error) {
	rows := r.query("SELECT id, coalesce(task_id, 0), coalesce(run_id, 0), kind FROM events "+
		"WHERE id > ? ORDER BY id LIMIT ?", r.place.event, indexRows)
	list, err := collect(rows, func(r rowScanner) (e logLine, err error) {
		return e, r.Scan(&e.id, &e.task, &e.run, &e.kind)
	})
	if err != nil {
		return false, err
	}
	last := map[task.ID]task.ID{}
	for _, e := range list {
		last[e.task] = e.id
	}
	for _, e := range list {
		begun := r.place.part > 0 && r.place.task == e.task
		if e.run != 0 && endsRun(e.kind) && !begun {
			if err := r.run(e.run); err != nil {
				return false, err
			}
		}
		if e.task != 0 && last[e.task] == e.id {
			if complete, err := r.archived(e); err != nil || !complete {
				return true, err
			}
		}
		r.place = indexPlace{event: e.id}
		if r.bytes >= indexRead {
			return true, nil
		}
	}
	return len(list) == indexRows, nil
}

func endsRun(kind string) bool {
	switch kind {
	case task.EvRunCompleted, task.EvRunFailed, task.EvRunCanceled:
		return true
	}
	return false
}

// run adds the lines of a run that has ended. Prompts repeat the task and the
// agent's definition, so that they would match for every run.
func (r *indexReader) run(id task.ID) error {
	bytes := 0
	rows := r.query("SELECT id, task_id, substr(content, 1, ?) FROM messages INDEXED BY messages_run WHERE run_id = ? "+
		"AND type NOT IN ('prompt', 'usage') AND content <> '' ORDER BY id DESC", lineChars, id)
	err := eachWhile(rows, func(s rowScanner) (bool, error) {
		var line, of task.ID
		var text string
		err := s.Scan(&line, &of, &text)
		r.docs = append(r.docs, indexDoc{into: "search_lines", id: lineDoc(of, line), text: text})
		bytes += len(text)
		return bytes < runBytes, err
	})
	r.bytes += bytes
	return err
}

// archived adds the texts of a task, if it is archived and e is the last line
// of the log that reports it: title, description, summary, summaries of runs
// and comments. complete is false when there are more comments than are read at
// once; the place then says where to continue.
func (r *indexReader) archived(e logLine) (complete bool, err error) {
	p := parts{place: r.place}
	if p.place.part == 0 || p.place.task != e.task {
		p.place = indexPlace{event: r.place.event, task: e.task}
	}
	if first := p.place.part == 0; first {
		var text string
		err := r.row(`SELECT title, description || char(10) || coalesce(summary, '') FROM tasks
 WHERE id = ?1 AND archived_at IS NOT NULL AND (SELECT max(id) FROM events WHERE task_id = ?1) = ?2`, e.task, e.id).Scan(&p.title, &text)
		if found, err := optional(err); err != nil || !found {
			return err == nil, err // still open, or told of again by a later line
		}
		p.add(p.title)
		p.add(text)
		if err := r.summaries(e.task, &p); err != nil {
			return false, err
		}
	}
	complete = true
	rows := r.query("SELECT id, content FROM messages WHERE task_id = ? AND run_id IS NULL "+
		"AND id > ? ORDER BY id LIMIT ?", e.task, p.place.message, indexRows)
	n := 0
	err = eachWhile(rows, func(s rowScanner) (bool, error) {
		if p.bytes >= indexRead {
			complete = false
			return false, nil
		}
		var text string
		err := s.Scan(&p.place.message, &text)
		p.add(text)
		n++
		return true, err
	})
	if err != nil {
		return false, err
	}
	complete = complete && n < indexRows
	r.docs = append(r.docs, p.docs(complete)...)
	r.bytes += p.bytes
	if !complete {
		r.place = p.place
	}
	return complete, nil
}

// summaries adds the summaries of the runs of a task, the last first.
func (r *indexReader) summaries(id task.ID, p *parts) error {
	bytes := 0
	rows := r.query("SELECT summary FROM runs WHERE task_id = ? AND summary <> '' ORDER BY id DESC", id)
	return eachWhile(rows, func(s rowScanner) (bool, error) {
		var text string
		err := s.Scan(&text)
		p.add(text)
		bytes += len(text)
		return bytes < summaryBytes, err
	})
}

// parts packs the texts of a task into rows of at most indexBytes.
type parts struct {
	place indexPlace
	title string
	list  []string
	bytes int
}

// add appends a text, cut between words where it is long.
func (p *parts) add(text string) {
	p.bytes += len(text)
	for text != "" {
		n := len(p.list) - 1
		if n >= 0 && len(p.list[n])+1+len(text) <= indexBytes {
			p.list[n] += "\n" + text
			return
		}
		at := len(text)
		if at > indexBytes {
			at = cmp.Or(strings.LastIndexAny(text[:indexBytes], " \n\t")+1, indexBytes)
			for !utf8.RuneStart(text[at]) {
				at--
			}
		}
		p.list = append(p.list, text[:at])
		text = text[at:]
	}
}

// docs returns the rows: one of search for a short task that is whole, else
// the parts that come next.
func (p *parts) docs(complete bool) (docs []indexDoc) {
	if p.place.part == 0 && complete && len(p.list) == 1 {
		return []indexDoc{{into: "search", id: int64(p.place.task), title: p.title, text: strings.TrimPrefix(p.list[0], p.title)}}
	}
	for _, text := range p.list {
		docs = append(docs, indexDoc{into: "search_parts", id: lineDoc(p.place.task, p.place.part), text: text})
		p.place.part++
	}
	return docs
}

// Bytes returns how much text the write adds.
func (w IndexWrite) Bytes() (n int) {
	for _, d := range w.docs {
		n += len(d.text)
	}
	return n
}
