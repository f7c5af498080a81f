package agentfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"taskyard/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bare returns a folder without the default agents.
func bare(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, marker, "")
	return dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string) *Folder {
	t.Helper()
	f, err := Open(dir, func() *Options { return &testOptions }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func agent(t *testing.T, f *Folder, id string) task.Agent {
	t.Helper()
	a, ok := f.Agent(id)
	if !ok {
		t.Fatalf("agent %s is not among %v", id, ids(f))
	}
	return a
}

func ids(f *Folder) (out []string) {
	for _, a := range f.Agents() {
		out = append(out, a.ID)
	}
	return out
}

func wantIDs(t *testing.T, f *Folder, want ...string) {
	t.Helper()
	if !slices.Equal(ids(f), want) {
		t.Errorf("got the agents %v, want %v", ids(f), want)
	}
}

const broken = "## Description\nx\n"

func TestOpenWritesDefaultsOnce(t *testing.T) {
	t.Parallel()
	t.Run("into a new folder that only its owner can read", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data", "agents")
		f := open(t, dir)
		wantIDs(t, f, "code-focused", "general-purpose")
		for _, a := range f.Agents() {
			wantValid(t, a)
			equal(t, "has a loading time", a.LoadedAt != 0, true)
		}
		for path, mode := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, "code-focused.md"): 0o600} {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, path, info.Mode().Perm(), mode)
		}
		left, _ := filepath.Glob(filepath.Join(dir, ".*tmp*"))
		equal(t, "temporary files", len(left), 0)
	})
	t.Run("never over an existing file", func(t *testing.T) {
		dir := t.TempDir()
		put(t, dir, "general-purpose.md", headings)
		f := open(t, dir)
		wantIDs(t, f, "code-focused", "general-purpose")
		equal(t, "text", agent(t, f, "general-purpose").Text, headings)
	})
	t.Run("not again after one was deleted", func(t *testing.T) {
		dir := t.TempDir()
		if err := open(t, dir).Delete("code-focused"); err != nil {
			t.Fatal(err)
		}
		wantIDs(t, open(t, dir), "general-purpose")
	})
}

func TestABrokenFileDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	dir := bare(t)
	put(t, dir, "a.md", headings)
	put(t, dir, "b.md", broken)
	put(t, dir, "c.md", front())
	f := open(t, dir)
	wantIDs(t, f, "a", "b", "c")
	wantValid(t, agent(t, f, "a"))
	wantValid(t, agent(t, f, "c"))
	b := agent(t, f, "b")
	equal(t, "status", b.Status, task.AgentInvalid)
	equal(t, "serving", b.Serving, false)
	equal(t, "file text", b.FileText, broken)
}

func TestTheLastValidVersionStaysInUse(t *testing.T) {
	t.Parallel()
	dir := bare(t)
	put(t, dir, "a.md", headings)
	f := open(t, dir)
	good := agent(t, f, "a")

	put(t, dir, "a.md", broken)
	f.Reload()
	a := agent(t, f, "a")
	equal(t, "status", a.Status, task.AgentInvalid)
	equal(t, "serving", a.Serving, true)
	equal(t, "text", a.Text, headings)
	equal(t, "hash", a.Hash, good.Hash)
	equal(t, "prompt", a.Prompt, good.Prompt)
	equal(t, "file text", a.FileText, broken)
	equal(t, "file hash", a.FileHash, textHash(broken))
	wantTools(t, a, "read", "list")
	wantProblem(t, a, 1, true, "prompt is missing")

	t.Run("through further reloads", func(t *testing.T) {
		f.Reload()
		equal(t, "serving", agent(t, f, "a").Serving, true)
	})
	t.Run("until the file is fixed", func(t *testing.T) {
		put(t, dir, "a.md", front())
		f.Reload()
		a := agent(t, f, "a")
		wantValid(t, a)
		equal(t, "file text", a.FileText, "")
		equal(t, "hash", a.Hash, textHash(front()))
	})
	t.Run("but not after the file was deleted", func(t *testing.T) {
		if err := os.Remove(filepath.Join(dir, "a.md")); err != nil {
			t.Fatal(err)
		}
		f.Reload()
		wantIDs(t, f)
		put(t, dir, "a.md", broken)
		f.Reload()
		equal(t, "serving", agent(t, f, "a").Serving, false)
	})
}

