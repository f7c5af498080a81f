package views

import "strings"

// Undo is the act that takes the last one back: a form that a toast offers.
type Undo struct {
	Action string      `json:"a"` // path to which the form posts
	Fields [][2]string `json:"f,omitempty"`
}

// action is the path, and never an address elsewhere.
func (u *Undo) action() string {
	if strings.HasPrefix(u.Action, "/") && !strings.HasPrefix(u.Action, "//") && !strings.Contains(u.Action, `\\`) {
		return u.Action
	}
	return URL.Inbox()
}
