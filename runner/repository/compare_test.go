//go:build linux

package repository

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

const long = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n"

func TestARebaseDoesNotChangeThePatch(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": long, "b.txt": "b\n", "win.txt": "1\r\n2\r\n3\r\n"})
	change := files{"a.txt": strings.Replace(long, "18\n", "eighteen", 1), "new.txt": "no newline at the end", "win.txt": "1\r\nzwei\r\n3\r\n"}
	s.branch("fix", "main", change)
	before := s.revision("fix")
	s.write(files{"a.txt": "0\n" + strings.Replace(long, "3\n", "three\n", 1), "b.txt": "other\n", "0.txt": "first in the list\n"})
	s.commit("the target changes elsewhere in the same file")
	s.git("checkout", "-q", "fix")
	s.git("rebase", "-q", "main")
	s.git("checkout", "-q", "main")
	after := s.revision("fix")
	if before.Base == after.Base || before.Head == after.Head {
		t.Fatal("it was not rebased")
	}
	same(t, "patch", after.Patch, before.Patch)
	same(t, "files", fileList(after.Files), "modified a.txt +1-2\nadded new.txt +1-0\nmodified win.txt +1-1")
}

func fileList(list []task.FileChange) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%s %s +%d-%d", f.Change, f.Path, f.Added, f.Removed)
		if f.Note != "" {
			b.WriteString(" (" + f.Note + ")")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestDifferentChangesHaveDifferentPatches(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": long, "b.bin": "a\x00b", "run.sh": "x\n", "sub/c.txt": "c\n"})
	base := files{"a.txt": strings.Replace(long, "10\n", "ten\n", 1)}
	with := func(list files) files {
		all := files{}
		maps.Copy(all, base)
		maps.Copy(all, list)
		return all
	}
	seen := map[string]string{}
	add := func(name string, list files, more ...func()) {
		t.Helper()
		s.git("checkout", "-q", "-B", "fix", "main")
		s.write(list)
		for _, f := range more {
			f()
		}
		s.commit(name)
		s.git("checkout", "-q", "-f", "main")
		rev := s.revision("fix")
		if other, ok := seen[rev.Patch]; ok {
			t.Errorf("%q has the same patch as %q", name, other)
		}
		seen[rev.Patch] = name
	}
	add("nothing", nil)
	add("the change", base)
	add("a byte", files{"a.txt": strings.Replace(long, "10\n", "tem\n", 1)})
	add("a space", files{"a.txt": strings.Replace(long, "10\n", "ten \n", 1)})
	add("a line ending", files{"a.txt": strings.Replace(long, "10\n", "ten\r\n", 1)})
	add("the end of the file", files{"a.txt": strings.TrimSuffix(strings.Replace(long, "10\n", "ten\n", 1), "\n")})
	add("the same text elsewhere", files{"a.txt": strings.Replace(long, "11\n", "ten\n", 1)})
	add("another file", with(files{"new.txt": "x\n"}))
	add("an empty file", with(nil), func() { ok(t, os.WriteFile(filepath.Join(s.repo, "empty"), nil, 0o644)) })
	add("an empty executable", with(nil), func() { ok(t, os.WriteFile(filepath.Join(s.repo, "empty"), nil, 0o755)) })
	add("a mode", with(nil), func() { ok(t, os.Chmod(filepath.Join(s.repo, "run.sh"), 0o755)) })
	add("a deleted file", with(files{"run.sh": ""}))
	add("a byte of a binary file", with(files{"b.bin": "a\x00c"}))
	add("another byte of the binary file", with(files{"b.bin": "a\x00d"}))
	add("a link", with(nil), func() { ok(t, os.Symlink("run.sh", filepath.Join(s.repo, "link"))) })
	add("a link elsewhere", with(nil), func() { ok(t, os.Symlink("/etc/passwd", filepath.Join(s.repo, "link"))) })
	add("a file with the text of the link", with(files{"link": "run.sh"}))
	add("a file that becomes a link", with(files{"run.sh": ""}), func() { ok(t, os.Symlink("x\n", filepath.Join(s.repo, "run.sh"))) })
	add("a moved file", with(files{"sub/c.txt": "", "sub/d.txt": "c\n"}))
	for _, name := range []string{
		"new\nline", "quo\"te", "rtl\u202etxt.exe", "a\ttab", "-rf", "back\\slash", "+x\n@@ -1 +1 @@\n+y", "no utf\xff8",
	} {
		add("the name "+name, with(files{name: "x\n"}))
	}
	commit := s.git("rev-parse", "main")
	add("a submodule", with(nil), func() {
		ok(t, os.Mkdir(filepath.Join(s.repo, "mod"), 0o755))
		s.git("update-index", "--add", "--cacheinfo", "160000,"+commit+",mod")
	})
	t.Run("a file whose name cannot be shown is found by its shown name", func(t *testing.T) {
		s.branch("odd", "main", files{"no utf\xff8": "x\n", "new\nline": "y\n"})
		rev := s.revision("odd")
		for _, f := range rev.Files {
			d, err := s.rs.FileDiff(t.Context(), s.repo, rev.Base, rev.Head, f.Path, 3)
			ok(t, err)
			if d.Path != f.Path || !strings.HasPrefix(d.Diff, "@@ -0,0 +1 @@\n+") {
				t.Errorf("%q: %+v", f.Path, d)
			}
		}
	})
}

func TestAttributesDoNotChangeThePatch(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": long, "b.txt": long})
	s.branch("plain", "main", files{"a.txt": strings.Replace(long, "10\n", "ten\n", 1)})
	plain := s.revision("plain")
	s.write(files{".gitattributes": "*.txt -diff diff=foo filter=foo merge=foo eol=crlf ident\n"})
	s.commit("attributes")
	mark := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil")
	ok(t, os.WriteFile(evil, []byte("#!/bin/sh\necho \"$0 $@\" >> "+mark+"\ncat\n"), 0o755))
	s.git("checkout", "-q", "-B", "fix", "main")
	s.write(files{"a.txt": strings.Replace(long, "10\n", "ten\n", 1)})
	s.commit("fix")
	s.git("checkout", "-q", "main")
	for _, name := range []string{
		"core.fsmonitor", "core.sshCommand", "core.pager", "diff.external", "diff.foo.textconv", "diff.foo.command", "diff.foo.xfuncname",
		"filter.foo.clean", "filter.foo.smudge", "filter.foo.process", "merge.foo.driver", "gpg.program", "core.alternateRefsCommand",
	} {
		s.git("config", name, evil)
	}
	s.git("config", "commit.gpgSign", "true")
	s.git("config", "diff.algorithm", "patience")
	s.git("config", "diff.context", "9")
	s.git("config", "diff.orderFile", evil)
	s.write(files{".git/info/attributes": "*.txt -diff\n"})
	for _, hook := range []string{"post-checkout", "pre-commit", "reference-transaction", "post-index-change", "post-commit", "update"} {
		s.write(files{".git/hooks/" + hook: "#!/bin/sh\nexec " + evil + "\n"})
		ok(t, os.Chmod(filepath.Join(s.repo, ".git/hooks", hook), 0o755))
	}
	_ = os.Remove(mark)
	rev := s.revision("fix")
	same(t, "patch", rev.Patch, plain.Patch)
	same(t, "files", fileList(rev.Files), "modified a.txt +1-1")
	d, err := s.rs.FileDiff(t.Context(), s.repo, rev.Base, rev.Head, "a.txt", 1)
	ok(t, err)
	same(t, "diff", d.Diff, "@@ -9,3 +9,3 @@\n 9\n-10\n+ten\n 11")
	p := task.Project{Repository: s.repo, DefaultBranch: "main", BranchPrefix: "taskyard/", Merge: &task.Merge{Into: "main"}}
	s.rs.Examine(t.Context(), &p)
	o := s.order(1, "fix")
	m := s.apply(o)
	same(t, "code", m.Code+m.Reason, "")
	_ = s.rs.Advance(t.Context(), o, m.Before, m.After) // waits because its files pass through a filter
	if b, err := os.ReadFile(mark); err == nil {
		t.Errorf("ran:\n%s", b)
	}
}

func TestAFileIsComparedAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "one\n", "huge.txt": "x\n"})
	s.branch("fix", "main", files{
		"a.txt": "one\nthe key is hush-hush\n", "b.bin": "\x00", "esc.txt": "\x1b[31m\n", "huge.txt": strings.Repeat("0123456789\n", 300_000),
		"wide.txt": strings.Repeat("0123456789\n", 20_000),
	})
	rev := s.revision("fix")
	want := map[string]string{
		"a.txt": "@@ -1 +1,2 @@\n one\n+the key is [redacted]\n", "b.bin": "binary, 1 B", "esc.txt": "@@ -0,0 +1 @@\n+^[[31m\n",
		"huge.txt": "too large to compare, 2 B → 3.1 MiB", "wide.txt": "lines of its diff are left out",
	}
	for name, text := range want {
		d, err := s.rs.FileDiff(t.Context(), s.repo, rev.Base, rev.Head, name, 3)
		ok(t, err)
		if got := d.Diff + d.Note; !strings.Contains(got, text) || len(d.Diff) > task.MaxFileDiff {
			t.Errorf("%s: got %.300q", name, got)
		}
	}
	_, err := s.rs.FileDiff(t.Context(), s.repo, rev.Base, rev.Head, "no.txt", 3)
	refusal(t, err, task.CodeNotFound, "no.txt is the same in both commits")
	_, _, err = s.rs.Files(t.Context(), s.repo, rev.Base, "--output=/tmp/x")
	refusal(t, err, task.CodeRepository, "no longer has commit")
	_, _, err = s.rs.Files(t.Context(), s.repo, rev.Base, strings.Repeat("a", 40))
	refusal(t, err, task.CodeRepository, "no longer has commit")
}