func TestOnlyRegularFilesWithGoodNamesAreRead(t *testing.T) {
	t.Parallel()
	dir := bare(t)
	outside := t.TempDir()
	put(t, outside, "secret.md", headings)
	if err := errors.Join(
		os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(dir, "link.md")),
		os.Mkdir(filepath.Join(dir, "folder.md"), 0o700),
		syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	put(t, dir, ".hidden.md", headings)
	put(t, dir, "notes.txt", headings)
	put(t, dir, "My Agent.md", headings)
	put(t, dir, "upper.MD", headings)
	put(t, dir, "good.md", headings)
	f := open(t, dir) // opening a pipe as a regular file would block here
	wantIDs(t, f, "good")
	reported := strings.Join(f.Problems(), "\n")
	for _, name := range []string{"link.md", "folder.md", "pipe.md", "My Agent.md", "upper.MD"} {
		equal(t, name+" is reported", strings.Contains(reported, `"`+name+`"`), true)
	}
	equal(t, "problems", len(f.Problems()), 5)
	t.Run("even if a file is replaced by a link between listing and reading", func(t *testing.T) {
		for _, name := range []string{"link.md", "folder.md", "pipe.md"} {
			if _, err := readFile(filepath.Join(dir, name)); !errors.Is(err, errNotRegular) {
				t.Errorf("readFile(%s) returns %v", name, err)
			}
		}
	})
}

func TestAFolderThatVanishesKeepsItsAgents(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "agents")
	f := open(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	f.Reload()
	wantIDs(t, f, "code-focused", "general-purpose")
	equal(t, "problems", len(f.Problems()), 1)
}

func TestARunnerThatBecomesReadyEndsPullOnly(t *testing.T) {
	t.Parallel()
	dir := bare(t)
	put(t, dir, "a.md", headings)
	why := "no provider"
	opt := Options{PullOnly: func(string) string { return why }}
	f, err := Open(dir, func() *Options { return &opt }, nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "pull-only", agent(t, f, "a").PullOnly, true)
	why = ""
	f.Reload()
	equal(t, "pull-only", agent(t, f, "a").PullOnly, false)
}

// watch runs Watch until the test ends and returns what it reports.
func watch(t *testing.T, f *Folder) <-chan []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reported, ended := make(chan []string, 100), make(chan error, 1)
	go func() { ended <- f.Watch(ctx, func(ids []string) { reported <- ids }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Watch returned %v", err)
		}
	})
	return reported
}

// wantReported waits until exactly these IDs are reported, together or one after
// another.
func wantReported(t *testing.T, reported <-chan []string, want ...string) {
	t.Helper()
	late := time.After(30 * time.Second) // the machine may be busy
	for seen := map[string]bool{}; len(seen) < len(want); {
		select {
		case ids := <-reported:
			for _, id := range ids {
				if seen[id] = true; !slices.Contains(want, id) {
					t.Errorf("%s was reported, want %v", id, want)
				}
			}
		case <-late:
			t.Fatalf("got only %v, want %v", seen, want)
		}
	}
}

