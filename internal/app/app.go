// Package app turns a configuration into a running server: Open opens the data
// folder, Serve serves until its context ends and then drains, Close closes the
// data folder.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"taskyard/db"
	"taskyard/handlers"
	"taskyard/internal/agentfile"
	"taskyard/internal/buildinfo"
	"taskyard/internal/config"
	"taskyard/internal/mcpserver"
	"taskyard/internal/systemd"
	"taskyard/jobs"
	"taskyard/runner"
	"taskyard/runner/builtin/model"
	"taskyard/runner/check"
	"taskyard/runner/instance"
	"taskyard/runner/repository"
	"taskyard/runner/scratch"
	"taskyard/runner/supervise"
	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
)

// Options is what an instance needs in addition to its configuration.
type Options struct {
	Log    *slog.Logger
	Now    func() time.Time    // wall clock for tests; nil: that of the database
	Getenv func(string) string // looks up the variables that the configuration names
	Level  *slog.LevelVar      // level of Log; nil: fixed
}

func (o Options) setLevel(c config.Log) {
	var level slog.Level
	if o.Level != nil && level.UnmarshalText([]byte(c.Level)) == nil {
		o.Level.Set(level)
	}
}

// Instance is an opened data folder.
type Instance struct {
	Config  *config.Config
	DB      *db.DB
	Agents  *agentfile.Folder
	Service *service.Service

	opt     Options
	release func() // ends the protection of the data folder

	settings     *Settings
	repositories *repository.Repositories
}

// Open opens the database and the agents of a data folder, which it creates if
// it does not exist.
func Open(ctx context.Context, c *config.Config, o Options) (*Instance, error) {
	if err := MakeData(c.Data); err != nil {
		return nil, err
	}
	settings, err := NewSettings(c, o)
	if err != nil {
		return nil, err
	}
	d, err := db.Open(ctx, db.Options{Path: DBPath(c.Data), URL: c.Database, Now: o.Now, Log: o.Log})
	if err != nil {
		return nil, err
	}
	in := &Instance{Config: c, DB: d, opt: o, settings: settings}
	if in.release, err = instance.Protect(DBPath(c.Data)); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	in.Agents, err = agentfile.Open(filepath.Join(c.Data, "agents"), settings.agentOptions, o.Log)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	ticks, err := newTicks(c)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	rules := serviceConfig(c, o, ticks)
	rules.Runner = settings.runner
	rules.Secrets = func(names []string) []string { return append(settings.secrets(), supervise.SecretsNamed(names)...) }
	rules.Settings = settings
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	in.repositories = repository.New(repository.Options{
		Runs: filepath.Join(data, instance.RunsName), Redact: in.settings.redact,
		Check: check.Runner{Unconfined: c.Checks.AcceptWeaker},
	})
	rules.Repositories = in.repositories
	in.Service = service.New(d, in.Agents, rules)
	return in, nil
}

// Close closes the data folder.
func (in *Instance) Close() error {
	in.release()
	return errors.Join(in.repositories.Close(), in.DB.Close())
}

// FirstLine returns the line that a server prints first, after its instance is
// open. base is the server's URL for people.
type FirstLine func(ctx context.Context, in *Instance, base string) (string, error)

// SetupLink returns the setup link of an instance without people, otherwise the
// URL of the sign-in page.
func SetupLink(ctx context.Context, in *Instance, base string) (string, error) {
	secret, err := in.Service.SetupLink(ctx)
	if err != nil || secret == "" {
		return base + "/login", err
	}
	return base + views.URL.Setup() + "?token=" + secret, nil
}

// ServeOptions is what a server needs in addition to its configuration.
type ServeOptions struct {
	Options
	Stdout    io.Writer // for the first line
	FirstLine FirstLine
	Hangup    <-chan struct{} // each value triggers a reload of the configuration and the agent definitions
	Build     buildinfo.Info
	Manager   *systemd.Notifier // the service manager
	Passed    net.Listener      // listener to use instead of the configured address; nil: none
	Demo      bool              // the pages guide through the tasks of the demo
}

// Serve opens the instance of cfg, serves it, and drains it when ctx ends.
func Serve(ctx context.Context, cfg *config.Config, o ServeOptions) error {
	if err := MakeData(cfg.Data); err != nil {
		return err
	}
	lock, err := db.AcquireLock(DBPath(cfg.Data))
	if err != nil {
		return err
	}
	defer func() {
		if err := lock.Release(); err != nil {
			o.Log.Error("failed to release the lock", "error", err)
		}
	}()
	at, err := openListeners(ctx, cfg.Listen, o.Passed)
	if err != nil {
		return err
	}
	defer at.close()
	if err := db.FinishRestore(DBPath(cfg.Data), o.Log); err != nil {
		return err
	}
	db.SweepCopies(cfg.Data)
	db.SweepCopies(BackupDir(cfg.Data))
	in, err := Open(ctx, cfg, o.Options)
	if err != nil {
		return err
	}
	if err := lock.Bind(); err != nil {
		return errors.Join(err, in.Close())
	}
	return errors.Join(in.serveOn(ctx, at, o), in.Close())
}

