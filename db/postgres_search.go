package db

// lastDocs is how many of the last rows of an index of words PostgreSQL looks at
// in one statement, which takes about 3 ms.
const lastDocs = "5000"

// commonWords is how many of them a search matches whose words are called common.
const commonWords = 250

// matching reads the rows of an index of words, by the name s, that a search
// matches from one docid on and below another, the highest first. read is called
// with what to name in FROM and with the conditions, and reports whether it has
// found enough.
//
// SQLite gives the matches in the order of their docids, so it is asked once.
// PostgreSQL either sorts all of them, of which common words have hundreds of
// thousands, or looks at each row, of which rare words need all; it cannot know
// which is less. So it looks at the last rows first. When these are not enough,
// they show whether the words are common: then the rows before them are looked at
// in the same way, else the other matches are found by their words.
func (rx *Rx) matching(table, terms string, from, below int64, read func(source string, w *where) (enough bool, err error)) error {
	if !rx.c.postgres() {
		w := &where{}
		w.add(table+" MATCH ? AND s.docid >= ? AND s.docid < ?", terms, from, below)
		_, err := read(table+" s", w)
		return err
	}
	const last = " WHERE docid >= ? AND docid < ? ORDER BY docid DESC LIMIT " // so many
	walked := "(SELECT docid FROM (SELECT docid, words FROM " + table + last + lastDocs + ") WHERE words MATCH ?) s"
	for first := true; ; first = false {
		enough, err := read(walked, always(from, below, terms))
		if enough || err != nil {
			return err
		}
		var edge int64
		err = rx.row("SELECT docid FROM "+table+last+"1 OFFSET "+lastDocs+" - 1", from, below).Scan(&edge)
		if more, err := optional(err); err != nil || !more {
			return err
		}
		n := commonWords
		if first {
			if n, err = rx.count("SELECT count(*) FROM "+walked, from, below, terms); err != nil {
				return err
			}
		}
		if below = edge; n < commonWords {
			break
		}
	}
	_, err := read("(WITH m AS MATERIALIZED (SELECT docid FROM "+table+" WHERE words MATCH ?) "+
		"SELECT docid FROM m WHERE docid >= ? AND docid < ?) s", always(terms, from, below))
	return err
}

// always is a condition that everything fits, behind the arguments of what is read.
func always(args ...any) *where { return &where{conds: []string{"TRUE"}, args: args} }

// lineTasks returns what to name in FROM for the lines of a source, and the column
// with the docid. PostgreSQL gets one for each task, or it would look at the task
// for each line.
func (rx *Rx) lineTasks(source string) (from, docid string) {
	if !rx.c.postgres() {
		return source, "s.docid"
	}
	return "(SELECT DISTINCT docid >> 32 << 32 AS task FROM " + source + ") l", "l.task"
}
