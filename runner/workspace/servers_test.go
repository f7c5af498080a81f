//go:build linux

package workspace

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"taskyard/internal/testkit"
)

// servers are two servers that share the repository. Each has its own folders of
// runs, at the same path or at different ones.
type servers struct {
	*site
	at    int
	paths [2]string // of the folders on each server
	away  [2]string // where they are while the other server is active
}

// on makes server n execute the next run, and hides the folders of the other one.
func (s *servers) on(n int) *servers {
	s.t.Helper()
	if n != s.at {
		ok(s.t, os.Rename(s.runs, s.away[s.at]))
		s.runs = s.paths[n]
		ok(s.t, os.Rename(s.away[n], s.runs))
		s.at = n
	}
	return s
}

func eachPlace(t *testing.T, test func(t *testing.T, s *servers)) {
	t.Helper()
	for name, samePath := range map[string]bool{"at the same path": true, "at different paths": false} {
		t.Run(name, func(t *testing.T) {
			all := t.TempDir()
			s := &servers{site: newSite(t, map[string]string{"a.txt": "one\n"})}
			for n, name := range []string{"first", "second"} {
				s.paths[n] = filepath.Join(all, name)
				if samePath {
					s.paths[n] = filepath.Join(all, "runs")
				}
				s.away[n] = filepath.Join(all, name+"-away")
			}
			s.runs = s.paths[0]
			ok(t, os.Mkdir(s.runs, 0o700))
			ok(t, os.Mkdir(s.away[1], 0o700))
			test(t, s)
		})
	}
}

// A task moves from one server to another and back, and so do its files.
func TestATaskWhoseRunsAreOnSeveralServersKeepsItsFiles(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, s *servers) {
		w := open(t, s.on(0).taskRun(1, 1))
		write(t, w.Folder(), map[string]string{"a.txt": "first\n"})
		w.Close(t.Context(), true)

		w = open(t, s.on(1).taskRun(2, 1))
		s.says("the worktree of the second server", w.Folder(), "a.txt", "first\n")
		write(t, w.Folder(), map[string]string{"a.txt": "second\n", "b.txt": "b\n"})
		w.Close(t.Context(), true)

		w = open(t, s.on(0).taskRun(3, 1))
		s.says("the worktree of the first server", w.Folder(), "a.txt", "second\n")
		s.says("the worktree of the first server", w.Folder(), "b.txt", "b\n")
		write(t, w.Folder(), map[string]string{"c.txt": "c\n"})
		same(t, "the list", changeList(w.Close(t.Context(), true)), "added c.txt")

		w = open(t, s.on(1).taskRun(4, 1))
		same(t, "the list of a run that does nothing", changeList(w.Close(t.Context(), true)), "")
		same(t, "the branch", s.git("show", "taskyard/42-fix:a.txt"), "second")
		same(t, "its files", s.git("ls-tree", "--name-only", "taskyard/42-fix"), "a.txt\nb.txt\nc.txt")
	})
}

// A server dies in the middle of a run, another one continues it, and the first
// returns with what the run left.
func TestATaskWhoseServerDiedContinuesOnAnother(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, s *servers) {
		w := open(t, s.on(0).taskRun(1, 1))
		write(t, w.Folder(), map[string]string{"a.txt": "half\n", "mine": "x\n"})
		agent := w.Folder()

		w = open(t, s.on(1).taskRun(2, 1))
		write(t, w.Folder(), map[string]string{"a.txt": "whole\n"})

		s.on(0)
		write(t, agent, map[string]string{"late": "x\n"})
		testkit.Git(t, agent, "add", "late")
		testkit.Git(t, agent, "commit", "-q", "-m", "late") // by an agent that outlived its server
		got := Salvage(t.Context(), s.taskRun(1, 1))
		same(t, "changes that the first server keeps", changeList(got), "modified a.txt\nadded late\nadded mine")
		same(t, "its branch", got.Branch, "taskyard/run-1")
		same(t, "its note", got.Note, "Another server has continued taskyard/42-fix; what this run left is on taskyard/run-1.")
		same(t, "its files", s.git("show", "taskyard/run-1:a.txt"), "half")
		same(t, "the branch meanwhile", s.git("rev-parse", "taskyard/42-fix"), s.git("rev-parse", "main"))
		s.on(1)
		same(t, "the list of the second server", changeList(w.Close(t.Context(), true)), "modified a.txt")

		w = open(t, s.on(0).taskRun(3, 1))
		s.says("the worktree of the first server", w.Folder(), "a.txt", "whole\n")
		s.says("the worktree of the first server", w.Folder(), "mine", "")
		same(t, "the list of a run that does nothing", changeList(w.Close(t.Context(), true)), "")
		same(t, "the branch", s.git("log", "--format=%s", "taskyard/42-fix"), "Fix it\nfirst")
		same(t, "worktrees", strconv.Itoa(s.trees()), "2")
	})
}

// A run that a server requeued is started on another one, and again on the first.
func TestARunThatReturnsToItsServerContinuesTheBranch(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, s *servers) {
		w := open(t, s.on(0).taskRun(1, 1))
		write(t, w.Folder(), map[string]string{"a.txt": "half\n"})
		w.Suspend()
		w = open(t, s.on(1).taskRun(1, 1))
		write(t, w.Folder(), map[string]string{"a.txt": "whole\n"})
		testkit.Git(t, w.Folder(), "commit", "-q", "-a", "-m", "whole")
		w.Suspend()
		w = open(t, s.on(0).taskRun(1, 1))
		s.says("the worktree of the first server", w.Folder(), "a.txt", "whole\n")
		write(t, w.Folder(), map[string]string{"b.txt": "b\n"})
		w.Close(t.Context(), true)
		same(t, "the branch", s.git("log", "--format=%s", "taskyard/42-fix"), "Fix it\nwhole\nfirst")
		same(t, "left behind", s.git("show", "taskyard/run-1:a.txt"), "half")
	})
}

// An agent that may write in the repository cannot redirect the files that the
// server writes there through a link.
func TestAnAgentCannotRedirectWhatTheServerWrites(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n"})
	other := filepath.Join(t.TempDir(), "other")
	write(t, filepath.Dir(other), map[string]string{"other": "mine\n"})
	w := open(t, s.taskRun(1, 1))
	admin := testkit.Git(t, w.Folder(), "rev-parse", "--absolute-git-dir")
	for _, name := range []string{"index", ownerName, "gitdir"} {
		ok(t, os.Symlink(other, filepath.Join(admin, name+".taskyard")))
	}
	write(t, w.Folder(), map[string]string{"a.txt": "two\n"})
	same(t, "the list", changeList(w.Close(t.Context(), true)), "modified a.txt")
	open(t, s.taskRun(2, 1)).Close(t.Context(), true)
	s.says("the other file", filepath.Dir(other), "other", "mine\n")
}
