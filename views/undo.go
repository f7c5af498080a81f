package views

import "strings"

// Undo undoes the last action: a form in a toast.
type Undo struct {
	Action string      `json:"a"` // path that the form posts to
	Fields [][2]string `json:"f,omitempty"`
}

// action returns the path, never a URL of another site.
func (u *Undo) action() string {
	if strings.HasPrefix(u.Action, "/") && !strings.HasPrefix(u.Action, "//") && !strings.Contains(u.Action, `\`) {
		return u.Action
	}
	return URL.Inbox()
}
