package client

import "taskyard/task"

// Tokens prints tokens as they may be shown.
func (e *Env) Tokens(list []task.Token) {
	rows := make([][]string, len(list))
	for i, t := range list {
		who, expires := t.Agent, at(t.ExpiresAt)
		if t.Person != "" {
			who = t.Person
		}
		if expires == "" {
			expires = "never"
		}
		rows[i] = []string{t.ID.String(), t.Hint + "…", who, t.Scope, expires, at(t.UsedAt), t.Name}
	}
	e.table([]string{"TOKEN", "BEGINS", "ACTS FOR", "SCOPE", "EXPIRES", "USED", "NAME"}, rows)
}
