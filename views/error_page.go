package views

import (
	"net/http"
	"strconv"
	"strings"

	"taskyard/task"
)

// ErrorModel is a page that says what went wrong and what to do.
type ErrorModel struct {
	Status    int
	Title     string // "" is the usual one of the status
	Message   string
	RequestID string      // "" is not shown
	Back      string      // where to go on; "" means the inbox
	Again     string      // what to ask for once more; "" where that is no use
	Retry     int         // seconds to wait before that, or 0
	May       []task.Role // who may do it, where a role is what is missing
	Code      task.Code
	Address   bool   // what is wrong stands in the address, not in a form
	Kept      []Kept // what the refused form held
}

func (m ErrorModel) back() string {
	if m.Back == "" {
		return URL.Inbox()
	}
	return m.Back
}

// titles say a status as a person would.
var titles = map[int]string{
	http.StatusBadRequest:            "Something in it is wrong",
	http.StatusUnauthorized:          "Sign in first",
	http.StatusForbidden:             "You may not do this",
	http.StatusNotFound:              "Nothing is here",
	http.StatusMethodNotAllowed:      "That cannot be done here",
	http.StatusConflict:              "Things have changed",
	http.StatusRequestEntityTooLarge: "That is too large",
	http.StatusUnprocessableEntity:   "Something in it is wrong",
	http.StatusTooManyRequests:       "Too often",
	http.StatusInternalServerError:   "That is our fault",
	http.StatusServiceUnavailable:    "Not just now",
	http.StatusInsufficientStorage:   "The disk of the server is full",
}

func (m ErrorModel) title() string {
	if m.Address {
		return "Something in the address is wrong"
	}
	if t := titles[m.Status]; t != "" && (m.Title == "" || m.Title == http.StatusText(m.Status)) {
		return t
	}
	return m.Title
}

// remedies say what to do, where the status alone tells it.
var remedies = map[int]string{
	http.StatusBadRequest:            "Go back and mend it; your browser still has what you typed.",
	http.StatusUnauthorized:          "Sign in again; you get back to this page.",
	http.StatusForbidden:             "Ask an admin of this server.",
	http.StatusNotFound:              "The address may be mistyped, or what was here is gone. Finished tasks keep their address and stand in the history.",
	http.StatusConflict:              "Look at it as it is now, then decide again.",
	http.StatusRequestEntityTooLarge: "Send less at a time. Put long texts into a file and link to it.",
	http.StatusUnprocessableEntity:   "Go back and mend it; your browser still has what you typed.",
	http.StatusTooManyRequests:       "Wait a moment, then try again.",
	http.StatusInternalServerError:   "Try again. If it stays so, give whoever runs this server the number of the request: the log has more under it.",
	http.StatusServiceUnavailable:    "Try again in a moment.",
	http.StatusInsufficientStorage:   "Nothing was changed. Whoever runs this server must free some space.",
}

func (m ErrorModel) remedy() string {
	switch {
	case m.Status == http.StatusUnauthorized && len(m.Kept) > 0:
		return "Copy what you typed, then sign in again; you get back to the page that you came from."
	case m.Address:
		return "The address of the page asks for it; it may come from an old link."
	case m.Code == task.CodeCrossSite:
		return "Go back, load the page again and send it once more."
	case len(m.May) > 0:
		return "This is for " + rolesInWords(m.May) + ". Ask one of them to do it, or an admin to change your role."
	case m.Status == http.StatusTooManyRequests && m.Retry > 0:
		return "Wait " + Count(m.Retry, "second", "seconds") + ", then try again."
	}
	return remedies[m.Status]
}

// backLabel names the way on.
func (m ErrorModel) backLabel() string {
	if m.Status == http.StatusConflict && m.Back != "" {
		return "Look at it now"
	}
	switch {
	case m.Status == http.StatusUnauthorized:
		return "Sign in"
	case m.Address:
		return "Show it without the filter"
	}
	return "Go back"
}

func (m ErrorModel) status() string { return strconv.Itoa(m.Status) }

// rolesInWords lists roles, such as "operators, reviewers and admins".
func rolesInWords(roles []task.Role) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r) + "s"
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