func (in *Instance) serveOn(ctx context.Context, at listeners, o ServeOptions) error {
	ln := at.main
	base := baseURL(in.Config, at.runsURL())
	if err := in.DB.Verify(ctx); err != nil {
		return err
	}
	in.checkTail(ctx)
	if err := in.DB.Probe(ctx); err != nil && in.DB.Fault() == nil {
		return fmt.Errorf("the database cannot be written: %w", err)
	}
	crypt, err := newEncryption(in.Config, in.opt.Log)
	if err != nil {
		return err
	}
	if crypt != nil && at.runs == nil { // the certificate is for the public name, which runs on this machine do not use
		if at.runs, err = listen(ctx, "127.0.0.1:0"); err != nil {
			return err
		}
		defer at.runs.Close()
	}
	data, err := filepath.Abs(in.Config.Data)
	if err != nil {
		return err
	}
	id, err := identify(data, in.opt.Log)
	if err != nil {
		return err
	}
	clock, err := in.newJobs(ctx, id, data, at.runsURL()+pathPrefix(in.Config), o.Build.Version)
	if err != nil {
		return err
	}
	forms, err := in.Service.FormKey(ctx)
	if err != nil {
		return err
	}
	probes := runner.NewProber(in.settings.runners().sources(), func() {
		in.Agents.Reload() // other runners may be able to start now
		in.Service.AgentsChanged(nil)
	})
	in.settings.Use(in.Service, clock, func() {
		in.Agents.Reload()
		probes.Use(in.settings.runners().sources())
	})
	h, err := handlers.New(handlers.Options{
		FormKey: forms,
		Demo:    o.Demo, Service: in.Service, Scheduler: clock, Log: in.opt.Log, Build: o.Build, DataDir: in.Config.Data, Listen: ln.Addr(),
		MCP:            mcpserver.New(mcpserver.Options{Service: in.Service, Log: in.opt.Log, Version: o.Build.Version}),
		EnforcementGap: func(name string, tools []string) string { return in.settings.runners().enforcementGap(name, tools) },
		Enforces:       func(plan task.Spec) []task.Enforcement { return in.settings.runners().enforces(plan) },
		Runners:        probes, PublicURL: in.Config.PublicURL, AllowedHosts: in.Config.AllowedHosts, TrustedProxies: in.Config.TrustedProxies,
	})
	if err != nil {
		return err
	}
	this := task.Server{ID: id.ID, Version: o.Build.Version, Address: ln.Addr().String()}
	if err := in.Service.Join(ctx, this); err != nil {
		return err
	}
	if err := in.Service.CheckClock(ctx); err != nil { // before anything relies on a lease
		in.opt.Log.Error("failed to check the clock", "error", err)
	}
	in.syncAgents(ctx, in.Service.SyncAgents)
	in.revokeRemoved(ctx) // files may have been deleted while no server was running
	srv := h.HTTP()
	failed := make(chan error, 2)
	go func() { failed <- crypt.serveHTTP(srv, ln) }()
	if at.runs != nil {
		go func() { failed <- srv.Serve(at.runs) }()
	}
	stopPlain, err := crypt.servePlain(ctx, in.Config.TLS.Redirect, in.opt.Log)
	if err != nil {
		return errors.Join(err, srv.Close())
	}
	defer stopPlain()
	defer in.watch(ctx, o, base, probes, crypt)()
	if err := clock.Start(ctx); err != nil {
		return errors.Join(err, srv.Close())
	}
	first, err := o.FirstLine(ctx, in, base)
	if err != nil && in.DB.Fault() != nil {
		first, err = base+"/login", nil // the disk is full: people can still read
	}
	if err != nil {
		return errors.Join(err, in.drain(srv, clock))
	}
	defer in.writeAddressFile(at.clientURL(pathPrefix(in.Config)))()
	fmt.Fprintln(o.Stdout, first)
	if isUnencrypted(in.Config.PublicURL, ln.Addr()) {
		in.opt.Log.Warn("passwords and tokens travel unencrypted: put a proxy with TLS before this address and set "+
			"public_url to its https:// address, or listen on 127.0.0.1", "address", ln.Addr().String())
	}
	in.opt.Log.Info("serving", "address", ln.Addr().String(), "data", in.Config.Data, "version", o.Build.Version)
	in.logNotifyError(o.Manager.Ready("Serving on " + base))
	defer in.feedWatchdog(o.Manager, clock.Alive)()
	select {
	case err = <-failed:
	case <-ctx.Done():
		in.opt.Log.Info("stopping")
		in.logNotifyError(o.Manager.Stopping("Stopping: returning runs to the queue, answering the last requests"))
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, in.drain(srv, clock))
}

// isUnencrypted reports whether other machines reach the server by plain http.
func isUnencrypted(publicURL string, listens net.Addr) bool {
	a, ok := listens.(*net.TCPAddr)
	return ok && !a.IP.IsLoopback() && !strings.HasPrefix(publicURL, "https://")
}

