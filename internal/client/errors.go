package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"taskyard/task"
)

// The exit codes of the command line.
const (
	ExitDone        = 0
	ExitRefused     = 1 // the server, or a check, rejected it
	ExitUsage       = 2 // wrong usage of the command
	ExitNothing     = 3 // nothing to claim, pop or peek at
	ExitUnreachable = 4 // no server answered
)

// ExitCode returns the exit code for an error.
func ExitCode(err error) int {
	var usage *UsageError
	var unreachable *UnreachableError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &usage):
		return ExitUsage
	case errors.Is(err, ErrNothing):
		return ExitNothing
	case errors.As(err, &unreachable) && !errors.Is(err, context.Canceled):
		return ExitUnreachable
	}
	return ExitRefused
}

// ErrNothing is the normal result for an empty queue or list.
var ErrNothing = errors.New("there is nothing")

// nothingError is an ErrNothing with a specific message.
type nothingError string

func (n nothingError) Error() string      { return string(n) }
func (nothingError) Is(target error) bool { return target == ErrNothing }

// UsageError is a wrong use of a command.
type UsageError struct{ Message string }

func (u *UsageError) Error() string { return u.Message }

func usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// UnreachableError means that no server answered.
type UnreachableError struct {
	URL     string
	Err     error
	Gateway bool // a gateway answered in its place
	Foreign bool // another program answered
}

func (u *UnreachableError) Error() string {
	if u.Foreign {
		return fmt.Sprintf("another program than Taskyard answered at %s: %v (check TASKYARD_URL)", u.URL, u.Err)
	}
	err := u.Err
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err // without the address, which the message already has
	}
	return fmt.Sprintf("cannot reach the server at %s: %v (check TASKYARD_URL)", u.URL, err)
}

func (u *UnreachableError) Unwrap() error { return u.Err }

// ResponseError is an answer with a problem body.
type ResponseError struct {
	Status     int               `json:"status"`
	Code       string            `json:"code"`
	Detail     string            `json:"detail"`
	Errors     []task.FieldError `json:"errors"`
	RequestID  string            `json:"requestId"`
	RetryAfter int               `json:"-"` // seconds, or 0
}

// unknownPath is the beginning of the server's message for an unknown path; for
// a missing object, the message names that.
const unknownPath = "No endpoint has this path"

// Error returns the message with its fields, one per line, and a remedy if the
// server cannot know it.
func (r *ResponseError) Error() string {
	detail := strings.ReplaceAll(strings.TrimRight(r.Detail, "\n"), "\n", "\n  ") // it may end with a run's reason
	lines := []string{fmt.Sprintf("%s (%s)", detail, strings.TrimSpace(fmt.Sprint(r.Status, " ", r.Code)))}
	for _, f := range r.Errors {
		if !strings.Contains(r.Detail, f.Message) {
			lines = append(lines, fmt.Sprintf("  %s: %s", f.Field, f.Message))
		} else if !strings.Contains(r.Detail, f.Field+":") {
			lines = append(lines, "  field: "+f.Field)
		}
	}
	switch {
	case r.Status == http.StatusUnauthorized:
		lines = append(lines, "  TASKYARD_TOKEN must hold a token that is not expired or revoked; create one "+
			"on the Settings page, or with: taskyard token create --data DIR --agent NAME")
	case r.Code == string(task.CodeNotFound) && strings.HasPrefix(r.Detail, unknownPath):
		lines = append(lines, "  the server does not know this command; it may be older than this program")
	case r.RetryAfter > 0:
		lines = append(lines, fmt.Sprintf("  try again in %d s", r.RetryAfter))
	case r.Status == http.StatusInternalServerError && r.RequestID != "":
		lines = append(lines, "  request "+r.RequestID)
	case r.Code == "":
		lines = append(lines, "  another program than Taskyard answered; check TASKYARD_URL")
	}
	return strings.Join(lines, "\n")
}
