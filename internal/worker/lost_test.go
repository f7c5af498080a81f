package worker

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/runner"
	"taskyard/task"
)

// patient is a runner whose program says one thing and then stays.
type patient struct{}

func (patient) Probe(context.Context) runner.Probe { return runner.Probe{Installed: true} }

func (patient) Run(ctx context.Context, _ runner.Spec, sink runner.Sink) (runner.Outcome, error) {
	if err := sink.Started(runner.Process{}); err != nil {
		return runner.Outcome{Status: task.RunFailed, Phase: task.PhaseError}, err
	}
	sink.Event(runner.Event{Type: runner.EventText, Text: "at work"})
	<-ctx.Done()
	return runner.Outcome{Status: task.RunCanceled, Phase: task.PhaseBy}, nil
}

// The server ends a run and refuses its events before the held heartbeat is
// answered: the program has to end all the same.
func TestARunWhoseEventsAreRefusedIsStopped(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else its end is not noticed
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
		log: slog.New(slog.DiscardHandler), runner: func(string) runner.Runner { return patient{} },
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
		t.Error("the program runs on although the server has ended its run")
		cancel()
		<-ended
	}
}
