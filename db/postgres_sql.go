package db

import (
	"strconv"
	"strings"
	"sync"
)

// forPostgres turns a statement, which is written for SQLite, into one for
// PostgreSQL. What differs in more than this is a storeSQL.
//
//   - ? and ?2 are $1 and $2.
//   - INDEXED BY names an index of SQLite and is dropped; CROSS JOIN … ON, which
//     holds SQLite to an order of tables, is JOIN … ON.
//   - A query in FROM gets a name, which PostgreSQL demands.
//   - json_group_array, which is [] for no rows, is json_agg; json_array,
//     json_each, group_concat and char have other names.
//   - words MATCH is words @@ words_query.
func forPostgres(q string) string {
	if s, ok := translated.Load(q); ok {
		return s.(string)
	}
	t := translation{tokens: sqlTokens(q)}
	for t.at < len(t.tokens) {
		t.next()
	}
	s := t.out.String()
	translated.Store(q, s)
	return s
}

// translated keeps what forPostgres returned: there are as many statements as
// the program has.
var translated sync.Map

// storeSQL is a statement that the two stores write differently.
type storeSQL struct{ sqlite, postgres string }

// forStore returns the statement for the store that rx reads.
func (p storeSQL) forStore(rx *Rx) string {
	if rx.c.postgres() {
		return p.postgres
	}
	return p.sqlite
}

// translation is a statement that is being translated.
type translation struct {
	tokens []string
	at     int
	out    strings.Builder
	args   int      // the highest number so far
	names  int      // given to queries in FROM
	closes []string // what each open parenthesis ends with; "FROM": a query that needs a name
}

// renamed are functions that differ only in their name.
var renamed = map[string]string{
	"json_array": "json_build_array", "json_object": "json_build_object", "char": "chr", "json_each": "json_elements",
	"sqlite_sequence": "sequences",
	"search_docsize":  "search", "search_parts_docsize": "search_parts", "open_search_docsize": "open_search",
	"BINARY": `"C"`, "LIKE": "ILIKE",
}

func (t *translation) next() {
	tok := t.tokens[t.at]
	t.at++
	switch {
	case tok[0] == '?':
		n, err := strconv.Atoi(tok[1:])
		if err != nil { // the one after the highest so far
			n = t.args + 1
		}
		t.args = max(t.args, n)
		t.out.WriteString("$" + strconv.Itoa(n))
	case tok == "(":
		t.closes = append(t.closes, t.opened())
		t.out.WriteByte('(')
	case tok == ")":
		t.close()
	case tok == "INDEXED": // BY name
		t.skip(2)
	case tok == "CROSS" && t.hasOn():
	case tok == "COLLATE" && t.peek() == "BINARY" && strings.HasPrefix(t.before(2), "?"):
		// Only SQLite needs it, for a number. PostgreSQL takes it until it analyzes
		// the prepared statement again, with the type of the argument.
		t.skip(1)
	case tok == "MATCH":
		t.out.WriteString("@@ (SELECT words_query(") // once for all rows
		t.word()
		t.next()
		t.out.WriteString("))")
	case tok == "json_group_array":
		t.out.WriteString("coalesce(json_agg")
	case tok == "group_concat":
		t.out.WriteString("string_agg")
	default:
		if t.peek() == "MATCH" && isWord(tok[0]) {
			tok = "words" // of the one table of the search
		} else if to := renamed[tok]; to != "" {
			tok = to
		}
		t.out.WriteString(tok)
	}
}

// opened returns how the parenthesis that opens now has to end.
func (t *translation) opened() string {
	switch strings.ToUpper(t.before(2)) {
	case "FROM", "JOIN":
		if k := t.peek(); k == "SELECT" || k == "WITH" {
			return "FROM"
		}
	case "JSON_GROUP_ARRAY":
		return "), '[]')"
	case "GROUP_CONCAT":
		return "::text, ',')"
	}
	return ")"
}

func (t *translation) close() {
	end := t.closes[len(t.closes)-1]
	t.closes = t.closes[:len(t.closes)-1]
	if end != "FROM" {
		t.out.WriteString(end)
		return
	}
	t.out.WriteByte(')')
	if isName(t.peek()) {
		return
	}
	t.names++
	t.out.WriteString(" AS q" + strconv.Itoa(t.names))
}

// hasOn reports whether the join that begins now has a condition.
func (t *translation) hasOn() bool {
	depth := 0
	for _, tok := range t.tokens[t.at+1:] {
		switch strings.ToUpper(tok) {
		case "(":
			depth++
		case ")":
			if depth--; depth < 0 {
				return false
			}
		case "ON":
			if depth == 0 {
				return true
			}
		case "WHERE", "ORDER", "GROUP", "UNION", "LIMIT", ",", "CROSS", "LEFT":
			if depth == 0 {
				return false
			}
		}
	}
	return false
}

// notNames are the words that may follow a query in FROM which has no name.
var notNames = map[string]bool{
	"": true, ")": true, ",": true, "WHERE": true, "ORDER": true, "GROUP": true, "LIMIT": true, "UNION": true, "INTERSECT": true,
	"EXCEPT": true, "ON": true, "JOIN": true, "CROSS": true, "LEFT": true, "FULL": true, "HAVING": true, "RETURNING": true,
}

func isName(tok string) bool { return !notNames[strings.ToUpper(tok)] }

// peek returns the next token that is no space, "" at the end.
func (t *translation) peek() string {
	for _, tok := range t.tokens[t.at:] {
		if !isSpace(tok[0]) {
			return tok
		}
	}
	return ""
}

// before returns the nth token before the next one, spaces not counted.
func (t *translation) before(n int) string {
	for i := t.at - 1; i >= 0; i-- {
		if isSpace(t.tokens[i][0]) {
			continue
		}
		if n--; n == 0 {
			return t.tokens[i]
		}
	}
	return ""
}

// skip drops the next n tokens with the spaces before them.
func (t *translation) skip(n int) {
	for n > 0 && t.at < len(t.tokens) {
		if !isSpace(t.tokens[t.at][0]) {
			n--
		}
		t.at++
	}
}

// word goes to the next token that is no space.
func (t *translation) word() {
	for t.at < len(t.tokens) && isSpace(t.tokens[t.at][0]) {
		t.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// sqlTokens cuts a statement into words, numbers of arguments, quoted texts,
// spaces, and single other characters.
func sqlTokens(q string) (list []string) {
	for i := 0; i < len(q); {
		j := i + 1
		switch c := q[i]; {
		case c == '\'' || c == '"':
			for j < len(q) && q[j] != c {
				j++
			}
			j++
		case isSpace(c):
			for j < len(q) && isSpace(q[j]) {
				j++
			}
		case c == '?':
			for j < len(q) && q[j] >= '0' && q[j] <= '9' {
				j++
			}
		case isWord(c):
			for j < len(q) && isWord(q[j]) {
				j++
			}
		}
		list = append(list, q[i:min(j, len(q))])
		i = j
	}
	return list
}
