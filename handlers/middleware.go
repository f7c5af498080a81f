package handlers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"taskyard/task"
)

// answerBytes bounds a JSON answer; listBytes bounds a list in it, which ends
// with a cursor if it is longer.
const (
	answerBytes = 1 << 20
	listBytes   = answerBytes - 64<<10
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

type ctxKey int

const (
	keyRequestInfo ctxKey = iota
	keyLoaded
)

// requestInfo is what the server knows about a request while it is being
// handled.
type requestInfo struct {
	id    string
	route string // method and path template
	actor task.Actor
	w     http.ResponseWriter
	leave func() // releases the share of the memory, or nil
	end   func() // releases the quota
}

func requestInfoFromContext(ctx context.Context) *requestInfo {
	info, _ := ctx.Value(keyRequestInfo).(*requestInfo)
	if info == nil {
		return &requestInfo{} // not a request context
	}
	return info
}

func requestIDFromContext(ctx context.Context) string { return requestInfoFromContext(ctx).id }

// middleware handles every request. It is one middleware with a list of checks,
// because echo builds the chain of middlewares for each request.
func (s *Server) middleware(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		r := c.Request()
		info := &requestInfo{id: rand.Text()[:16], route: r.Method + " " + c.Path(), w: c.Response(), end: func() {}}
		defer func() { info.end() }()
		ctx := context.WithValue(r.Context(), keyRequestInfo, info)
		if r.Method == http.MethodGet {
			ctx = task.WithBudget(ctx, listBytes)
		}
		c.SetRequest(r.WithContext(ctx))
		s.setHeaders(c.Response().Header(), info.id)
		defer func() {
			if info.leave != nil {
				info.leave()
				info.leave = nil
			}
		}()
		if err := s.runChecks(c, next); err != nil {
			c.Error(err)
		}
		s.logRequest(c, info, time.Since(start))
		return nil
	}
}

// runChecks runs every check, then the handler, and converts a panic to an
// error.
func (s *Server) runChecks(c echo.Context, next echo.HandlerFunc) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if e, ok := p.(error); ok && errors.Is(e, http.ErrAbortHandler) {
			panic(p)
		}
		err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}()
	for _, check := range s.checks {
		if err := check(c); err != nil {
			return err
		}
	}
	sendInPieces(c)
	return next(c)
}

// logRequest counts and logs the request.
func (s *Server) logRequest(c echo.Context, info *requestInfo, took time.Duration) {
	s.metrics.observe(c, took)
	level := slog.LevelDebug
	status := c.Response().Status
	ctx := c.Request().Context()
	// A failing health check is not a server error: the server may just be
	// starting or stopping, and the problem itself is logged elsewhere.
	meant := status == http.StatusServiceUnavailable && (ctx.Err() != nil || isHealthCheck(c.Path()))
	if status >= 500 && !meant {
		level = slog.LevelError
	}
	if s.log.Enabled(ctx, level) {
		s.log.LogAttrs(ctx, level, "request", slog.String("request_id", info.id), slog.String("method", c.Request().Method),
			slog.String("route", c.Path()), slog.Int("status", status), slog.String("actor", info.actor.Name), slog.Duration("took", took))
	}
}

// fixedHeaders are in every answer. Their values are shared: replace them with
// Set, never append. With those of one call there are at most eight, which a
// map holds without growing.
var fixedHeaders = map[string][]string{
	"Content-Security-Policy":      {policy},
	"X-Content-Type-Options":       {"nosniff"},
	"Referrer-Policy":              {"no-referrer"},
	"Cache-Control":                {"no-store"},
	"Cross-Origin-Resource-Policy": {"same-origin"},
}

// pageHeaders are also in every page: no page of another site keeps a reference
// to its window, and it uses none of the browser's devices.
var pageHeaders = map[string][]string{
	"Cross-Origin-Opener-Policy": {"same-origin"},
	"Permissions-Policy": {"accelerometer=(), camera=(), display-capture=(), geolocation=(), " +
		"gyroscope=(), hid=(), magnetometer=(), microphone=(), midi=(), payment=(), publickey-credentials-get=(), " +
		"screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=()"},
}

