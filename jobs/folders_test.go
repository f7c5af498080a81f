package jobs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/service"
	"taskyard/task"
)

// make makes files below a folder; a name that ends in / is a folder.
func (y *instance) make(dir string, names ...string) {
	y.t.Helper()
	for _, name := range names {
		file := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			file = filepath.Join(file, "file")
		}
		err := os.MkdirAll(filepath.Dir(file), 0o700)
		if err == nil && !strings.HasSuffix(name, "/") {
			err = os.WriteFile(file, []byte("x"), 0o600)
		}
		if err != nil {
			y.t.Fatal(err)
		}
	}
}

// sweeps has the job run twice, and tells what is left.
func (y *instance) sweeps(j *Jobs) string {
	y.t.Helper()
	for range 2 {
		if err := j.folders(context.Background()); err != nil {
			y.t.Fatal(err)
		}
	}
	list, err := os.ReadDir(y.opt.RunsDir)
	if err != nil {
		y.t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		if e.Name() != "worktree-owner" { // it stays
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}

// left waits until the job leaves just these.
func (y *instance) left(what string, want ...string) {
	y.t.Helper()
	testkit.EventuallyWithin(y.t, patience, what, func() bool { return y.sweeps(y.jobs) == strings.Join(want, " ") })
}

func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q"},
		{"-c", "user.name=M", "-c", "user.email=m@example.org", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git: %v\n%s", err, out)
		}
	}
	return dir
}

func TestFoldersOfRunsAreRemovedWhenNobodyComesBackToThem(t *testing.T) {
	t.Parallel()
	kept := func(c *service.Config) { c.KeepTranscripts = 1 } // a nanosecond
	t.Run("that of a run which ended, when transcripts are not kept any more", func(t *testing.T) {
		y := newInstance(t, setup{cfg: kept})
		y.create("coder")
		f := y.next()
		y.make(f.Dir, "home/.cache/a", "tmp/", "work/b", "overflow.txt")
		if got := y.sweeps(y.jobs); got != "run-1-1" {
			t.Errorf("while it runs %q is left", got)
		}
		f.complete()
		y.awaitRun(f.RunID, "completed/ended")
		y.opt.Service = service.New(y.db, nil, service.Config{Rules: testkit.Rules()})
		patient, err := New(y.opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := y.sweeps(patient); got != "run-1-1" {
			t.Errorf("after a moment %q is left", got)
		}
		y.left("it is gone")
	})
	t.Run("not that of a run which continues, after a stop or after it was lost", func(t *testing.T) {
		y := newInstance(t, setup{cfg: kept})
		y.create("coder")
		f := y.next()
		y.make(f.Dir, "home/conversation")
		f.talks("conversation")
		y.end()
		if got := y.sweeps(y.jobs); got != "run-1-1" {
			t.Errorf("while it is queued %q is left", got)
		}
		y.start()
		f = y.next()
		if err := y.svc.LoseRun(t.Context(), y.run(f.RunID), "gone"); err != nil {
			t.Fatal(err)
		}
		f.land(stoppedOr(f))
		again := y.next()
		if got := y.sweeps(y.jobs); got != "run-1-1" || again.RunID != 2 {
			t.Errorf("while run %d continues in it %q is left", again.RunID, got)
		}
		again.complete()
		y.awaitRun(again.RunID, "completed/ended")
		y.left("it is gone")
	})
	t.Run("nothing that is not ours", func(t *testing.T) {
		y := newInstance(t, setup{cfg: kept})
		y.create("coder")
		f := y.next()
		outside := t.TempDir()
		y.make(outside, "precious")
		mine := []string{"run-01-1/a", "run-1-1.bak/a", "run-1-3", "run-1/a", "run-99-1/a", "tree-99/a", "work/a"}
		y.make(y.opt.RunsDir, append(mine, "run-1-1/a", "run-1-7/a")...)
		if err := os.Symlink(outside, filepath.Join(y.opt.RunsDir, "run-1-2")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(y.opt.RunsDir, "run-1-1", "link")); err != nil {
			t.Fatal(err)
		}
		f.complete()
		y.awaitRun(f.RunID, "completed/ended")
		y.left("the folders of run 1 are gone", "run-01-1", "run-1", "run-1-1.bak", "run-1-2", "run-1-3", "run-99-1", "tree-99", "work")
		if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
			t.Error(err)
		}
	})
}

func TestWorktreesAreKeptWhileTheirWorkMayBeLost(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	kept := func(c *service.Config) { c.KeepTranscripts = 1 }
	y := newInstance(t, setup{cfg: kept, agents: map[string]string{"coder": "workspace: worktree:" + repo}})
	tk := y.create("coder")
	f := y.next()
	y.make(f.Plan.Workspace, "new.txt")
	f.fail()
	y.awaitRun(f.RunID, "failed/error")
	y.left("its branch is known while the task may be tried again", "tree-1")
	if _, err := y.svc.CompleteTask(t.Context(), maya, tk.ID, "", 0); err != nil {
		t.Fatal(err)
	}
	y.make(y.opt.RunsDir, "tree-1/work/")
	if got := y.sweeps(y.jobs); got != "tree-1" {
		t.Errorf("with a folder of work %q is left", got)
	}
	if err := os.Remove(filepath.Join(y.opt.RunsDir, "tree-1", "work")); err != nil {
		t.Fatal(err)
	}
	y.left("it is gone when the task is closed and its work is on the branch")
}

func TestTheFoldersJobIsOnThePage(t *testing.T) {
	t.Parallel()
	y := newInstance(t, setup{stopped: true})
	y.opt.RunsDir = filepath.Join(t.TempDir(), "not", "there")
	y.start()
	if err := y.jobs.RunJob("folders"); err != nil {
		t.Fatal(err)
	}
	var info task.JobInfo
	testkit.EventuallyWithin(y.t, patience, "it has run", func() bool {
		for _, i := range y.jobs.Jobs() {
			if i.Name == "folders" {
				info = i
			}
		}
		return info.Runs == 1
	})
	if info.Failure != "" || info.Schedule == "" || info.About == "" {
		t.Errorf("it says %+v", info)
	}
}
