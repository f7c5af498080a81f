//go:build linux

package repository

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestAnAcceptedChangeIsMerged(t *testing.T) {
	t.Parallel()
	for _, method := range []task.MergeMethod{task.MergeSquash, task.MergeRebase, task.MergeFF} {
		t.Run(string(method), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, files{"a.txt": long, "b.txt": "b\n", "old.txt": "old\n"})
			s.git("checkout", "-q", "-b", "fix")
			s.write(files{"a.txt": strings.Replace(long, "18\n", "eighteen\n", 1)})
			s.commit("one step")
			s.write(files{"new/c.txt": "c\n", "old.txt": ""})
			s.commit("another step\n\nWith a body.")
			s.git("checkout", "-q", "main")
			log := "coder Taskyard Fix it\nMaya Maya first"
			if method != task.MergeFF {
				s.write(files{"a.txt": strings.Replace(long, "2\n", "two\n", 1)})
				s.commit("meanwhile")
				log = "coder Taskyard Fix it\nMaya Maya meanwhile\nMaya Maya first"
			}
			switch method {
			case task.MergeRebase:
				log = "Maya Taskyard another step\nMaya Taskyard one step\nMaya Maya meanwhile\nMaya Maya first"
			case task.MergeFF:
				log = "Maya Maya another step\nMaya Maya one step\nMaya Maya first"
			}
			o := s.order(7, "fix")
			o.Method = method
			before := s.git("rev-parse", "main")
			m := s.apply(o)
			if m.Code != "" || m.Before != before || m.After == "" || s.git("rev-parse", "main") != before {
				t.Fatalf("got %+v", m)
			}
			same(t, "status", s.git("status", "--porcelain"), "")
			s.git("gc", "-q", "--prune=now")
			ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
			ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After)) // again
			same(t, "log", s.git("log", "--format=%an %cn %s", "main"), log)
			same(t, "status", s.git("status", "--porcelain"), "")
			same(t, "files", s.git("ls-files"), "a.txt\nb.txt\nnew/c.txt")
			if b, err := os.ReadFile(filepath.Join(s.repo, "new/c.txt")); err != nil || string(b) != "c\n" {
				t.Errorf("new/c.txt: %q, %v", b, err)
			}
			same(t, "references", s.git("for-each-ref", "--format=%(refname)"), "refs/heads/fix\nrefs/heads/main")
			holds, err := s.rs.Contains(t.Context(), s.repo, "main", m.After)
			if ok(t, err); !holds {
				t.Error("main does not contain the merge")
			}
			if method == task.MergeRebase {
				same(t, "body", s.git("log", "-1", "--format=%b", "main"), "With a body.")
			}
			s.nothingLeft()
		})
	}
}

// nothingLeft checks that a merge left neither folders nor locks behind.
func (s *site) nothingLeft() {
	s.t.Helper()
	list, _ := os.ReadDir(s.runs)
	for _, e := range list {
		if e.IsDir() && !strings.HasPrefix(e.Name(), homePrefix) { // that one is kept
			s.t.Errorf("%s was left in the folder of the runs", e.Name())
		}
	}
	ok(s.t, filepath.WalkDir(filepath.Join(s.repo, ".git"), func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && (strings.HasSuffix(path, ".lock") || strings.Contains(path, "taskyard")) {
			s.t.Errorf("%s was left", path)
		}
		return err
	}))
	if n := strings.Count(s.git("worktree", "list"), "\n"); n != 0 {
		s.t.Errorf("%d worktrees were left", n)
	}
}