// overTLS is added if the server is reached over https: browsers then never use
// http again. It excludes subdomains, which may not be ours.
var overTLS = map[string][]string{"Strict-Transport-Security": {"max-age=31536000"}}

func (s *Server) setHeaders(h http.Header, id string) {
	maps.Copy(h, fixedHeaders)
	if s.secure() {
		maps.Copy(h, overTLS)
	}
	h["X-Request-Id"] = []string{id}
}

// allowedHosts are the Host headers that the server accepts; others are names
// of someone else for our address (DNS rebinding).
func allowedHosts(opt Options) map[string]bool {
	hosts := map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true}
	for _, h := range opt.AllowedHosts {
		hosts[strings.ToLower(h)] = true
	}
	if u, err := url.Parse(opt.PublicURL); err == nil && u.Hostname() != "" {
		hosts[strings.ToLower(u.Hostname())] = true
	}
	if a, ok := opt.Listen.(*net.TCPAddr); ok && !a.IP.IsUnspecified() {
		hosts[a.IP.String()] = true
	}
	return hosts
}

func (s *Server) host(c echo.Context) error {
	host := c.Request().Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1] // an IPv6 address without a port
	}
	if !s.hosts[strings.ToLower(host)] {
		return task.Errorf(kindMisdirected, task.CodeMisdirected,
			"This server does not answer to the name %q: set public_url or allowed_hosts", headerText(host))
	}
	return nil
}

// headerText makes a header's value printable.
func headerText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return s[:min(len(s), 100)]
}

// limitBody rejects bodies over maxBody, at once if their length is known.
func (s *Server) limitBody(c echo.Context) error {
	r := c.Request()
	if r.ContentLength > maxBody {
		return errTooLarge
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxBody)
	return nil
}

var errTooLarge = task.Errorf(kindTooLarge, task.CodeBodyTooLarge, "The body is over %d bytes", maxBody)

// readForm parses the whole form first, because the readers of single fields
// ignore errors.
func (s *Server) readForm(c echo.Context) error {
	r := c.Request()
	if path := r.URL.Path; r.Method != http.MethodPost || isAPI(path) || isMCP(path) {
		return nil
	}
	_, err := c.FormParams()
	switch _, tooLarge := errors.AsType[*http.MaxBytesError](err); {
	case tooLarge:
		return errTooLarge
	case err != nil:
		return task.Errorf(task.Malformed, task.CodeInvalidField,
			"The form could not be read: send each field once, in one of the two encodings that browsers use")
	}
	return nil
}

// quota counts the request for its caller and rejects it if the caller has too
// many concurrent requests, or sent too much today.
func (s *Server) quota(c echo.Context) (err error) {
	r, info := c.Request(), requestInfoFromContext(c.Request().Context())
	r.Body, info.end, err = s.svc.BeginRequest(info.actor, r.ContentLength, r.Body)
	return err
}

// authorize checks the route's permission in the one table. An agent without
// the capability for tasks has no access to routes that require more than a
// sign-in.
func (s *Server) authorize(c echo.Context) error {
	need, known := s.perms[c.Request().Method+" "+c.Path()]
	if !known {
		if c.Request().Method == http.MethodHead {
			need, known = s.perms["GET "+c.Path()]
		}
		if !known {
			return nil // echo answers 404 or 405
		}
	}
	a := actorFrom(c)
	if a.Role.May(need) {
		if a.IsAgent() && need != task.Everyone && need != task.SignedIn {
			return s.svc.CheckUsesTasks(a)
		}
		return nil
	}
	if a.Role == task.RoleNone {
		return errSignIn
	}
	return a.CheckPerm(need)
}

var errSignIn = task.Errorf(task.Unauthorized, task.CodeUnauthorized, "Sign in, or send a token")
