// Package worker executes runs of a server on another machine: it leases them
// through the JSON API, starts the agent's program, and reports what it does.
package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/sleep"
	"taskyard/runner/scratch"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// Options configures a worker.
type Options struct {
	URL, Token string
	Name       string                             // name of this machine on the server; "": its host name
	Labels     []string                           // labels of this machine
	Runners    []string                           // names of its runners; empty: all
	Runner     func(name string) supervise.Runner // returns nil for an unknown name
	Dir        string                             // for the private folders of the runs; created if it does not exist
	Slots      int                                // parallel runs
	Keep       time.Duration                      // how long folders of ended runs are kept
	Log        *slog.Logger
}

// Worker executes runs of a server on another machine.
type Worker struct {
	client *client.Client
	runner func(name string) supervise.Runner
	offer  map[string]any // sent with each request for a run
	dir    string
	slots  int
	keep   time.Duration
	used   foldersInUse
	placed sync.Map // *execution by task.ID
	log    *slog.Logger
}

// New returns a worker and creates its folder.
func New(o Options) (*Worker, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name, _ = os.Hostname() // it may have none
	}
	if o.Labels == nil {
		o.Labels = []string{}
	}
	supervise.SetInstance("worker-" + rand.Text())
	return &Worker{
		client: &client.Client{URL: strings.TrimSuffix(o.URL, "/"), Token: o.Token, HTTP: &http.Client{
			Timeout: 90 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}},
		runner: o.Runner, dir: dir, slots: o.Slots, keep: o.Keep, log: o.Log,
		offer: map[string]any{"name": o.Name, "labels": o.Labels, "runners": o.Runners, "waitSeconds": 20},
	}, nil
}

// Run leases runs, as many in parallel as there are slots, until ctx ends. It
// then returns the remaining runs to the server.
func (w *Worker) Run(ctx context.Context) error {
	scratch.Prepare(w.log)
	runs, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(supervise.ErrShutdown) })()
	asking, quit := context.WithCancelCause(ctx)
	defer quit(nil)
	w.log.Info("working", "server", w.client.URL, "dir", w.dir, "slots", w.slots)
	var wg sync.WaitGroup
	wg.Go(func() { w.removeExpired(asking) })
	for range w.slots {
		wg.Go(func() {
			if err := w.slot(asking, runs); err != nil {
				quit(err) // running runs end normally
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

// slot executes runs one after another. The error is permanent.
func (w *Worker) slot(asking, runs context.Context) error {
	pause, reached := newBackoff(), false
	for asking.Err() == nil {
		run, err := w.ask(asking, w.offer)
		var no *client.ResponseError
		switch {
		case asking.Err() != nil && run == nil:
			return nil
		case errors.As(err, &no) && (permanent(no) || !reached && permanentStatus(no.Status)):
			return err
		case err != nil:
			w.log.Warn("cannot ask for a run", "error", err)
			pause.wait(asking)
			continue
		}
		reached = true
		pause.reset()
		if run != nil {
			w.execute(runs, run)
		}
	}
	return nil
}

// ask requests a run; nil if there is none.
func (w *Worker) ask(ctx context.Context, offer map[string]any) (*task.Leased, error) {
	var out struct {
		Run *task.Leased `json:"run"`
	}
	err := w.client.Do(ctx, http.MethodPost, "/api/worker/lease", offer, &out)
	return out.Run, err
}

// permanent reports whether an error will not change by retrying. A proxy
// without a running server may answer 404; an answer of the server has a code.
func permanent(no *client.ResponseError) bool {
	return permanentStatus(no.Status) && (no.Status != http.StatusNotFound || no.Code != "")
}

func permanentStatus(status int) bool {
	return status >= 400 && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout
}

// backoff grows from attempt to attempt, up to 4 s: a restarted server must
// hear from its workers before it declares their runs lost.
type backoff struct{ d time.Duration }

func newBackoff() *backoff { return &backoff{} }

func (p *backoff) reset() { p.d = 0 }

func (p *backoff) wait(ctx context.Context) {
	p.d = min(max(2*p.d, 250*time.Millisecond), 4*time.Second)
	sleep.For(ctx, p.d)
}