func TestAChangeThatDoesNotFitIsNotMerged(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": long, "b.txt": long})
	s.branch("fix", "main", files{"a.txt": strings.Replace(long, "10\n", "ten\n", 1), "b.txt": strings.Replace(long, "1\n", "one\n", 1)})
	accepted := s.order(1, "fix")
	s.write(files{"a.txt": strings.Replace(long, "10\n", "TEN\n", 1)})
	s.commit("the target changes the same line")
	head := s.git("rev-parse", "main")
	for method, reason := range map[task.MergeMethod]string{
		task.MergeSquash: "It does not fit onto main: conflicts in a.txt", task.MergeRebase: "It does not fit onto main: conflicts in a.txt",
		task.MergeFF: "main moved since the branch left it, and this project takes fast-forwards only: rebase the branch onto main",
	} {
		o := accepted
		o.Method = method
		s.write(files{".git/index.lock": lockMark, ".git/index.lock.taskyard": lockMark}) // left by a killed server
		m := s.apply(o)
		s.nothingLeft()
		same(t, string(method), m.Code+": "+m.Reason+m.After, "merge_conflict: "+reason)
	}
	t.Run("nor is a change other than the accepted one", func(t *testing.T) {
		s.git("checkout", "-q", "-B", "near", "main~1")
		s.write(files{"a.txt": strings.Replace(long, "14\n", "vierzehn\n", 1)})
		s.commit("near")
		s.git("checkout", "-q", "main")
		m := s.apply(s.order(2, "near")) // the target changed lines nearby, so the context differs
		if m.Code != "merge_changed" && m.Code != "" {
			t.Errorf("%+v", m)
		}
		o := s.order(3, "near")
		o.Patch = accepted.Patch
		same(t, "code", s.apply(o).Code, "merge_changed")
	})
	same(t, "main", s.git("rev-parse", "main"), head)
	same(t, "references", s.git("for-each-ref", "--format=%(refname)", "refs/taskyard/merge/1", "refs/taskyard/merge/3"), "")
}

func TestTheMergedFilesAreChecked(t *testing.T) {
	t.Parallel()
	confined(t)
	s := newSite(t, files{"test.sh": "test $(cat a) != $(cat b)\n", "a": "1\n", "b": "2\n", ".gitignore": "built\n"})
	s.branch("left", "main", files{"a": "3\n"})
	s.branch("right", "main", files{"b": "3\n"})
	check := task.Check{Name: "test", Run: "test -e built && echo testing && sh test.sh", Required: true}
	o := s.order(1, "left", check)
	o.Setup = []string{"echo x > built"}
	m := s.apply(o)
	if m.Code != "" || len(m.Checks) != 1 || m.Checks[0].Verdict != task.CheckPassed || m.Checks[0].Log != "testing\n" || !m.Checks[0].Merge {
		t.Fatalf("%+v", m)
	}
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	head := s.git("rev-parse", "main")
	t.Run("each passes alone, both fail together", func(t *testing.T) {
		o := s.order(2, "right", check)
		o.Setup = []string{"echo x > built"}
		m := s.apply(o)
		if m.Code != "merge_checks_failed" || m.After != "" || m.Checks[0].Verdict != task.CheckFailed {
			t.Errorf("%+v", m)
		}
		same(t, "reason", m.Reason, "The check test did not pass on the merged files: exit code 1\ntesting")
	})
	t.Run("a setup that fails", func(t *testing.T) {
		o := s.order(3, "right", check)
		o.Setup = []string{"echo no such package; exit 3"}
		m := s.apply(o)
		same(t, "reason", m.Code+" "+m.Reason,
			"merge_checks_failed The setup failed on the merged files: echo no such package; exit 3: exit code 3\nno such package")
	})
	t.Run("a check that changes files does not pass", func(t *testing.T) {
		o := s.order(4, "right", task.Check{Name: "fmt", Run: "echo 9 > a; touch b", Required: true})
		same(t, "reason", s.apply(o).Reason, "The check fmt did not pass on the merged files: files changed while it ran: a")
	})
	same(t, "main", s.git("rev-parse", "main"), head)
	s.nothingLeft()
}

func TestAMergeWaitsForLocalChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		disturb func(s *site)
		undo    func(s *site)
		words   string
	}{
		"a changed file": {
			func(s *site) { s.write(files{"b.txt": "mine\n"}) },
			func(s *site) { s.write(files{"b.txt": "b\n"}) }, "it has local changes there: b.txt",
		},
		"a staged file": {
			func(s *site) { s.write(files{"b.txt": "mine\n"}); s.git("add", "-A"); s.write(files{"b.txt": "b\n"}) },
			func(s *site) { s.git("reset", "-q") }, "it has local changes there: b.txt",
		},
		"a new file in the way": {
			func(s *site) { s.write(files{"new.txt": "mine\n"}) },
			func(s *site) { s.write(files{"new.txt": ""}) }, "there is a file new.txt in the way",
		},
		"a locked index": {
			func(s *site) { s.write(files{".git/index.lock": "x"}) },
			func(s *site) { s.write(files{".git/index.lock": ""}) }, "its index is locked by",
		},
		"a locked branch": {
			func(s *site) { s.write(files{".git/refs/heads/main.lock": "x"}) },
			func(s *site) { s.write(files{".git/refs/heads/main.lock": ""}) }, "the branch cannot be moved",
		},
		"a merge in progress": {
			func(s *site) { s.write(files{".git/MERGE_HEAD": s.git("rev-parse", "fix") + "\n"}) },
			func(s *site) { s.write(files{".git/MERGE_HEAD": ""}) }, "a merge or rebase is in progress there",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, files{"a.txt": long, "b.txt": "b\n"})
			s.branch("fix", "main", files{"a.txt": "changed\n", "new.txt": "n\n"})
			o := s.order(1, "fix")
			m := s.apply(o)
			c.disturb(s)
			status := s.git("status", "--porcelain")
			refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeWaits, c.words)
			same(t, "main", s.git("rev-parse", "main"), m.Before)
			same(t, "status", s.git("status", "--porcelain"), status)
			c.undo(s)
			ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
			same(t, "main", s.git("rev-parse", "main"), m.After)
			same(t, "status", s.git("status", "--porcelain"), "")
			s.nothingLeft()
		})
	}
	t.Run("untracked and ignored files do not", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, files{"a.txt": long, ".gitignore": "*.log\n"})
		s.branch("fix", "main", files{"a.txt": "changed\n"})
		s.write(files{"x.log": "x\n", "note": "mine\n"})
		o := s.order(1, "fix")
		m := s.apply(o)
		ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
		same(t, "status", s.git("status", "--porcelain"), "?? note")
	})
	t.Run("a moved target is reported", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, files{"a.txt": long})
		s.branch("fix", "main", files{"a.txt": "changed\n"})
		o := s.order(1, "fix")
		m := s.apply(o)
		s.write(files{"b": "b\n"})
		s.commit("meanwhile")
		refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeMoved, "main moved")
	})
	t.Run("a branch checked out in another worktree is updated too", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, files{"a.txt": long})
		s.branch("fix", "main", files{"a.txt": "changed\n"})
		s.git("checkout", "-q", "--detach")
		other := filepath.Join(t.TempDir(), "other")
		s.git("worktree", "add", "-q", other, "main")
		o := s.order(1, "fix")
		m := s.apply(o)
		ok(t, os.WriteFile(filepath.Join(other, "a.txt"), []byte("mine\n"), 0o644))
		refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeWaits, "local changes")
		testkit.Git(t, other, "checkout", "-q", "a.txt")
		ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
		same(t, "status", testkit.Git(t, other, "status", "--porcelain"), "")
		same(t, "head", testkit.Git(t, other, "rev-parse", "HEAD"), m.After)
		same(t, "status of the repository", s.git("status", "--porcelain"), "")
	})
	t.Run("a bare repository has no files to update", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, files{"a.txt": long})
		s.branch("fix", "main", files{"a.txt": "changed\n"})
		bare := filepath.Join(t.TempDir(), "bare.git")
		s.git("clone", "-q", "--bare", s.repo, bare)
		s.repo = bare
		o := s.order(1, "fix")
		m := s.apply(o)
		ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
		same(t, "main", s.git("rev-parse", "main"), m.After)
	})
	t.Run("a link out of the work tree is not followed", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, files{"dir/a.txt": "a\n", "z": "z\n"})
		s.branch("fix", "main", files{"dir/a.txt": "changed\n"})
		o := s.order(1, "fix")
		m := s.apply(o)
		outside := t.TempDir()
		ok(t, os.WriteFile(filepath.Join(outside, "a.txt"), []byte("a\n"), 0o644))
		ok(t, os.RemoveAll(filepath.Join(s.repo, "dir")))
		ok(t, os.Symlink(outside, filepath.Join(s.repo, "dir")))
		refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeWaits, "local changes")
		if b, _ := os.ReadFile(filepath.Join(outside, "a.txt")); string(b) != "a\n" {
			t.Errorf("the file outside contains %q", b)
		}
		ok(t, os.Remove(filepath.Join(s.repo, "dir")))
		ok(t, syscall.Mkfifo(filepath.Join(s.repo, "dir"), 0o644))
		refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeWaits, "local changes")
	})
}

