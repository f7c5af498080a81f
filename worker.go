package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/config"
	"taskyard/runner"
	"taskyard/task"
)

type workerCmd struct {
	URL      string   `help:"Address of the yard (default TASKYARD_URL)." placeholder:"URL"`
	Labels   []string `help:"What this machine offers; runs are taken whose runner asks for nothing else." placeholder:"LABEL,…"`
	Exec     string   `help:"The agent: a program and its arguments, parted by blanks. It carries out the runs of every runner." placeholder:"PROGRAM"`
	Config   string   `help:"Instead of --exec: a configuration file whose [runners.*] carry out the runs of the yard's runners of the same names." placeholder:"FILE"`
	Dir      string   `help:"Folder for the private folders of the runs." default:"taskyard-worker" placeholder:"DIR"`
	Name     string   `help:"What the yard calls this machine (default its host name)." placeholder:"NAME"`
	Parallel int      `help:"Runs at a time." default:"1"`

	Keep time.Duration `help:"How long the folders of runs are kept, such as 720h; at least 1h." default:"2160h" placeholder:"TIME"`
}

// Run takes runs of a yard and carries them out until it is told to stop. The
// token, one of the scope worker, is never an argument.
func (c *workerCmd) Run(e *env) error {
	w, err := c.carrier(e)
	if err != nil {
		return err
	}
	if err := hide(); err != nil {
		w.log.Warn("memory and environment are open to programs of the same account", "error", err)
	}
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	outliveTerminal(ctx, func() { w.log.Info("hangup: working on") })
	clearScratch(w.log)
	return w.serve(e.ctx)
}

// carrier is a program that carries out runs of a yard elsewhere.
type carrier struct {
	client  *client.Client
	runners func(name string) runner.Runner
	offer   map[string]any // what it tells when it asks for a run
	dir     string
	slots   int
	keep    time.Duration // the folders of runs that ended
	used    inUse
	log     *slog.Logger
}

func (c *workerCmd) carrier(e *env) (*carrier, error) {
	address := c.URL
	if address == "" {
		address = e.getenv("TASKYARD_URL")
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &usageError{"give --url, the address of the yard, such as http://yard.example.org:8080"}
	}
	if e.getenv("TASKYARD_TOKEN") == "" && e.getenv("TASKYARD_TOKEN_FILE") == "" {
		return nil, &usageError{"set TASKYARD_TOKEN, or TASKYARD_TOKEN_FILE, to a token of the scope worker; Settings, Tokens makes one"}
	}
	token, err := yardOf(e).Token()
	if err != nil {
		return nil, err
	}
	if c.Parallel < 1 || c.Parallel > 64 {
		return nil, &usageError{"--parallel must be 1 to 64"}
	}
	if c.Keep < time.Hour {
		return nil, &usageError{"--keep must be 1h or more"}
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	w := &carrier{
		client: &client.Client{URL: strings.TrimSuffix(address, "/"), Token: token, HTTP: &http.Client{
			Timeout: 90 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}},
		dir: dir, slots: c.Parallel, keep: c.Keep, log: newLogger(e, "info"),
	}
	names, err := c.choose(e, w)
	if err != nil {
		return nil, err
	}
	name := c.Name
	if name == "" {
		name, _ = os.Hostname() // it may have none
	}
	labels := c.Labels
	if labels == nil {
		labels = []string{}
	}
	w.offer = map[string]any{"name": name, "labels": labels, "runners": names, "waitSeconds": 20}
	runner.SetYard("worker-" + rand.Text())
	return w, nil
}

// choose says which runners this worker has, and their names: none for all.
func (c *workerCmd) choose(e *env, w *carrier) ([]string, error) {
	argv := strings.Fields(c.Exec)
	switch {
	case (len(argv) == 0) == (c.Config == ""):
		return nil, &usageError{"give either --exec or --config: what carries out the runs"}
	case len(argv) > 0:
		one := &runner.Command{Argv: argv}
		if p := one.Probe(e.ctx); !p.Installed {
			return nil, &usageError{p.Problem}
		}
		w.runners = func(string) runner.Runner { return one }
		return []string{}, nil
	}
	cfg, _, err := config.Load(config.LoadOptions{File: c.Config, Environ: nil, Flags: map[string]string{}})
	if err != nil {
		return nil, &usageError{"configuration: " + err.Error()}
	}
	known := runnersOf(cfg)
	names := []string{}
	for name := range known {
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, &usageError{c.Config + " has no [runners.*] that this worker could use"}
	}
	w.runners = func(name string) runner.Runner { return known[name] }
	return names, nil
}

// serve takes runs, as many at a time as there are slots, until ctx ends. It
// then gives back what still runs.
func (w *carrier) serve(ctx context.Context) error {
	runs, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(runner.ErrShutdown) })()
	asking, quit := context.WithCancelCause(ctx)
	defer quit(nil)
	w.log.Info("working", "yard", w.client.URL, "dir", w.dir, "slots", w.slots)
	var wg sync.WaitGroup
	wg.Go(func() { w.tidy(asking) })
	for range w.slots {
		wg.Go(func() {
			if err := w.slot(asking, runs); err != nil {
				quit(err) // what runs is still brought to its end
			}
		})
	}
	wg.Wait()
	if err := context.Cause(asking); ctx.Err() == nil && err != nil {
		return err
	}
	w.log.Info("stopped")
	return nil
}

// slot takes one run after the other. The error is one that no patience mends.
func (w *carrier) slot(asking, runs context.Context) error {
	pause := newBackoff()
	for asking.Err() == nil {
		var out struct {
			Run *task.Leased `json:"run"`
		}
		err := w.client.Do(asking, http.MethodPost, "/api/worker/lease", w.offer, &out)
		var no *client.Refusal
		switch {
		case asking.Err() != nil && out.Run == nil:
			return nil
		case errors.As(err, &no) && hopeless(no):
			return err
		case err != nil:
			w.log.Warn("no run asked for", "error", err)
			pause.wait(asking)
			continue
		}
		pause.reset()
		if out.Run != nil {
			w.carry(runs, out.Run)
		}
	}
	return nil
}

// hopeless tells whether a refusal stays what it is.
func hopeless(no *client.Refusal) bool {
	return no.Status >= 400 && no.Status < 500 && no.Status != http.StatusTooManyRequests && no.Status != http.StatusRequestTimeout
}

// backoff grows from try to try, up to 4 s: a server that starts anew must
// hear from its workers before it gives their runs up.
type backoff struct{ d time.Duration }

func newBackoff() *backoff { return &backoff{} }

func (p *backoff) reset() { p.d = 0 }

func (p *backoff) wait(ctx context.Context) {
	p.d = min(max(2*p.d, 250*time.Millisecond), 4*time.Second)
	select {
	case <-ctx.Done():
	case <-time.After(p.d):
	}
}
