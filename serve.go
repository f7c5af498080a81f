package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"taskyard/db"
	"taskyard/handlers"
	"taskyard/internal/config"
	"taskyard/internal/mcpserver"
	"taskyard/jobs"
	"taskyard/runner"
	"taskyard/runner/instance"
	"taskyard/runner/model"
	"taskyard/runner/scratch"
	"taskyard/views"
)

// wallClock is the time of a server. A test sets it to play a machine that is
// suspended, or whose clock is set.
var wallClock = time.Now

type serveCmd struct {
	settings
	Listen string `help:"Address to listen on (default 127.0.0.1:8080; port 0 takes a free one)." placeholder:"HOST:PORT"`
}

// Run serves until it is told to stop.
func (c *serveCmd) Run(e *env) error {
	more := map[string]string{}
	if c.Listen != "" {
		more["listen"] = c.Listen
	}
	cfg, _, err := c.load(e, more)
	if err != nil {
		return err
	}
	return serve(e, cfg, newLogger(e, cfg.LogLevel), firstLink)
}

// linker says which line is printed first, once the yard is open.
type linker func(ctx context.Context, y *yard, base string) (string, error)

// firstLink is the set-up link of an empty yard, else the address.
func firstLink(ctx context.Context, y *yard, base string) (string, error) {
	secret, err := y.svc.SetupLink(ctx)
	if err != nil || secret == "" {
		return base + "/login", err
	}
	return base + views.URL.Setup() + "?token=" + secret, nil
}

// serve opens the yard, serves it, and drains it when the context ends.
func serve(e *env, cfg *config.Config, log *slog.Logger, link linker) error {
	if err := hide(); err != nil {
		log.Warn("memory and environment are open to programs of the same account", "error", err)
	}
	hangup := make(chan struct{}, 1)
	outliving, cancel := context.WithCancel(context.WithoutCancel(e.ctx)) // also while it stops
	defer cancel()
	outliveTerminal(outliving, func() {
		select {
		case hangup <- struct{}{}:
		default:
		}
	})
	if err := makeData(cfg.Data); err != nil {
		return err
	}
	lock, err := db.AcquireLock(dbPath(cfg.Data))
	if err != nil {
		return err
	}
	defer func() {
		if err := lock.Release(); err != nil {
			log.Error("lock not released", "error", err)
		}
	}()
	ln, err := listen(e.ctx, cfg.Listen)
	if err != nil {
		return err
	}
	defer ln.Close()
	if err := db.FinishRestore(dbPath(cfg.Data), log); err != nil {
		return err
	}
	db.SweepCopies(cfg.Data)
	db.SweepCopies(backupDir(cfg.Data))
	y, err := openYard(e.ctx, cfg, log)
	if err != nil {
		return err
	}
	if err := lock.Bind(); err != nil {
		return errors.Join(err, y.close())
	}
	y.hangup = hangup
	err = y.serveOn(e, ln, link)
	return errors.Join(err, y.close())
}

