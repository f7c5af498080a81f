package views

import "strings"

// Undo is the act that undoes the last one: a form that a toast offers.
type Undo struct {
	Action string      `json:"a"` // path to which the form posts
	Fields [][2]string `json:"f,omitempty"`
}

// action returns the path, never an address of another site.
func (u *Undo) action() string {
	if strings.HasPrefix(u.Action, "/") && !strings.HasPrefix(u.Action, "//") && !strings.Contains(u.Action, `\`) {
		return u.Action
	}
	return URL.Inbox()
}
