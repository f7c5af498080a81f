//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"taskyard/runner/supervise"
)

// A copy of a data folder that is started beside its living original ends its
// own runs as lost and leaves the original's programs alone.
func TestACopyBesideItsLivingOriginal(t *testing.T) {
	t.Parallel()
	c := newCrashServer(t)
	runs := c.go5()
	call[any](t, c.person, "POST", "/api/pause", map[string]any{"reason": "to copy it"}) // the copy starts nothing
	before := c.staying(runs)
	if len(before) < 5*3 {
		t.Fatalf("only %d processes are at work", len(before))
	}
	id := c.id()
	twin := newServer(t, "serve")
	twin.data = c.copied()
	twin.start() // its runs are lost before it serves
	if got := twin.rows("SELECT status, phase, count(*) FROM runs WHERE id <= 5 GROUP BY 1, 2"); len(got) != 1 || got[0] != "failed|lost|5" {
		t.Errorf("the runs of the copy are %v", got)
	}
	if got := twin.rows("SELECT count(*) FROM runs WHERE id > 5 AND started_at IS NOT NULL")[0]; got != "0" {
		t.Errorf("the copy, which is paused, started %s runs", got)
	}
	after := c.staying(runs)
	for _, pid := range before {
		if !slices.Contains(after, pid) {
			t.Errorf("process %s of the original is not alive", pid)
		}
	}
	const told = "the data folder is a copy, or was moved"
	if n := strings.Count(twin.log.String(), told); n != 1 {
		t.Errorf("the copy says %d times that it is one", n)
	}
	own := twin.id()
	if own == id {
		t.Error("the copy has the id of its original")
	}
	twin.kill()
	twin.start()
	if n := strings.Count(twin.log.String(), told); n != 1 || twin.id() != own {
		t.Errorf("after a restart the copy has said %d times that it is one, and has the id %s, was %s", n, twin.id(), own)
	}
	twin.kill()
	c.finish()
	if got := c.rows("SELECT count(*) FROM runs WHERE status = 'completed' AND id <= 5")[0]; got != "5" {
		t.Errorf("%s runs of the original completed", got)
	}
	c.term()
	moved := filepath.Join(t.TempDir(), "data")
	if err := os.Rename(c.data, moved); err != nil {
		t.Fatal(err)
	}
	c.data = moved
	c.start()
	if kept := c.id(); kept != id {
		t.Errorf("a folder that was moved by a rename has the id %s, was %s", kept, id)
	}
}

// id is the mark of the server's processes.
func (s *server) id() string {
	s.t.Helper()
	b := read(s.t, filepath.Join(s.data, "yard-id"))
	return strings.TrimSpace(b)
}

// staying lists the processes of runs that live until their run ends: the
// shims, and the children of the agents.
func (c *crashServer) staying(runs []string) (pids []string) {
	for _, p := range c.processes(runs) {
		pid, args, _ := strings.Cut(p, " ")
		if strings.Contains(args, supervise.ShimArg) || strings.Contains(args, "sleep 90") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// copied copies the data folder of a running server, which is stopped
// meanwhile: no checkpoint comes between the database and its log.
func (s *server) copied() string {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }()
	return copyFolder(s.t, s.data)
}
