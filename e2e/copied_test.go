//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/supervise"
)

// A copy of a data folder that is started while its original is running marks its own
// runs as lost and leaves the original's programs alone.
func TestACopyBesideItsRunningOriginal(t *testing.T) {
	t.Parallel()
	c := newCrashServer(t)
	runs := c.startFive()
	call[any](t, c.person, "POST", "/api/pause", map[string]any{"reason": "to copy it"}) // so that the copy starts nothing
	before := c.longLivedProcesses(runs)
	if len(before) < 5*3 {
		t.Fatalf("got only %d processes", len(before))
	}
	id := c.id()
	twin := newServer(t, "serve")
	twin.data = c.copied()
	twin.start() // its runs are marked lost before it serves
	if got := twin.rows("SELECT status, phase, count(*) FROM runs WHERE id <= 5 GROUP BY 1, 2"); len(got) != 1 || got[0] != "failed|lost|5" {
		t.Errorf("got the runs of the copy %v", got)
	}
	if got := twin.rows("SELECT count(*) FROM runs WHERE id > 5 AND started_at IS NOT NULL")[0]; got != "0" {
		t.Errorf("the copy, which is paused, started %s runs", got)
	}
	after := c.longLivedProcesses(runs)
	for _, pid := range before {
		if !slices.Contains(after, pid) {
			t.Errorf("process %s of the original is not running", pid)
		}
	}
	const copyMessage = "the data folder is a copy, or was moved"
	if n := strings.Count(twin.log.String(), copyMessage); n != 1 {
		t.Errorf("got %d log entries of the copy that it is one", n)
	}
	own := twin.id()
	if own == id {
		t.Error("the copy has the ID of its original")
	}
	twin.kill()
	twin.start()
	if n := strings.Count(twin.log.String(), copyMessage); n != 1 || twin.id() != own {
		t.Errorf("after a restart, got %d log entries that it is a copy, and the ID %s, want %s", n, twin.id(), own)
	}
	twin.kill()
	c.finish()
	if got := c.rows("SELECT count(*) FROM runs WHERE status = 'completed' AND id <= 5")[0]; got != "5" {
		t.Errorf("got %s completed runs of the original", got)
	}
	c.term()
	moved := filepath.Join(t.TempDir(), "data")
	testkit.NoError(t, os.Rename(c.data, moved))
	c.data = moved
	c.start()
	if kept := c.id(); kept != id {
		t.Errorf("a renamed folder has the ID %s, want %s", kept, id)
	}
}

// id returns the ID that marks the processes of the server.
func (s *server) id() string {
	s.t.Helper()
	b := read(s.t, filepath.Join(s.data, "yard-id"))
	return strings.TrimSpace(b)
}

// longLivedProcesses lists the processes of runs that live until their run ends: the
// shims, and the children of the agents.
func (c *crashServer) longLivedProcesses(runs []string) (pids []string) {
	for _, p := range c.processes(runs) {
		pid, args, _ := strings.Cut(p, " ")
		if strings.Contains(args, supervise.ShimArg) || strings.Contains(args, "sleep 90") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// copied returns a copy of the data folder of a running server, which is stopped
// meanwhile: no checkpoint occurs between the database and its WAL.
func (s *server) copied() string {
	s.t.Helper()
	testkit.NoError(s.t, s.cmd.Process.Signal(syscall.SIGSTOP))
	defer func() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }()
	return copyFolder(s.t, s.data)
}
