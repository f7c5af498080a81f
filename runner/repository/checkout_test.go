//go:build linux

package repository

import (
	"os"
	"path/filepath"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestAMergeFindsAFolderWhoseRepositoryIsElsewhere(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "a\n"})
	s.branch("fix", "main", files{"a.txt": "changed\n"})
	s.git("init", "-q", "--separate-git-dir", filepath.Join(t.TempDir(), "elsewhere"))
	o := s.order(1, "fix")
	m := s.apply(o)
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	same(t, "status", s.git("status", "--porcelain"), "")
	if b, err := os.ReadFile(filepath.Join(s.repo, "a.txt")); err != nil || string(b) != "changed\n" {
		t.Errorf("a.txt is %q, %v", b, err)
	}
}

func TestAMergeWaitsForARebaseOfItsTarget(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "a\n"})
	s.branch("fix", "main", files{"a.txt": "changed\n"})
	for _, name := range []string{"one", "two"} {
		s.write(files{name: name + "\n"})
		s.commit(name)
	}
	o := s.order(1, "fix")
	m := s.apply(o)
	other := filepath.Join(t.TempDir(), "other")
	s.git("checkout", "-q", "--detach")
	s.git("worktree", "add", "-q", other, "main")
	testkit.Git(t, other, "-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-q", "-i", "HEAD~1")
	refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeWaits, "a rebase of that branch is in progress")
	same(t, "main", s.git("rev-parse", "main"), m.Before)
	testkit.Git(t, other, "rebase", "--abort")
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	same(t, "main", s.git("rev-parse", "main"), m.After)
}
func TestAMergeUpdatesASplitIndex(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "a\n", "b.txt": "b\n"})
	s.branch("fix", "main", files{"a.txt": "changed\n"})
	s.git("update-index", "--split-index")
	s.write(files{"c.txt": "c\n"})
	s.git("add", "c.txt")
	s.git("commit", "-q", "-m", "the index has a part of its own")
	o := s.order(1, "fix")
	m := s.apply(o)
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	same(t, "status", s.git("status", "--porcelain"), "")
	same(t, "files", s.git("ls-files"), "a.txt\nb.txt\nc.txt")
}
