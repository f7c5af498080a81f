package db

// PostgreSQL looks at the last rows of an index of words one by one, so many at
// a time, which takes about 3 ms, and so often.
const (
	lastDocs = "5000"
	lastAsks = 5
)

// matching reads the rows of an index of words, by the name s, that a search
// matches from one docid on and below another. read is called with what to name in
// FROM and with the conditions, and reports whether it has found enough.
//
// SQLite gives the matches in the order of their docids, so it is asked once.
// PostgreSQL sorts all of them, of which a common word has hundreds of thousands,
// or looks at each row, of which a rare word needs all; it cannot know which is
// less. So it is asked for those among the last rows, which are enough of a common
// word, and then for the others by their words.
func (rx *Rx) matching(table, terms string, from, below int64, read func(source string, w *where) (enough bool, err error)) error {
	w := &where{}
	if !rx.c.postgres() {
		w.add(table+" MATCH ? AND s.docid >= ? AND s.docid < ?", terms, from, below)
		_, err := read(table+" s", w)
		return err
	}
	for range lastAsks {
		const last = " WHERE docid >= ? AND docid < ? ORDER BY docid DESC LIMIT " // so many
		w = &where{conds: []string{"TRUE"}, args: []any{from, below, terms}}
		enough, err := read("(SELECT docid FROM (SELECT docid, words FROM "+table+last+lastDocs+") WHERE words MATCH ?) s", w)
		if enough || err != nil {
			return err
		}
		err = rx.row("SELECT docid FROM "+table+last+"1 OFFSET "+lastDocs+" - 1", from, below).Scan(&below)
		if more, err := optional(err); err != nil || !more {
			return err
		}
	}
	w = &where{conds: []string{"TRUE"}, args: []any{terms, from, below}}
	_, err := read("(WITH m AS MATERIALIZED (SELECT docid FROM "+table+" WHERE words MATCH ?) "+
		"SELECT docid FROM m WHERE docid >= ? AND docid < ?) s", w)
	return err
}
