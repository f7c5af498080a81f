// Package handlers serves pages, fragments and JSON endpoints on top of one
// service. Only this package imports echo, huma and scs. A handler parses the
// request, makes one service call, and renders the result.
package handlers

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"taskyard/internal/buildinfo"
	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// Scheduler is the part of the scheduler that the pages use.
type Scheduler interface {
	NextTick() task.Time // 0: none is planned
	NextTicks(n int) []task.Time
	Window() string           // the cron line and its zone, in words
	Jobs() []task.JobInfo     // every background job
	RunJob(name string) error // starts one now; returns NotFound for unknown names
	Alive() bool              // false: it has not run for too long
	Health() task.SchedulerHealth
}

// Options configures how an instance is served.
type Options struct {
	Service        *service.Service
	Scheduler      Scheduler
	Log            *slog.Logger
	Build          buildinfo.Info
	DataDir        string
	Listen         net.Addr // listening address; its host names are accepted
	PublicURL      string   // "https://…" if behind a proxy, otherwise ""
	AllowedHosts   []string
	TrustedProxies []string                                   // addresses and ranges whose X-Forwarded-For is trusted
	Enforces       func(task.Spec) []task.Enforcement         // what a runner enforces of a spec; nil: unknown
	EnforcementGap func(runner string, tools []string) string // what an agent could do beyond its tools, or ""; nil: always ""
	Runners        Runners                                    // state of the runners; nil: not shown
	Demo           bool                                       // a demo instance: the inbox suggests what to try
	MCP            http.Handler                               // serves /mcp to callers with a token; nil: disabled
	FormKey        []byte                                     // with which servers recognize each other's forms; nil: there are no others
}

// Server serves an instance over HTTP.
type Server struct {
	opt      Options
	prefix   string // prefix of all paths, "" at the root of the host
	svc      *service.Service
	log      *slog.Logger
	echo     *echo.Echo
	handler  http.Handler // echo, compressed
	alive    []byte       // the answer of /healthz
	leaving  []byte       // the same while the server is stopping
	api      huma.API
	sessions *scs.SessionManager
	origin   *http.CrossOriginProtection
	formKey  []byte
	hosts    map[string]bool
	perms    map[string]task.Perm // "METHOD /route/:param" → required permission
	checks   []func(echo.Context) error
	started  time.Time
	metrics  *metrics
	ready    readiness
	ops      []op                    // the JSON operations, in the order of the reference
	spec     func() ([]byte, error)  // the OpenAPI document, created on first use
	docs     func() *views.DocsModel // the reference of the JSON endpoints, created on first use
	gate     *memoryGate
	conns    *conns
	parts    ui.PartCache

	profiling sync.Mutex // held while a profile is taken
}

// New returns a server with all its routes.
func New(opt Options) (*Server, error) {
	if opt.Log == nil {
		opt.Log = slog.Default()
	}
	if opt.MCP == nil {
		opt.MCP = http.NotFoundHandler()
	}
	s := &Server{
		opt: opt, prefix: pathPrefix(opt.PublicURL), svc: opt.Service, log: opt.Log, echo: echo.New(), origin: http.NewCrossOriginProtection(),
		perms: map[string]task.Perm{}, started: time.Now(), gate: newGate(),
	}
	var err error
	if s.alive, err = marshalJSON(aliveBody{"ok", opt.Build}); err != nil {
		return nil, err
	}
	if s.leaving, err = marshalJSON(aliveBody{"stopping", opt.Build}); err != nil {
		return nil, err
	}
	if s.conns, err = newConns(opt.TrustedProxies); err != nil {
		return nil, err
	}
	s.metrics = newMetrics(opt.Service, opt.Scheduler, s.conns, opt.Log)
	if s.formKey = opt.FormKey; s.formKey == nil {
		s.formKey = make([]byte, sha256.Size)
		_, _ = rand.Read(s.formKey) // never fails
	}
	s.sessions = s.newSessions()
	s.hosts = allowedHosts(opt)
	s.echo.HideBanner, s.echo.HidePort = true, true
	s.echo.HTTPErrorHandler = s.fail
	if s.echo.IPExtractor, err = ipExtractor(opt.TrustedProxies); err != nil {
		return nil, err
	}
	s.checks = []func(echo.Context) error{
		s.host, s.limitBody, s.identify, s.quota, s.admit,
		s.readForm, s.sameSite, s.authorize, s.bufferBody, s.redact, s.apiGuard,
	}
	s.echo.Use(s.middleware, redirectScripts)
	s.routes()
	s.spec = sync.OnceValues(func() ([]byte, error) { return json.Marshal(s.api.OpenAPI()) })
	s.docs = sync.OnceValue(s.docsModel)
	if s.handler, err = compress(s.echo); err != nil {
		return nil, err
	}
	s.handler = withPrefix(s.prefix, s.handler)
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// HTTP returns a server with limits on slow and large requests: headers 5 s and
// 32 KB, bodies 30 s, answers 30 s (streams extend theirs), idle connections 60
// s, and those on the number of connections.
func (s *Server) HTTP() *http.Server {
	return &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 60 * time.Second, MaxHeaderBytes: 32 << 10, ConnState: s.conns.state,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

func ipExtractor(proxies []string) (echo.IPExtractor, error) {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect(), nil
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		block, err := proxyRange(p)
		if err != nil {
			return nil, err
		}
		a := block.Addr()
		trust = append(trust, echo.TrustIPRange(&net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(block.Bits(), a.BitLen())}))
	}
	return echo.ExtractIPFromXFFHeader(trust...), nil
}
