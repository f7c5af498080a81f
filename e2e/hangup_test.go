package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/testkit"
)

func TestAServerOutlivesItsTerminal(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.errs = w
	s.start()
	_, _ = w.Close(), r.Close() // who read its log is gone: the next line meets nobody
	c := s.api(s.token("--scope", "read"))
	hangup := func() {
		t.Helper()
		s.hangUp()
	}
	hangup()
	s.file("agents/late.md", "---\nname: late\ndescription: For tests.\ntools: read\nrunner: none\n---\nWork.\n")
	hangup()
	testkit.Eventually(t, "it knows the new agent", func() bool {
		select {
		case <-s.ended:
			t.Fatalf("it ended: %v", s.cmd.ProcessState)
		default:
		}
		return c.Do(t.Context(), http.MethodGet, "/api/agents/late", nil, nil) == nil
	})
	if code := s.term(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestAWorkerOutlivesItsTerminal(t *testing.T) {
	t.Parallel()
	srv := newWorkerServer(t)
	w := srv.work("--labels", "gpu")
	tk := srv.create()
	srv.await(tk.ID, "running|working|1|1")
	if err := w.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	srv.letGo()
	srv.await(tk.ID, "completed|ended|1|1")
}

func TestASlowBodyDoesNotHoldUpAStop(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	s.start()
	c := s.api(s.token("--scope", "operate"))
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST /api/tasks HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: "+
		"application/json\r\nContent-Length: 1000\r\n\r\n{", s.address, c.Token); err != nil {
		t.Fatal(err)
	}
	// Once an answer came on another connection, the slow request is being read.
	call[map[string]any](t, c, http.MethodGet, "/api/me", nil)
	begin := time.Now()
	if code := s.term(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	took := time.Since(begin)
	t.Logf("the server stopped after %v", took)
	if took > 10*time.Second {
		t.Errorf("that took %v, want 10 s at most", took)
	}
	if !strings.Contains(s.log.String(), "requests that had not finished were cut off") {
		t.Error("the log does not say so")
	}
}
