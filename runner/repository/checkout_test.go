//go:build linux

package repository

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestWhatAPersonHidesFromGitIsNotOverwritten(t *testing.T) {
	t.Parallel()
	for name, flag := range map[string]string{"assumed unchanged": "--assume-unchanged", "skipped": "--skip-worktree"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, files{"a.txt": "a\n", "b.txt": "b\n", "other.txt": "o\n"})
			s.branch("fix", "main", files{"a.txt": "changed\n", "b.txt": ""})
			o := s.order(1, "fix")
			m := s.apply(o)
			s.git("update-index", flag, "a.txt", "b.txt", "other.txt")
			s.write(files{"other.txt": "mine, which no merge touches\n"})
			for _, touched := range []string{"a.txt", "b.txt"} {
				old := strings.TrimSuffix(touched, ".txt") + "\n"
				s.write(files{touched: "mine\n"})
				refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeWaits, "it has local changes there: "+touched+
					", which git status does not show")
				same(t, "main", s.git("rev-parse", "main"), m.Before)
				if b, err := os.ReadFile(filepath.Join(s.repo, touched)); err != nil || string(b) != "mine\n" {
					t.Errorf("%s is %q, %v", touched, b, err)
				}
				s.write(files{touched: old})
			}
			ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
			same(t, "status", s.git("status", "--porcelain"), "")
			if b, _ := os.ReadFile(filepath.Join(s.repo, "other.txt")); string(b) != "mine, which no merge touches\n" {
				t.Errorf("other.txt is %q", b)
			}
			if got := s.git("ls-files", "-v", "other.txt"); got == "H other.txt" {
				t.Error("other.txt is not hidden any more")
			}
		})
	}
	t.Run("a sparse checkout stays one", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, files{"in/a.txt": "a\n", "out/b.txt": "b\n", "out/c.txt": "c\n"})
		s.branch("fix", "main", files{"in/a.txt": "changed\n", "out/b.txt": "changed\n", "out/c.txt": ""})
		s.git("sparse-checkout", "set", "in")
		o := s.order(1, "fix")
		m := s.apply(o)
		ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
		same(t, "status", s.git("status", "--porcelain"), "")
		same(t, "files", s.git("ls-files"), "in/a.txt\nout/b.txt")
	})
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

func TestACleanedTemporaryDirectoryHoldsNothingUp(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "a\n"})
	s.branch("fix", "main", files{"a.txt": "changed\n"})
	s.revision("fix")
	for _, clean := range []string{"*/config", "*/*", "*", ""} {
		list, err := filepath.Glob(filepath.Join(s.rs.scratch.Path, clean))
		ok(t, err)
		for _, file := range list {
			if filepath.Base(file) != "lock" {
				ok(t, os.RemoveAll(file))
			}
		}
		if rev := s.revision("fix"); len(rev.Files) != 1 {
			t.Errorf("without %s: %d files", clean, len(rev.Files))
		}
	}
	scratch := s.rs.scratch.Path
	ok(t, os.RemoveAll(scratch))
	ok(t, os.Mkdir(scratch, 0o755)) // somebody else may take its name
	s.revision("fix")
	if s.rs.scratch.Path == scratch {
		t.Error("a folder of another account is used")
	}
	ok(t, os.Remove(scratch))
}

// The old file is equal to the new one by the new attributes, but has another size.
func TestAMergeThatNormalizesLineEndingsLeavesNoLocalChange(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "one\r\ntwo\r\n"})
	s.branch("fix", "main", files{".gitattributes": "* text=auto\n", "a.txt": "one\ntwo\n"})
	o := s.order(1, "fix")
	m := s.apply(o)
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	same(t, "status", s.git("status", "--porcelain"), "")
}