// replace replaces a file atomically, as editors do: a reader never sees half of
// it.
func replace(t *testing.T, dir, name, text string) {
	t.Helper()
	put(t, dir, ".next", text)
	if err := os.Rename(filepath.Join(dir, ".next"), filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func TestWatchReportsChangesWithinASecond(t *testing.T) {
	t.Parallel()
	if maxDelay+debounce > time.Second {
		t.Errorf("a change may be delayed by %v", maxDelay)
	}
	dir := bare(t)
	f := open(t, dir)
	reported := watch(t, f)
	replace(t, dir, "a.md", headings)
	wantReported(t, reported, "a")
	wantValid(t, agent(t, f, "a"))

	replace(t, dir, "a.md", broken)
	wantReported(t, reported, "a")
	equal(t, "status", agent(t, f, "a").Status, task.AgentInvalid)

	if err := os.Rename(filepath.Join(dir, "a.md"), filepath.Join(dir, "b.md")); err != nil {
		t.Fatal(err)
	}
	wantReported(t, reported, "a", "b")
	wantIDs(t, f, "b")

	if err := os.Remove(filepath.Join(dir, "b.md")); err != nil {
		t.Fatal(err)
	}
	wantReported(t, reported, "b")
	wantIDs(t, f)

	if _, err := f.Save("c", headings, "", false); err != nil {
		t.Fatal(err)
	}
	wantReported(t, reported, "c")
	select {
	case ids := <-reported:
		t.Errorf("the file event of a Save reported %v a second time", ids)
	case <-time.After(4 * debounce):
	}
}

func TestARescanFindsChangesWithoutEvents(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "agents")
	f := open(t, dir)
	f.rescan = 50 * time.Millisecond
	reported := watch(t, f)
	// Another folder replaces the first: its files cause no event here.
	other := bare(t)
	put(t, other, "a.md", headings)
	if err := errors.Join(os.RemoveAll(dir), os.Rename(other, dir)); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for !seen["a"] || !seen["code-focused"] || !seen["general-purpose"] {
		select {
		case ids := <-reported:
			for _, id := range ids {
				seen[id] = true
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("got only %v", seen)
		}
	}
	wantIDs(t, f, "a")
}

func TestAnUnreadableFileKeepsItsLastValidVersion(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root can read every file")
	}
	dir := bare(t)
	put(t, dir, "a.md", headings)
	f := open(t, dir)
	if err := os.Chmod(filepath.Join(dir, "a.md"), 0); err != nil {
		t.Fatal(err)
	}
	f.Reload()
	a := agent(t, f, "a")
	equal(t, "serving", a.Serving, true)
	equal(t, "text", a.Text, headings)
	wantProblem(t, a, 1, true, "cannot be read")
}

// TestAgentsAreCheckedAgainWhenRunnersChange changes the configured runners while
// no file changes.
func TestAgentsAreCheckedAgainWhenRunnersChange(t *testing.T) {
	t.Parallel()
	dir := bare(t)
	front := func(runner string) string {
		return "---\ndescription: d\ntools: read\nrunner: " + runner + "\n---\nWork.\n"
	}
	put(t, dir, "old.md", front("old"))
	put(t, dir, "novel.md", front("novel"))
	put(t, dir, "same.md", front("same"))
	opt := &Options{Runners: runners(map[string]string{"old": "command", "same": "command"})}
	f, err := Open(dir, func() *Options { return opt }, nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "old.md", "---\ntools: 7\n") // an edit in progress
	f.Reload()
	if a := agent(t, f, "old"); !a.Serving || a.Runner != "old" {
		t.Fatalf("the last valid version is not in use: %+v", a)
	}
	put(t, dir, "old.md", front("old"))
	f.Reload()
	clear(f.changed)
	before := agent(t, f, "same")

	opt = &Options{Runners: runners(map[string]string{"novel": "command", "same": "command"})}
	f.Reload()
	t.Run("an agent whose runner was removed is no longer served, and shows the fix", func(t *testing.T) {
		a := agent(t, f, "old")
		if a.Serving || a.Status != task.AgentInvalid || !strings.Contains(a.Problems[0].Message, "the runner \"old\" is not configured") ||
			!strings.Contains(a.Problems[0].Hint, "Configured runners are novel, same, none") {
			t.Errorf("%+v", a)
		}
	})
	t.Run("nor is the last valid version of an invalid file", func(t *testing.T) {
		put(t, dir, "old.md", "---\ntools: 7\n")
		f.Reload()
		if a := agent(t, f, "old"); a.Serving {
			t.Errorf("%+v", a)
		}
	})
	t.Run("an agent whose runner was added is served", func(t *testing.T) {
		if a := agent(t, f, "novel"); !a.Serving || a.Status != task.AgentValid || a.Runner != "novel" || a.FileText != "" {
			t.Errorf("%+v", a)
		}
	})
	t.Run("other agents are unchanged, and are not reported", func(t *testing.T) {
		if a := agent(t, f, "same"); !reflect.DeepEqual(a, before) || f.changed["same"] || !f.changed["old"] || !f.changed["novel"] {
			t.Errorf("got %+v\nwant %+v\nreported %v", a, before, f.changed)
		}
	})
	t.Run("a runner that is configured again makes its agent available again", func(t *testing.T) {
		put(t, dir, "old.md", front("old"))
		opt = &Options{Runners: runners(map[string]string{"old": "command"})}
		f.Reload()
		if a := agent(t, f, "old"); !a.Serving || a.Status != task.AgentValid {
			t.Errorf("%+v", a)
		}
	})
	t.Run("the editor checks against the new runners, and offers a template for each", func(t *testing.T) {
		if a := f.Check("x", front("novel")); a.Status != task.AgentInvalid {
			t.Errorf("%+v", a)
		}
		list := f.Templates()
		if last := list[len(list)-1]; last.Key != "runner-old" {
			t.Errorf("%+v", last)
		}
	})
}