// checkTail compares the end of the log with its own count and with the newest
// backup, and writes it to the server's log, so that an external copy can be
// compared too. It reports a truncated log, but the server keeps running:
// stopping would help whoever truncated it.
func (in *Instance) checkTail(ctx context.Context) {
	err := in.DB.Snapshot(ctx, func(rx *db.Rx) error {
		h, err := rx.Head()
		if err != nil {
			return err
		}
		in.opt.Log.Info("end of the log", "head", h.String())
		if err := rx.CheckTail(); err != nil {
			return err
		}
		ends, err := BackupEnds(ctx, in.Config.Data, 1)
		if err != nil {
			return err
		}
		_, err = rx.CheckBackups(ends)
		return err
	})
	if err != nil {
		in.opt.Log.Error("the event log is incomplete; run taskyard check for details", "error", err)
	}
}

// watch watches the agents folder, the runners and the memory until the
// returned function is called, which waits until all probe programs have ended.
func (in *Instance) watch(ctx context.Context, o ServeOptions, base string, probes *runner.Prober, crypt *encryption) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { probes.Run(ctx) })
	all.Go(func() { in.reread(ctx, o, base) })
	all.Go(func() { in.followAgents(ctx) })
	all.Go(func() { releaseMemory(ctx) })
	if crypt != nil {
		all.Go(func() { crypt.watch(ctx) })
	}
	all.Go(func() {
		err := in.Agents.Watch(ctx, func(ids []string) {
			in.agentsChanged(ctx, ids)
			probes.Changed()
		})
		if err != nil {
			in.opt.Log.Error("failed to watch the agents folder", "error", err)
		}
	})
	return func() {
		cancel()
		all.Wait()
	}
}

// reread reloads the configuration and the agent definitions on each SIGHUP.
func (in *Instance) reread(ctx context.Context, o ServeOptions, base string) {
	for {
		select {
		case <-o.Hangup:
			in.logNotifyError(o.Manager.Reloading())
			in.opt.Log.Info("SIGHUP: reloading agent definitions and configuration")
			in.reloadSettings(ctx) // before the definitions, which refer to its runners
			in.Agents.Reload()
			in.logNotifyError(o.Manager.Ready("Serving on " + base))
		case <-ctx.Done():
			return
		}
	}
}

// revokeRemoved revokes the tokens of agents that are no longer defined.
func (in *Instance) revokeRemoved(ctx context.Context) {
	if err := in.Service.RevokeRemoved(ctx); err != nil && ctx.Err() == nil {
		in.opt.Log.Error("failed to revoke the tokens of removed agents", "error", err)
	}
}

// drain stops in order: no new runs, health checks fail, running runs stop,
// streams are closed, then the last requests are answered.
func (in *Instance) drain(srv *http.Server, clock *jobs.Jobs) error {
	ctx, cancel := context.WithTimeout(context.Background(), 35*time.Second)
	defer cancel()
	clock.Retire()
	if in.Service.BeginStop(ctx) {
		in.opt.Log.Info("answering until health checks have seen that this server stops", "seconds", seenAfter.Seconds())
		<-time.After(seenAfter)
	}
	err := errors.Join(clock.Stop(ctx), in.Service.Resign(ctx))
	in.Service.Hub().Close()
	model.CloseIdle()
	last, done := context.WithTimeout(ctx, lastRequests)
	defer done()
	if srv.Shutdown(last) != nil {
		in.opt.Log.Warn("requests that had not finished were cut off")
		err = errors.Join(err, srv.Close())
	}
	return err
}

// seenAfter is how long a stopping server continues to answer if others can
// answer in its place. By then, a proxy that checks its health every second has
// stopped sending requests; otherwise connections would be closed during
// requests.
const seenAfter = 3 * time.Second

// lastRequests bounds how long a stop waits for requests, such as a slow body.
// Others are answered at once.
const lastRequests = 5 * time.Second

func (in *Instance) newJobs(ctx context.Context, id *identity, data, url, version string) (*jobs.Jobs, error) {
	plan, err := newPlan(in.Config)
	if err != nil {
		return nil, err
	}
	plan.Backup = in.backups(data, version)
	supervise.SetInstance(id.ID)
	if err := in.repositories.Sweep(ctx); err != nil {
		in.opt.Log.Warn("failed to remove the folders of interrupted merges", "error", err)
	}
	scratch.Prepare(in.opt.Log)
	outlets, err := newOutlets(in.Config, in.opt.Getenv)
	if err != nil {
		return nil, err
	}
	return jobs.New(jobs.Options{
		Copied: id.Copied, Recovered: id.save,
		Notify: outlets, PublicURL: in.Config.PublicURL,
		Service: in.Service, Now: in.opt.Now, Secrets: in.settings.secrets,
		URL: url, RunsDir: filepath.Join(data, instance.RunsName), Unconfined: in.Config.Checks.AcceptWeaker,
		Plan: plan, Log: in.opt.Log,
	})
}

// pathPrefix returns the path below which the server is served.
func pathPrefix(c *config.Config) string {
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return ""
	}
	return u.Path
}

// baseURL returns the server's URL for people; local is that for this machine.
func baseURL(c *config.Config, local string) string { return cmp.Or(c.PublicURL, local) }
