package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// heldOpen is a waiting signup and an event stream, with one token.
type heldOpen struct {
	call   chan error // the result of the signup
	stream chan error // the end of the stream
}

// holdOpen starts both and returns when the server holds them.
func holdOpen(t *testing.T, s *server, token, agent string) heldOpen {
	t.Helper()
	h := heldOpen{make(chan error, 1), make(chan error, 1)}
	c := s.api(token)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url()+"/api/events", nil)
	testkit.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("for the stream, got %v, %v", res, err)
	}
	go func() {
		defer res.Body.Close()
		_, err := io.Copy(io.Discard, res.Body)
		h.stream <- err
	}()
	go func() {
		h.call <- c.Do(ctx, http.MethodPost, "/api/agents/"+agent+"/signup", map[string]any{"waitSeconds": 50}, nil)
	}()
	testkit.Eventually(t, "the signup waits", func() bool { return s.metric(token, "taskyard_signups_waiting") == "1" })
	return h
}

// metric reads one number of /metrics.
func (s *server) metric(token, name string) string {
	s.t.Helper()
	for line := range strings.Lines(s.page(token, "/metrics")) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// end waits until both have ended, the signup with a refusal.
func (h heldOpen) end(t *testing.T) {
	t.Helper()
	var no *client.ResponseError
	select {
	case err := <-h.call:
		if !errors.As(err, &no) || no.Status != http.StatusUnauthorized {
			t.Errorf("for the waiting signup, got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the signup is still waiting")
	}
	select {
	case <-h.stream:
	case <-time.After(10 * time.Second):
		t.Error("the stream is still open")
	}
}

// TestStory12 revokes tokens while their calls wait, their streams are open and
// their runs work.
func TestStory12(t *testing.T) {
	t.Parallel()
	srv := newWorkerServer(t)
	kept := filepath.Join(t.TempDir(), "token")
	script := filepath.Join(t.TempDir(), "near.sh")
	text := fmt.Sprintf("umask 077\nprintf %%s \"$TASKYARD_TOKEN\" >%q.new\nmv %q.new %q\nsleep 907\n", kept, kept, kept)
	put(t, script, text)
	srv.term()
	srv.file("taskyard.toml", fmt.Sprintf("[runs]\nattempts = 1\n[runners.far]\nkind = \"worker\"\nlabels = "+
		"[\"gpu\"]\n[runners.near]\nkind = \"command\"\ncommand = [\"/bin/sh\", %q]\n", script))
	srv.file("agents/near.md", "---\nname: near\ndescription: Works here.\ntools: read\nrunner: near\n---\nWork.\n")
	srv.file("agents/pull.md", "---\nname: pull\ndescription: Claims itself.\ntools: read\nrunner: none\n---\nWork.\n")
	srv.start()
	admin := srv.api(srv.token("--scope", "admin"))
	revoke := func(where string, args ...any) {
		t.Helper()
		id := srv.rows("SELECT id FROM tokens WHERE "+where, args...)[0]
		testkit.NoError(t, admin.Do(t.Context(), http.MethodDelete, "/api/tokens/"+id, nil, nil))
	}
	free := func(owner string) {
		t.Helper()
		tk := call[task.Task](t, admin, "POST", "/api/tasks", map[string]any{"title": "Free", "owner": owner})
		if got := srv.rows("SELECT claim_holder IS NULL FROM tasks WHERE id = ?", tk.ID.String())[0]; got != "1" {
			t.Errorf("task %s was claimed with a revoked token", tk.ID)
		}
	}

	t.Run("the token of an agent", func(t *testing.T) {
		h := holdOpen(t, srv.server, srv.server.token("--agent", "pull", "--name", "puller"), "pull")
		revoke("name = 'puller'")
		h.end(t)
		free("pull")
	})
	t.Run("the token of a run", func(t *testing.T) {
		tk := call[task.Task](t, admin, "POST", "/api/tasks", map[string]any{"title": "Do it here", "owner": "near"})
		var token string
		testkit.Eventually(t, "the agent works", func() bool {
			b, err := os.ReadFile(kept)
			token = string(b)
			return err == nil
		})
		h := holdOpen(t, srv.server, token, "near")
		revoke("run_id = (SELECT id FROM runs WHERE task_id = ?)", tk.ID.String())
		h.end(t)
		testkit.Eventually(t, "its program has ended", func() bool { return len(srv.processes(nil)) == 0 })
		if got := srv.rows("SELECT status, phase, reason FROM runs WHERE task_id = ?",
			tk.ID.String())[0]; got != "canceled|by|its token was revoked" {
			t.Errorf("got the run %s", got)
		}
	})
	t.Run("the token of a worker", func(t *testing.T) {
		w := srv.work("--labels", "gpu", "--parallel", "2") // one executes, one waits for a run
		tk := srv.create()
		testkit.Eventually(t, "the agent and its child run", func() bool { return srv.programs() >= 3 })
		revoke("name = 'machines'")
		testkit.Eventually(t, "its programs have ended", func() bool { return srv.programs() == 0 })
		if err := w.Wait(); err == nil {
			t.Error("the worker exited without an error")
		}
		if got := srv.rows("SELECT status, phase, reason FROM runs WHERE task_id = ?",
			tk.ID.String())[0]; got != "failed|lost|the token of its worker was revoked" {
			t.Errorf("got the run %s", got)
		}
	})
	t.Run("the token of a removed agent, which a new agent of the same name does not revive", func(t *testing.T) {
		for _, id := range srv.rows("SELECT id FROM tasks WHERE owner = 'pull' AND status = 'active'") {
			call[map[string]any](t, admin, "POST", "/api/tasks/"+id+"/cancel", map[string]string{"reason": "Not needed."})
		}
		secret := srv.server.token("--agent", "pull", "--name", "second")
		h := holdOpen(t, srv.server, secret, "pull")
		testkit.NoError(t, os.Remove(filepath.Join(srv.data, "agents", "pull.md")))
		h.end(t)
		srv.file("agents/pull.md", "---\nname: pull\ndescription: A new one.\ntools: read\nrunner: none\n---\nWork.\n")
		testkit.Eventually(t, "the new agent is known", func() bool {
			return admin.Do(t.Context(), http.MethodGet, "/api/agents/pull", nil, nil) == nil
		})
		var no *client.ResponseError
		if err := srv.api(secret).Do(t.Context(), http.MethodGet, "/api/tasks", nil, nil); !errors.As(err, &no) ||
			no.Status != http.StatusUnauthorized {
			t.Errorf("with the old token, got %v", err)
		}
	})
	if strings.Contains(srv.log.String(), `"level":"ERROR"`) {
		t.Error("the log contains errors")
	}
}
