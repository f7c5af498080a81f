package e2e

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"taskyard/internal/testkit"
)

// line is a connection to a server that a test can cut and restore.
type line struct {
	ln net.Listener
	to string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testkit.NoError(t, err)
	l := &line{ln: ln, to: to, conns: map[net.Conn]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { l.forward(c) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		l.set(true)
		wg.Wait()
	})
	return l
}

func (l *line) url() string { return "http://" + l.ln.Addr().String() }

// set cuts the line, with its connections, or restores it.
func (l *line) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	for c := range l.conns {
		if cut {
			_ = c.Close()
		}
	}
}

// open records a connection; one that is made while the line is cut is closed.
func (l *line) open(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = c.Close()
		return false
	}
	l.conns[c] = true
	return true
}

func (l *line) forward(c net.Conn) {
	if !l.open(c) {
		return
	}
	defer c.Close()
	far, err := net.Dial("tcp", l.to)
	if err != nil || !l.open(far) {
		return
	}
	defer far.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(far, c)
		_ = far.Close()
	}()
	_, _ = io.Copy(c, far)
	_ = c.Close()
	<-done
}

// TestStory18 cuts off a worker beyond its lease. Another one does the work meanwhile;
// the first reconnects, is refused, and ends its program.
func TestStory18(t *testing.T) {
	t.Parallel()
	srv := newWorkerServer(t)
	way := newLine(t, srv.address)
	other := filepath.Join(t.TempDir(), "other.sh")
	put(t, other, "cat >/dev/null\necho '{\"summary\":\"by the other worker\",\"success\":true}'\n")
	srv.work("--labels", "gpu", "--url", way.url())
	tk := srv.create()
	srv.await(tk.ID, "running|working|1|1")
	testkit.Eventually(t, "the agent and its child run", func() bool { return countWorkerPrograms(way.url()) >= 3 })

	way.set(true)
	srv.expireLease()
	admin := srv.token("--scope", "admin")
	testkit.Eventually(t, "the run is lost", func() bool {
		srv.runJob(admin, "reaper")
		return srv.rows("SELECT status || phase FROM runs WHERE task_id = ? ORDER BY id", tk.ID.String())[0] == "failedlost"
	})
	srv.work("--labels", "gpu", "--exec", "/bin/sh "+other)
	srv.await(tk.ID, "failed|lost|1|1", "completed|ended|2|1")
	if countWorkerPrograms(way.url()) == 0 {
		t.Fatal("the first worker ended its program before it reconnected")
	}
	lines := srv.rows("SELECT count(*) FROM messages WHERE run_id = (SELECT min(id) FROM runs)")[0]

	srv.release() // its program ends with a result, too
	way.set(false)
	testkit.Eventually(t, "the program of the first worker has ended", func() bool { return countWorkerPrograms(way.url()) == 0 })
	srv.await(tk.ID, "failed|lost|1|1", "completed|ended|2|1")
	if got := srv.rows("SELECT summary FROM runs WHERE task_id = ? ORDER BY id DESC", tk.ID.String())[0]; got != "by the other worker" {
		t.Errorf("got the result %q", got)
	}
	if got := srv.rows("SELECT count(*) FROM messages WHERE run_id = (SELECT min(id) FROM runs)")[0]; got != lines {
		t.Errorf("got %[2]s lines in the transcript of the lost run, want %[1]s", lines, got)
	}
	if err := srv.person.Do(t.Context(), http.MethodGet, "/api/tasks/"+tk.ID.String(), nil, nil); err != nil {
		t.Error(err)
	}
}
