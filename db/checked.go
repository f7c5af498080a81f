package db

import (
	"strings"

	"taskyard/internal/lazyregexp"
	"taskyard/task"
)

// checked caches the answers to what nearly every write asks: whether its token is
// valid, the role of its person, and what is paused. They hold for the open transaction, in which nobody
// else writes, until one of its own statements may change them. Without it, claims
// over HTTP with PostgreSQL are a quarter slower.
type checked struct {
	tokens     map[task.ID]tokenAccess
	pauses     task.Pauses
	pausesRead bool
}

type tokenAccess struct {
	valid bool
	role  task.Role // of the person
}

func (a *checked) forget() { *a = checked{tokens: map[task.ID]tokenAccess{}} }

var accessTables = lazyregexp.New(`\b(tokens|users|pauses)\b`)

// changesAccess reports whether a statement may change a cached answer.
func changesAccess(q string) bool {
	return !strings.HasPrefix(strings.TrimSpace(q), "SELECT") && accessTables().MatchString(q)
}

// keepChecked turns the cache on. Only the connection of the writer may have it.
func (c *conn) keepChecked() {
	c.checked = &checked{}
	c.checked.forget()
}
