package handlers

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"taskyard/internal/buildinfo"
	"taskyard/task"
)

const (
	probeLimit = 2 * time.Second // a slower write is a failure
	probeEvery = time.Second     // requests in between get the last result
)

// readiness caches whether the server can do its work.
type readiness struct {
	mu       sync.Mutex
	at       time.Time
	problems map[string]string
}

// aliveBody is the answer of a running process.
type aliveBody struct {
	Status string `json:"status"`
	buildinfo.Info
}

type readyBody struct {
	Ready    bool              `json:"ready"`
	Problems map[string]string `json:"problems,omitempty"`
}

// readyz reports whether the database can be written and has space and its
// schema, whether the scheduler is running, and whether ticks and backups are
// on time.
func (s *Server) readyz(c echo.Context) error {
	problems := s.problems(c.Request().Context())
	status := http.StatusOK
	if len(problems) > 0 {
		status = http.StatusServiceUnavailable
	}
	b, err := marshalJSON(readyBody{len(problems) == 0, problems})
	if err != nil {
		return err
	}
	return c.Blob(status, "application/json", b)
}

// isHealthCheck reports whether a route is a health check for proxies.
func isHealthCheck(route string) bool { return route == "/healthz" || route == "/readyz" }

// problems probes at most once a second, because each probe is a synced write,
// and anyone may request it.
func (s *Server) problems(ctx context.Context) map[string]string {
	if s.svc.Stopping() {
		return map[string]string{"server": "is stopping; another one may answer"}
	}
	if err := s.svc.Fault(); err != nil {
		return map[string]string{"database": err.Error()} // known immediately, without a probe
	}
	r := &s.ready
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < probeEvery {
		return r.problems
	}
	found := map[string]string{}
	if why := s.probe(ctx); why != "" {
		found["database"] = why
	}
	if s.opt.Scheduler != nil && !s.opt.Scheduler.Alive() {
		found["scheduler"] = "has not run for too long"
	}
	maps.Copy(found, s.svc.HealthProblems(ctx))
	if s.opt.Scheduler != nil {
		maps.Copy(found, s.opt.Scheduler.Health().Late)
	}
	r.at, r.problems = time.Now(), found
	return found
}

// probe returns why the database cannot be written now, or "". The store
// rejects writes if its file was deleted or replaced.
func (s *Server) probe(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeLimit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.svc.Probe(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	e, known := knownError(err)
	switch {
	case err == nil:
		return ""
	case known:
		return e.Message
	case errors.Is(err, context.DeadlineExceeded):
		return "a write took longer than " + probeLimit.String()
	}
	s.log.Error("probe failed", "error", err)
	return "internal error; the log has more"
}

// checkMetricsAccess returns CodeUnauthorized unless the caller may read the
// metrics: with a token, or from this machine. Behind a local proxy, every
// caller appears to be on this machine, so that counts only if nothing suggests
// a proxy.
func (s *Server) checkMetricsAccess(c echo.Context) error {
	if actorFrom(c).May(task.Read) {
		return nil
	}
	ip := net.ParseIP(c.RealIP())
	if ip == nil || !ip.IsLoopback() || s.opt.PublicURL != "" || len(s.opt.TrustedProxies) > 0 || forwarded(c.Request()) {
		return errSignIn
	}
	return nil
}

// forwarded reports whether a request shows signs of a proxy. By default, nginx
// adds no header, but uses HTTP/1.0, which no collector does.
func forwarded(r *http.Request) bool {
	for name := range r.Header {
		switch name {
		case "Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip":
			return true
		}
		if strings.HasPrefix(name, "X-Forwarded") {
			return true
		}
	}
	return !r.ProtoAtLeast(1, 1)
}