func TestALargeChangeIsStreamed(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "one\n"})
	s.git("checkout", "-q", "-b", "fix")
	many, size := 2000, 70<<20
	if testkit.Whole() {
		many, size = 10_000, 100<<20
	}
	for i := range many {
		dir := filepath.Join(s.repo, fmt.Sprintf("d%d", i%100))
		ok(t, os.MkdirAll(dir, 0o755))
		ok(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), []byte(fmt.Sprintf("file %d\nof many\n", i)), 0o644))
	}
	text := strings.Repeat("a line of many megabytes of text, which no memory should hold at once\n", size/70)
	ok(t, os.WriteFile(filepath.Join(s.repo, "big.txt"), []byte(text), 0o644))
	ok(t, os.WriteFile(filepath.Join(s.repo, "line.txt"), []byte(strings.Repeat("x", 15<<20)), 0o644))
	s.commit("large")
	s.git("checkout", "-q", "main")
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rev := s.revision("fix")
	runtime.ReadMemStats(&after)
	if rev.Total != many+2 || len(rev.Files) != task.MaxFiles {
		t.Errorf("got %d files, %d named", rev.Total, len(rev.Files))
	}
	allocated := after.TotalAlloc - before.TotalAlloc
	t.Logf("allocated %d MB", allocated>>20)
	if allocated > 64<<20 {
		t.Errorf("allocated %d MB", allocated>>20)
	}
}