// listen takes the address. A server that was killed while it started a
// program leaves its socket, for a moment, to that program's process; so an
// address in use is asked for again, for a second.
func listen(ctx context.Context, address string) (net.Listener, error) {
	const patience, pause = time.Second, 20 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return ln, err
		}
		if waited >= patience {
			return nil, fmt.Errorf("%s is taken by another program: stop it, or give another address with --listen (port 0 takes a free one)", address)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (y *yard) serveOn(e *env, ln net.Listener, link linker) error {
	base := baseURL(y.cfg, ln.Addr())
	if err := y.db.Verify(e.ctx); err != nil {
		return err
	}
	y.checkTail(e.ctx)
	if err := y.db.Probe(e.ctx); err != nil && y.db.Fault() == nil {
		return fmt.Errorf("the database cannot be written: %w", err)
	}
	clock, err := y.newJobs(e, loopbackURL(ln.Addr()))
	if err != nil {
		return err
	}
	probes := y.proberOf()
	h, err := handlers.New(handlers.Options{
		Demo: isDemo(y.cfg.Data), Service: y.svc, Scheduler: clock, Log: y.log, Version: version, DataDir: y.cfg.Data, Listen: ln.Addr(),
		MCP:   mcpserver.New(mcpserver.Options{Service: y.svc, Log: y.log, Version: version}),
		Rules: rulesOf(y.cfg), Limits: limitsOf(y.cfg), Weaker: y.weaker, Enforces: y.enforces, Runners: probes, PublicURL: y.cfg.PublicURL, AllowedHosts: y.cfg.AllowedHosts, TrustedProxies: y.cfg.TrustedProxies,
	})
	if err != nil {
		return err
	}
	if err := y.svc.Look(e.ctx); err != nil { // before anybody acts on a lease
		y.log.Error("clock not looked at", "error", err)
	}
	y.revokeRemoved(e.ctx) // files may have been removed while no server ran
	srv := h.HTTP()
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	defer y.watch(e.ctx, probes)()
	if err := clock.Start(e.ctx); err != nil {
		return errors.Join(err, srv.Close())
	}
	first, err := link(e.ctx, y, base)
	if err != nil && y.db.Fault() != nil {
		first, err = base+"/login", nil // a full disk: people may read
	}
	if err != nil {
		return errors.Join(err, y.drain(srv, clock))
	}
	fmt.Fprintln(e.stdout, first)
	if inTheClear(y.cfg.PublicURL, ln.Addr()) {
		y.log.Warn("passwords and tokens travel unencrypted: put a proxy with TLS before this address and set public_url to its https:// address, or listen on 127.0.0.1", "address", ln.Addr().String())
	}
	y.log.Info("serving", "address", ln.Addr().String(), "data", y.cfg.Data, "version", version)
	select {
	case err = <-failed:
	case <-e.ctx.Done():
		y.log.Info("stopping")
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, y.drain(srv, clock))
}

// inTheClear reports whether other machines reach the server by plain http.
func inTheClear(publicURL string, listens net.Addr) bool {
	a, ok := listens.(*net.TCPAddr)
	return ok && !a.IP.IsLoopback() && !strings.HasPrefix(publicURL, "https://")
}

// checkTail compares the end of the log with its own count and with the newest
// backup, and notes it in the server's log: whoever keeps that elsewhere can
// compare, too. A log that was cut is told, and serving goes on: to stop would
// help whoever cut it.
func (y *yard) checkTail(ctx context.Context) {
	err := y.db.Snapshot(ctx, func(rx *db.Rx) error {
		h, err := rx.Head()
		if err != nil {
			return err
		}
		y.log.Info("end of the log", "head", h.String())
		if err := rx.CheckTail(); err != nil {
			return err
		}
		_, err = rx.CheckBackups(ctx, backupDir(y.cfg.Data), 1)
		return err
	})
	if err != nil {
		y.log.Error("the log of events is not whole; taskyard check tells more", "error", err)
	}
}

// watch follows the agents folder, the runners and the memory until the returned function
// is called, which waits until no program of a probe is left.
func (y *yard) watch(ctx context.Context, probes *runner.Prober) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { probes.Run(ctx) })
	all.Go(func() { y.reread(ctx) })
	all.Go(func() { giveBack(ctx) })
	all.Go(func() {
		err := y.agents.Watch(ctx, func(ids []string) {
			y.svc.AgentsChanged(ids)
			y.revokeRemoved(ctx)
			probes.Changed()
		})
		if err != nil {
			y.log.Error("agents folder not watched", "error", err)
		}
	})
	return func() {
		cancel()
		all.Wait()
	}
}

// reread reads the agents' definitions again at each hangup.
func (y *yard) reread(ctx context.Context) {
	for {
		select {
		case <-y.hangup:
			y.agents.Reload()
			y.log.Info("hangup: agent definitions read again; a changed configuration needs a restart")
		case <-ctx.Done():
			return
		}
	}
}

