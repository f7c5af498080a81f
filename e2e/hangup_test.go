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
	testkit.NoError(t, err)
	s.errs = w
	s.start()
	_, _ = w.Close(), r.Close() // the reader of its log is gone: the next line cannot be written
	c := s.api(s.token("--scope", "read"))
	hangup := func() {
		t.Helper()
		s.sendHUP()
	}
	hangup()
	s.file("agents/late.md", "---\nname: late\ndescription: For tests.\ntools: read\nrunner: none\n---\nWork.\n")
	hangup()
	testkit.Eventually(t, "it has the new agent", func() bool {
		select {
		case <-s.ended:
			t.Fatalf("it ended: %v", s.cmd.ProcessState)
		default:
		}
		return c.Do(t.Context(), http.MethodGet, "/api/agents/late", nil, nil) == nil
	})
	if code := s.term(); code != exitOK {
		t.Errorf("got exit code %d", code)
	}
}

func TestAWorkerOutlivesItsTerminal(t *testing.T) {
	t.Parallel()
	srv := newWorkerServer(t)
	w := srv.work("--labels", "gpu")
	tk := srv.create()
	srv.await(tk.ID, "running|working|1|1")
	testkit.NoError(t, w.Process.Signal(syscall.SIGHUP))
	srv.release()
	srv.await(tk.ID, "completed|ended|1|1")
}

func TestASlowBodyDoesNotDelayAStop(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	s.start()
	c := s.api(s.token("--scope", "operate"))
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.address)
	testkit.NoError(t, err)
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST /api/tasks HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: "+
		"application/json\r\nContent-Length: 1000\r\n\r\n{", s.address, c.Token); err != nil {
		t.Fatal(err)
	}
	// Once a response arrived on another connection, the slow request is being read.
	call[map[string]any](t, c, http.MethodGet, "/api/me", nil)
	begin := time.Now()
	if code := s.term(); code != exitOK {
		t.Errorf("got exit code %d", code)
	}
	took := time.Since(begin)
	t.Logf("the server stopped after %v", took)
	if took > 10*time.Second {
		t.Errorf("it took %v, want at most 10 s", took)
	}
	if !strings.Contains(s.log.String(), "requests that had not finished were cut off") {
		t.Error("the log does not report it")
	}
}
