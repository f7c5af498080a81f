package worker

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// patient is a runner whose program prints one line and then keeps running.
type patient struct{}

func (patient) Probe(context.Context) supervise.Probe { return supervise.Probe{Installed: true} }

func (patient) Run(ctx context.Context, _ supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	if err := sink.Started(supervise.Process{}); err != nil {
		return supervise.Outcome{Status: task.RunFailed, Phase: task.PhaseError}, err
	}
	sink.Event(supervise.Event{Type: supervise.EventText, Text: "at work"})
	<-ctx.Done()
	return supervise.Outcome{Status: task.RunCanceled, Phase: task.PhaseBy}, nil
}

// The server ends a run and refuses its events before the held heartbeat is
// answered: the program has to end nevertheless.
func TestARunWhoseEventsAreRefusedIsStopped(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise its end is not noticed
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/heartbeat"):
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/events"):
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"status":409,"code":"stale_lease","detail":"Run 1 is canceled/by"}`))
		default:
			_, _ = w.Write([]byte(`{"ok":true}`))
		}
	}))
	defer server.Close()
	w := &Worker{
		client: &client.Client{URL: server.URL, Token: "ty_x", HTTP: &http.Client{Timeout: time.Minute}}, dir: t.TempDir(),
		log: slog.New(slog.DiscardHandler), runner: func(string) supervise.Runner { return patient{} },
	}
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer close(ended)
		w.execute(ctx, &task.Leased{RunID: 1, TaskID: 1, Attempt: 1, Lease: 1, Seconds: 60})
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the program keeps running although the server ended its run")
		cancel()
		<-ended
	}
}

// Proxies that discover servers, as Traefik discovers containers, answer 404 while
// there is none.
func TestAProxyWithoutAServerEndsNoRun(t *testing.T) {
	t.Parallel()
	var refused, ends, asked atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case strings.HasSuffix(r.URL.Path, "/lease") && asked.Add(1) == 1:
			_ = json.NewEncoder(w).Encode(map[string]any{"run": &task.Leased{RunID: 1, TaskID: 1, Attempt: 1, Lease: 1, Seconds: 60}})
		case strings.HasSuffix(r.URL.Path, "/lease") && asked.Load() > 2:
			cancel()
		case strings.HasSuffix(r.URL.Path, "/lease"), strings.HasSuffix(r.URL.Path, "/events") && refused.Add(1) == 1:
			http.NotFound(w, r)
		case strings.HasSuffix(r.URL.Path, "/finish"):
			ends.Add(1)
			fallthrough
		default:
			_, _ = w.Write([]byte(`{"ok":true}`))
		}
	}))
	defer server.Close()
	w, err := New(Options{
		URL: server.URL, Token: "ty_x", Dir: t.TempDir(), Slots: 1, Keep: time.Hour,
		Log: slog.New(slog.DiscardHandler), Runner: func(string) supervise.Runner { return chatty{"at work"} },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(ctx); err != nil || refused.Load() < 2 || ends.Load() != 1 {
		t.Errorf("got %v; %d refused reports of events, %d ends", err, refused.Load(), ends.Load())
	}
	t.Run("but a worker with a wrong address ends", func(t *testing.T) {
		other := httptest.NewServer(http.NotFoundHandler())
		defer other.Close()
		w.client = &client.Client{URL: other.URL, Token: "ty_x"}
		if err := w.Run(t.Context()); err == nil {
			t.Error("the worker keeps asking")
		}
	})
}

// chatty is a runner whose program prints a lot and then succeeds.
type chatty struct{ text string }

func (chatty) Probe(context.Context) supervise.Probe { return supervise.Probe{Installed: true} }

func (c chatty) Run(_ context.Context, _ supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	for range sendEvents {
		sink.Event(supervise.Event{Type: supervise.EventText, Text: c.text})
	}
	return supervise.Outcome{Status: task.RunCompleted, Phase: task.PhaseEnded}, nil
}

// In JSON, a character may take six bytes, and the server permanently refuses
// bodies of more than 1 MiB.
func TestNoTextMakesAReportTooLarge(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("<", 16<<10), strings.Repeat("\x1b", 16<<10), strings.Repeat("<", supervise.MaxEvent)} {
		var lines, ends atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
			w.Header().Set("Content-Type", "application/json")
			switch {
			case err != nil:
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				_, _ = w.Write([]byte(`{"status":413,"code":"body_too_large","detail":"The body is over 1048576 bytes"}`))
				return
			case strings.HasSuffix(r.URL.Path, "/events"):
				lines.Add(int64(strings.Count(string(b), `"type"`)))
			case strings.HasSuffix(r.URL.Path, "/finish"):
				ends.Add(1)
			}
			_, _ = w.Write([]byte(`{"ok":true}`))
		}))
		defer server.Close()
		w := &Worker{
			client: &client.Client{URL: server.URL, Token: "ty_x", HTTP: &http.Client{Timeout: time.Minute}}, dir: t.TempDir(),
			log: slog.New(slog.DiscardHandler), runner: func(string) supervise.Runner { return chatty{text} },
		}
		w.execute(t.Context(), &task.Leased{RunID: 1, TaskID: 1, Attempt: 1, Lease: 1, Seconds: 60})
		if lines.Load() != sendEvents || ends.Load() != 1 {
			t.Errorf("%q: the server got %d lines of %d and %d ends", text[:1], lines.Load(), sendEvents, ends.Load())
		}
	}
}

// starting is a patient runner that reports each start and end.
type starting struct{ reports chan<- string }

func (starting) Probe(context.Context) supervise.Probe { return supervise.Probe{Installed: true} }

func (r starting) Run(ctx context.Context, spec supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	lease := strconv.FormatInt(spec.Lease, 10)
	r.reports <- "start " + lease
	defer func() { r.reports <- "end " + lease }()
	return patient{}.Run(ctx, spec, sink)
}

// The second is the next run of the task, after the first was canceled; or the
// same run, sent by a restored server. Both would work in one worktree.
func TestANewRunReplacesTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]task.Leased{
		"the next run of its task": {RunID: 2, TaskID: 1, Attempt: 1, Lease: 2, Seconds: 60},
		"the same run again":       {RunID: 1, TaskID: 1, Attempt: 1, Lease: 2, Seconds: 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testReplaced(t, &second)
		})
	}
}

func testReplaced(t *testing.T, second *task.Leased) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "/heartbeat") {
			<-r.Context().Done()
		}
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	defer server.Close()
	reports := make(chan string, 10)
	w := &Worker{
		client: &client.Client{URL: server.URL, Token: "ty_x", HTTP: &http.Client{Timeout: time.Minute}}, dir: t.TempDir(),
		log: slog.New(slog.DiscardHandler), runner: func(string) supervise.Runner { return starting{reports} },
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var ended sync.WaitGroup
	next := func(want string) {
		t.Helper()
		select {
		case got := <-reports:
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("got no report %q", want)
		}
	}
	ended.Go(func() { w.execute(ctx, &task.Leased{RunID: 1, TaskID: 1, Attempt: 1, Lease: 1, Seconds: 60}) })
	next("start 1")
	ended.Go(func() { w.execute(ctx, second) })
	next("end 1")
	next("start 2")
	cancel(supervise.ErrShutdown)
	next("end 2")
	ended.Wait()
}

// A worker with one slot must execute delegated runs in it while their parent
// waits for them.
func TestAWorkerExecutesTheRunsThatItsRunWaitsFor(t *testing.T) {
	t.Parallel()
	var asked, leased atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		switch first := strings.Contains(r.URL.Path, "/runs/1/"); {
		case strings.HasSuffix(r.URL.Path, "/lease"):
			if asked.Add(1); strings.Contains(string(b), `"parentRun":"1"`) && leased.Add(1) == 1 {
				_ = json.NewEncoder(w).Encode(map[string]any{"run": &task.Leased{RunID: 2, TaskID: 2, Attempt: 1, Lease: 2, Seconds: 60}})
				return
			}
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/heartbeat") && first && leased.Load() == 0:
			_, _ = w.Write([]byte(`{"waits":true}`))
		case strings.HasSuffix(r.URL.Path, "/heartbeat"):
			<-r.Context().Done()
		default:
			_, _ = w.Write([]byte(`{"ok":true}`))
		}
	}))
	defer server.Close()
	reports := make(chan string, 10)
	w := &Worker{
		client: &client.Client{URL: server.URL, Token: "ty_x", HTTP: &http.Client{Timeout: time.Minute}}, dir: t.TempDir(),
		log: slog.New(slog.DiscardHandler), runner: func(string) supervise.Runner { return starting{reports} },
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.execute(ctx, &task.Leased{RunID: 1, TaskID: 1, Attempt: 1, Lease: 1, Seconds: 60})
	}()
	for _, want := range []string{"start 1", "start 2"} {
		select {
		case got := <-reports:
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("got no report %q", want)
		}
	}
	cancel(supervise.ErrShutdown)
	<-ended
}