func TestFilesAndFoldersTakeEachOthersPlace(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"file": "f\n", "folder/a": "a\n", "folder/b/c": "c\n", "full/a": "a\n", ".gitignore": "*.log\n"})
	s.git("checkout", "-q", "-b", "fix")
	s.write(files{"file": "", "folder": "", "full": ""})
	s.write(files{"file/new": "n\n", "folder": "now a file\n", "full": "now a file\n", "later/x": "x\n"})
	s.commit("exchanged")
	s.git("checkout", "-q", "main")
	o := s.order(1, "fix")
	m := s.apply(o)
	waits := func(name string) {
		t.Helper()
		refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeWaits, "there is a file "+name+" in the way")
		same(t, "main", s.git("rev-parse", "main"), m.Before)
	}
	s.write(files{"full/built.log": "ignored\n"})
	waits("full/built.log")
	s.write(files{"full/built.log": "", "later": "not tracked\n"})
	waits("later")
	s.write(files{"later": ""})
	ok(t, os.Symlink(t.TempDir(), filepath.Join(s.repo, "later")))
	waits("later")
	s.write(files{"later": ""})
	ok(t, os.MkdirAll(filepath.Join(s.repo, "full/empty/folder"), 0o755))
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	same(t, "status", s.git("status", "--porcelain"), "")
	same(t, "files", s.git("ls-files"), ".gitignore\nfile/new\nfolder\nfull\nlater/x")
}

func TestAMergeKeepsThePermissionsOfAWorkTree(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "a\n", "secret/b.txt": "b\n", "run.sh": "#\n"})
	s.git("checkout", "-q", "-b", "fix")
	s.write(files{"a.txt": "changed\n", "new.txt": "n\n", "new/dir/c.txt": "c\n", "secret/b.txt": "changed\n", "secret/d.txt": "d\n"})
	ok(t, os.Chmod(filepath.Join(s.repo, "run.sh"), 0o755))
	s.commit("fix")
	s.git("checkout", "-q", "main")
	perm := func(name string) fs.FileMode {
		info, err := os.Stat(filepath.Join(s.repo, name))
		ok(t, err)
		return info.Mode().Perm()
	}
	for name, mode := range map[string]fs.FileMode{
		".": 0o775, "a.txt": 0o664, "run.sh": 0o664, "secret": 0o700, "secret/b.txt": 0o600, ".git/index": 0o664,
	} {
		ok(t, os.Chmod(filepath.Join(s.repo, name), mode))
	}
	o := s.order(1, "fix")
	m := s.apply(o)
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	for name, want := range map[string]fs.FileMode{
		"a.txt": 0o664, "run.sh": 0o775, "new.txt": 0o664, "new": 0o775, "new/dir": 0o775, "new/dir/c.txt": 0o664,
		"secret/b.txt": 0o600, "secret/d.txt": 0o600, ".git/index": 0o664,
	} {
		if got := perm(name); got != want {
			t.Errorf("%s has the mode %o, want %o", name, got, want)
		}
	}
	same(t, "status", s.git("status", "--porcelain"), "")
}

func TestAChangeIsMergedInAShallowClone(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "one\n"})
	s.write(files{"a.txt": "two\n"})
	s.commit("second")
	shallow := s.repo + "-shallow"
	s.git("clone", "-q", "--depth", "1", "file://"+s.repo, shallow)
	s.repo = shallow
	s.branch("fix", "main", files{"b.txt": "new\n"})
	s.write(files{"c.txt": "new\n"})
	s.commit("third")
	for _, method := range []task.MergeMethod{task.MergeSquash, task.MergeRebase} {
		o := s.order(1, "fix")
		o.Method = method
		m := s.apply(o)
		same(t, "reason of "+string(method), m.Reason, "")
		same(t, "files changed by "+string(method), s.git("diff", "--name-only", m.Before, m.After), "b.txt")
	}
}
