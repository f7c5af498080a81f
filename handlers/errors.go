package handlers

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// Error kinds that exist only in HTTP.
const (
	kindMisdirected task.Kind = "misdirected"
	kindTooLarge    task.Kind = "too_large"
	kindMedia       task.Kind = "media"
	kindMethod      task.Kind = "method"
)

var statuses = map[task.Kind]int{
	task.Malformed: 400, task.Unauthorized: 401, task.Forbidden: 403, task.NotFound: 404, kindMethod: 405, task.Conflict: 409,
	kindTooLarge: 413, kindMedia: 415, kindMisdirected: 421, task.Invalid: 422, task.TooMany: 429, task.Unavailable: 503, task.Full: 507,
}

// knownError returns the error that a caller may read.
func knownError(err error) (*task.Error, bool) { return errors.AsType[*task.Error](err) }

// errorKind returns the kind of an error that a caller may read, "" for others.
func errorKind(err error) task.Kind {
	if e, ok := knownError(err); ok {
		return e.Kind
	}
	return ""
}

// Problem is the one error body of the JSON endpoints (RFC 9457).
//
//nolint:errname // the standard's own name
type Problem struct {
	Status    int               `json:"status" doc:"HTTP status"`
	Title     string            `json:"title" doc:"name of the status"`
	Code      string            `json:"code" doc:"stable name of the error; the list is in the description"`
	Detail    string            `json:"detail" doc:"what happened, in plain text"`
	Errors    []task.FieldError `json:"errors,omitempty" doc:"invalid fields, at most 20"`
	More      int               `json:"moreErrors,omitempty" doc:"how many more invalid fields there are"`
	Task      *task.Task        `json:"task,omitempty" doc:"with stale_version: the current task"`
	Version   string            `json:"version,omitempty" doc:"with run_changed: the current version"`
	RequestID string            `json:"requestId"`

	retry int
}

// Error, GetStatus and ContentType make a Problem an error that huma can
// return.
func (p *Problem) Error() string { return p.Detail }

// GetStatus returns the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the media type of RFC 9457.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// problemFromError converts an error to an answer; nothing else does. An error
// other than a task.Error is internal: it is logged, and the caller sees only
// its request ID.
func (s *Server) problemFromError(ctx context.Context, err error) *Problem {
	p := &Problem{RequestID: requestIDFromContext(ctx)}
	var e *task.Error
	var h *echo.HTTPError
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		p.RequestID = requestIDFromContext(ctx)
		return p
	case errors.As(err, &big):
		return s.problemFromError(ctx, errTooLarge)
	case errors.As(err, &e) && statuses[e.Kind] != 0:
		info := requestInfoFromContext(ctx)
		s.svc.Refused(ctx, info.actor, info.route, err)
		p = problemFromTaskError(e)
		p.RequestID = requestIDFromContext(ctx)
	case errors.As(err, &h) && h.Code == http.StatusNotFound:
		p.Status, p.Code, p.Detail = h.Code, string(task.CodeNotFound), pathNotFound
	case errors.As(err, &h) && h.Code == http.StatusMethodNotAllowed:
		p.Status, p.Code, p.Detail = h.Code, string(task.CodeMethodNotAllowed), "The path exists, but not with this method"
	case errors.Is(err, context.Canceled):
		p.Status, p.Code, p.Detail = http.StatusServiceUnavailable, string(task.CodeUnavailable), "The request was canceled"
	default:
		p.Status, p.Code, p.Detail = http.StatusInternalServerError, string(task.CodeInternal),
			"Internal error; the log has the details under this request ID"
		s.log.ErrorContext(ctx, "internal error", "request_id", p.RequestID, "error", err)
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// The messages for an unknown path: of a page, and of an endpoint.
const (
	pathNotFound     = "Not found"
	endpointNotFound = "No endpoint has this path; " + docsPath + " lists all of them"
)

// problemFromTaskError converts an error that a caller may read.
func problemFromTaskError(e *task.Error) *Problem {
	p := &Problem{
		Status: statuses[e.Kind], Title: http.StatusText(statuses[e.Kind]), Code: string(e.Code),
		Detail: e.Message, Errors: e.AllFields(), More: e.More,
		Task: e.Task, Version: e.Version, retry: e.Retry,
	}
	if e.Code == task.CodeInvalidField && len(p.Errors) > 0 {
		p.Detail = task.JoinFields(p.Errors, p.More) // the message of a single field does not name it
	}
	return p
}

const challenge = `Bearer realm="taskyard"`

// fail answers a request that failed: as JSON below /api and /mcp, otherwise as
// a page.
func (s *Server) fail(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	p := s.problemFromError(c.Request().Context(), err)
	h := c.Response().Header()
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenge)
	}
	if allowed := h.Get(echo.HeaderAllow); p.Status == http.StatusMethodNotAllowed && allowed != "" {
		p.Detail += "; it has " + allowed
	}
	if p.Status == http.StatusNotFound && p.Detail == pathNotFound && isAPI(c.Request().URL.Path) {
		p.Detail = endpointNotFound
	}
	setRetry(c, p.retry)
	if !wantsPage(c) {
		s.sendProblem(c, p)
		return
	}
	if p.Status == http.StatusUnauthorized {
		s.toLogin(c, p)
		return
	}
	s.errorPage(c, p)
}

// setRetry sets Retry-After to a number of seconds; 0 sets nothing.
func setRetry(c echo.Context, seconds int) {
	if seconds > 0 {
		c.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
	}
}

func wantsPage(c echo.Context) bool {
	path := c.Request().URL.Path
	for _, prefix := range []string{"/api", "/mcp", "/healthz", "/readyz", "/metrics", "/live"} {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return false
		}
	}
	return true
}

func (s *Server) sendProblem(c echo.Context, p *Problem) {
	b, err := marshalJSON(p)
	if err != nil {
		s.log.Error("failed to encode the problem", "error", err)
		return
	}
	if err := c.Blob(p.Status, "application/problem+json", b); err != nil {
		s.log.Debug("failed to send the answer", "error", err)
	}
}

// toLogin redirects a browser to the sign-in page, which leads back. A script
// that requests a part of a page gets an error instead, so that typed text is
// not lost; so does a plain form with text.
func (s *Server) toLogin(c echo.Context, p *Problem) {
	if isScriptRequest(c) || isScriptForm(c) {
		s.errorPage(c, p)
		return
	}
	next := ""
	switch r := c.Request(); {
	case r.Method != http.MethodGet:
		next = backURL(c, "/")
	case r.URL.Path != "/":
		next = r.URL.RequestURI()
	}
	if len(unsavedTextFor(c, p)) > 0 {
		c.Set("back", views.URL.Login(next))
		s.errorPage(c, p)
		return
	}
	if err := c.Redirect(http.StatusSeeOther, views.URL.Login(next)); err != nil {
		s.log.Debug("failed to send the answer", "error", err)
	}
}

// localPath returns s if it is a path on this site, else "/".
func localPath(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") || strings.Contains(s, `\`) {
		return "/"
	}
	return s
}