// Otherwise an agent could hide a file behind another one from reviewers.
func TestFilesWhoseNamesLookTheSameAreComparedSeparately(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "one\n"})
	s.branch("fix", "main", files{"x\xfe.sh": "first\n", "x\xff.sh": "second\n", "x\ufffd.sh": "third\n", "x\ufffd.sh (2)": "fourth\n"})
	rev := s.revision("fix")
	diffs := map[string]string{}
	for _, f := range rev.Files {
		d, err := s.rs.FileDiff(t.Context(), s.repo, rev.Base, rev.Head, f.Path, 3)
		ok(t, err)
		diffs[f.Path] = d.Diff
		same(t, "name", d.Path, f.Path)
	}
	want := files{"x\ufffd.sh": "third", "x\ufffd.sh (2)": "fourth", "x\ufffd.sh (3)": "first", "x\ufffd.sh (4)": "second"}
	for name, text := range want {
		same(t, name, diffs[name], "@@ -0,0 +1 @@\n+"+text)
	}
}

// Otherwise an agent could keep the server busy for hours.
func TestManyFilesWhoseNamesLookTheSameAreNamedQuickly(t *testing.T) {
	t.Parallel()
	s, last, began := newShownNames(), "", time.Now()
	for range 50_000 {
		last = s.add("x\ufffd")
	}
	for i := range 25_000 {
		for range 2 {
			s.add(strings.Repeat("x", task.MaxFilePath-9) + fmt.Sprintf("%09d", i))
		}
	}
	same(t, "the last name", last, "x\ufffd (50000)")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
