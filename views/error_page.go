package views

import (
	"cmp"
	"net/http"
	"strconv"

	"taskyard/task"
	"taskyard/views/ui"
)

// ErrorModel is a page that says what went wrong and what to do.
type ErrorModel struct {
	Status    int
	Title     string // "": the usual one for the status
	Message   string
	RequestID string      // "": not shown
	Back      string      // where to continue; "": the inbox
	Again     string      // URL to retry; "": a retry does not help
	Retry     int         // seconds to wait before that, or 0
	May       []task.Role // roles that may do it, if the role is the reason
	Code      task.Code
	Address   bool           // the error is in the URL, not in a form
	Unsaved   []UnsavedField // contents of the rejected form
}

func (m ErrorModel) back() string { return cmp.Or(m.Back, URL.Inbox()) }

// titles are the titles by status.
var titles = map[int]string{
	http.StatusBadRequest:            "Invalid request",
	http.StatusUnauthorized:          "Sign in first",
	http.StatusForbidden:             "You don't have permission",
	http.StatusNotFound:              "Page not found",
	http.StatusMethodNotAllowed:      "Method not allowed",
	http.StatusConflict:              "Something has changed",
	http.StatusRequestEntityTooLarge: "Request too large",
	http.StatusUnprocessableEntity:   "Invalid request",
	http.StatusTooManyRequests:       "Too many requests",
	http.StatusInternalServerError:   "Something went wrong",
	http.StatusServiceUnavailable:    "Temporarily unavailable",
	http.StatusInsufficientStorage:   "The server's disk is full",
}

func (m ErrorModel) title() string {
	if m.Address {
		return "Invalid address"
	}
	if t := titles[m.Status]; t != "" && (m.Title == "" || m.Title == http.StatusText(m.Status)) {
		return t
	}
	return m.Title
}

// remedies say what to do, if the status determines that.
var remedies = map[int]string{
	http.StatusBadRequest:   "Go back and fix it; your input is still there.",
	http.StatusUnauthorized: "Sign in again; you'll return to this page.",
	http.StatusForbidden:    "Ask an admin for access.",
	http.StatusNotFound: "Check the address; the page may have been deleted. " +
		"Closed tasks keep their address and are in the history.",
	http.StatusConflict:              "Review the current state, then decide again.",
	http.StatusRequestEntityTooLarge: "Send less at once, or put long text in a file and link to it.",
	http.StatusUnprocessableEntity:   "Go back and fix it; your input is still there.",
	http.StatusTooManyRequests:       "Wait a moment, then try again.",
	http.StatusInternalServerError:   "Try again. If it persists, send the request ID to your admin; the server log has the details.",
	http.StatusInsufficientStorage:   "Nothing was changed. An admin must free disk space.",
}

func (m ErrorModel) remedy() string {
	switch {
	case m.Status == http.StatusUnauthorized && len(m.Unsaved) > 0:
		return "Copy what you typed, then sign in again; you'll return to the previous page."
	case m.Address:
		return "A filter in the address is invalid; the link may be old."
	case m.Code == task.CodeCrossSite:
		return "Go back, reload the page and submit again."
	case len(m.May) > 0:
		return "This is for " + joinRoles(m.May) + ". Ask one of them to do it, or an admin to change your role."
	case m.Status == http.StatusTooManyRequests && m.Retry > 0:
		return "Wait " + ui.Count(m.Retry, "second", "seconds") + ", then try again."
	}
	return remedies[m.Status]
}

// backLabel returns the label of the link to continue.
func (m ErrorModel) backLabel() string {
	switch {
	case m.Status == http.StatusConflict && m.Back != "":
		return "View current state"
	case m.Status == http.StatusUnauthorized:
		return "Sign in"
	case m.Address:
		return "Remove the filter"
	}
	return "Go back"
}

func (m ErrorModel) status() string { return strconv.Itoa(m.Status) }

// joinRoles lists roles, such as "operators, reviewers and admins".
func joinRoles(roles []task.Role) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r) + "s"
	}
	return joinList(words, "and")
}
