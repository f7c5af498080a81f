package client

import (
	"cmp"

	"taskyard/task"
)

// Tokens prints tokens without their secrets.
func (e *Env) Tokens(list []task.Token) {
	rows := make([][]string, len(list))
	for i, t := range list {
		rows[i] = []string{
			t.ID.String(), t.Hint + "…", cmp.Or(t.Person, t.Agent), t.Scope, cmp.Or(at(t.ExpiresAt), "never"),
			at(t.UsedAt), t.Name,
		}
	}
	e.table([]string{"TOKEN", "BEGINS", "ACTS FOR", "SCOPE", "EXPIRES", "USED", "NAME"}, rows)
}
