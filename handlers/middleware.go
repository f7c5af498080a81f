package handlers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"taskyard/task"
)

// maxBody is how many bytes a request may send.
const maxBody = 1 << 20

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

type ctxKey int

const (
	keyRequestID ctxKey = iota
	keyActor
)

func (s *Server) requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := rand.Text()[:16]
		c.Response().Header().Set("X-Request-Id", id)
		r := c.Request()
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), keyRequestID, id)))
		return next(c)
	}
}

func requestIDOf(ctx context.Context) string {
	id, _ := ctx.Value(keyRequestID).(string)
	return id
}

// logged writes one line a request. Errors are answered here, so that the
// line knows the status.
func (s *Server) logged(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		if err := next(c); err != nil {
			c.Error(err)
		}
		took := time.Since(start)
		s.metrics.observe(c, took)
		level := slog.LevelDebug
		status := c.Response().Status
		if status >= 500 {
			level = slog.LevelError
		}
		ctx := c.Request().Context()
		if s.log.Enabled(ctx, level) {
			s.log.LogAttrs(ctx, level, "request", slog.String("request_id", requestIDOf(ctx)), slog.String("method", c.Request().Method),
				slog.String("route", c.Path()), slog.Int("status", status), slog.String("actor", actorOf(c).Name), slog.Duration("took", took))
		}
		return nil
	}
}

func (s *Server) recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
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
		return next(c)
	}
}

func (s *Server) headers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		return next(c)
	}
}

// allowedHosts are the Host headers that the server answers to; others are
// somebody's name for our address (DNS rebinding).
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

func (s *Server) host(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		host := c.Request().Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if !s.hosts[strings.ToLower(strings.Trim(host, "[]"))] {
			return task.Errorf(kindMisdirected, task.CodeMisdirected, "This server does not answer to the name %q: set public_url or allowed_hosts", clean(host))
		}
		return next(c)
	}
}

// clean makes a header's value fit to be shown.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return s[:min(len(s), 100)]
}

// limitBody refuses bodies over maxBody, at once where their length is told.
func (s *Server) limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength > maxBody {
			return errTooLarge
		}
		r.Body = http.MaxBytesReader(c.Response(), r.Body, maxBody)
		return next(c)
	}
}

var errTooLarge = task.Errorf(kindTooLarge, task.CodeBodyTooLarge, "The body is over %d bytes", maxBody)

// authorize checks the route's permission against the one table.
func (s *Server) authorize(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		need, known := s.perms[c.Request().Method+" "+c.Path()]
		if !known {
			if c.Request().Method == http.MethodHead {
				need, known = s.perms["GET "+c.Path()]
			}
			if !known {
				return next(c) // echo answers 404 or 405 for these
			}
		}
		a := actorOf(c)
		if a.Role.May(need) {
			return next(c)
		}
		if a.Role == task.RoleNone {
			return errSignIn
		}
		s.svc.Refused(c.Request().Context(), a, c.Request().Method+" "+c.Path())
		return task.Errorf(task.Forbidden, task.CodeForbidden, "%s (%s) may not do this: it needs the permission %q", a.Name, a.Role, need)
	}
}

var errSignIn = task.Errorf(task.Unauthorized, task.CodeUnauthorized, "Sign in, or send a token")