// revokeRemoved ends the tokens of agents that are not defined any more.
func (y *yard) revokeRemoved(ctx context.Context) {
	if err := y.svc.RevokeRemoved(ctx); err != nil && ctx.Err() == nil {
		y.log.Error("tokens of removed agents not revoked", "error", err)
	}
}

// rulesOf tells the pages the numbers of the configuration.
func rulesOf(c *config.Config) handlers.Rules {
	return handlers.Rules{
		MaxParallel: c.Runs.MaxParallel, TickConcurrency: c.Scheduler.Concurrency, Attempts: c.Runs.Attempts, MaxDepth: c.TaskTool.MaxDepth,
	}
}

// drain stops in order: no new runs, running ones told, streams closed, then
// the last requests answered.
func (y *yard) drain(srv *http.Server, clock *jobs.Jobs) error {
	ctx, cancel := context.WithTimeout(context.Background(), 35*time.Second)
	defer cancel()
	err := clock.Stop(ctx)
	y.svc.Hub().Close()
	model.CloseIdle()
	last, done := context.WithTimeout(ctx, lastRequests)
	defer done()
	if srv.Shutdown(last) != nil {
		y.log.Warn("requests that had not ended were cut off")
		err = errors.Join(err, srv.Close())
	}
	return err
}

// lastRequests bounds how long a stop waits for requests, such as a body that
// comes slowly. All others are answered at once.
const lastRequests = 5 * time.Second

func (y *yard) newJobs(e *env, url string) (*jobs.Jobs, error) {
	loc, err := y.cfg.Scheduler.Location()
	if err != nil {
		return nil, err
	}
	data, err := filepath.Abs(y.cfg.Data)
	if err != nil {
		return nil, err
	}
	id, err := yardID(data)
	if err != nil {
		return nil, err
	}
	runner.SetYard(id)
	clearScratch(y.log)
	builtins, err := builtinsOf(y.cfg, e.getenv)
	if err != nil {
		return nil, err
	}
	maps.Copy(y.known, builtins)
	outlets, err := outletsOf(y.cfg, e.getenv)
	if err != nil {
		return nil, err
	}
	return jobs.New(jobs.Options{
		Notify: outlets, PublicURL: y.cfg.PublicURL,
		Service: y.svc, Now: wallClock, Runners: y.known, Secrets: secretsOf(y.cfg, e.getenv), URL: url, RunsDir: filepath.Join(data, instance.RunsName),
		Enabled: y.cfg.Scheduler.Enabled, Cron: y.cfg.Scheduler.Cron, Location: loc, Log: y.log,
		Backup: jobs.Backup{Cron: y.cfg.Backup.Cron, Dir: backupDir(data), Keep: y.cfg.Backup.Keep},
	})
}

// clearScratch removes the temporary folders of servers and workers that were
// killed.
func clearScratch(log *slog.Logger) {
	n, err := scratch.Clear(context.Background())
	if n > 0 {
		log.Info("temporary folders of a killed process removed", "folders", n)
	}
	if err != nil {
		log.Warn("temporary folders not removed", "error", err)
	}
}

// baseURL is the address under which people reach the server.
func baseURL(c *config.Config, addr net.Addr) string {
	if c.PublicURL != "" {
		return c.PublicURL
	}
	return loopbackURL(addr)
}

// loopbackURL is the address under which this machine reaches the server.
func loopbackURL(addr net.Addr) string {
	t, ok := addr.(*net.TCPAddr)
	if !ok {
		return "http://" + addr.String()
	}
	ip := t.IP
	if ip.IsUnspecified() {
		ip = net.IPv4(127, 0, 0, 1)
	}
	return "http://" + net.JoinHostPort(ip.String(), strconv.Itoa(t.Port))
}
