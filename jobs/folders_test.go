package jobs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/service"
	"taskyard/task"
)

// makeFiles creates files below a folder; a name that ends in / is a folder.
func (inst *instance) makeFiles(dir string, names ...string) {
	inst.t.Helper()
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
			inst.t.Fatal(err)
		}
	}
}

// sweep runs the job twice and returns the remaining folders.
func (inst *instance) sweep(j *Jobs) string {
	inst.t.Helper()
	for range 2 {
		if err := j.folders(context.Background()); err != nil {
			inst.t.Fatal(err)
		}
	}
	list, err := os.ReadDir(inst.opt.RunsDir)
	if err != nil {
		inst.t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		if e.Name() != "worktree-owner" { // is kept
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}

// awaitFolders waits until only the wanted folders remain after the job.
func (inst *instance) awaitFolders(what string, want ...string) {
	inst.t.Helper()
	testkit.EventuallyWithin(inst.t, patience, what, func() bool { return inst.sweep(inst.jobs) == strings.Join(want, " ") })
}

func TestRunFoldersAreRemovedWhenNoRunNeedsThem(t *testing.T) {
	t.Parallel()
	kept := func(c *service.Config) { c.KeepTranscripts = 1 } // a nanosecond
	t.Run("the folder of an ended run is removed with its transcript", func(t *testing.T) {
		inst := newInstance(t, setup{cfg: kept})
		inst.create("coder")
		f := inst.next()
		inst.makeFiles(f.Dir, "home/.cache/a", "tmp/", "work/b", "overflow.txt")
		if got := inst.sweep(inst.jobs); got != "run-1-1" {
			t.Errorf("while it runs: got folders %q", got)
		}
		f.complete()
		inst.awaitRun(f.RunID, "completed/ended")
		inst.opt.Service = service.New(inst.db, nil, service.Config{Rules: testkit.Rules()})
		keeping, err := New(inst.opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := inst.sweep(keeping); got != "run-1-1" {
			t.Errorf("while the transcript is kept: got folders %q", got)
		}
		inst.awaitFolders("the folder is removed")
	})
	t.Run("the folder of a run that continues after a stop or a lost lease is kept", func(t *testing.T) {
		inst := newInstance(t, setup{cfg: kept})
		inst.create("coder")
		f := inst.next()
		inst.makeFiles(f.Dir, "home/conversation")
		f.reportSession("conversation")
		inst.end()
		if got := inst.sweep(inst.jobs); got != "run-1-1" {
			t.Errorf("while it is queued: got folders %q", got)
		}
		inst.start()
		f = inst.next()
		if err := inst.svc.LoseRun(t.Context(), inst.run(f.RunID), "gone"); err != nil {
			t.Fatal(err)
		}
		f.finish(stoppedOrLost(f))
		again := inst.next()
		if got := inst.sweep(inst.jobs); got != "run-1-1" || again.RunID != 2 {
			t.Errorf("while run %d continues in it: got folders %q", again.RunID, got)
		}
		again.complete()
		inst.awaitRun(again.RunID, "completed/ended")
		inst.awaitFolders("the folder is removed")
	})
	t.Run("other files are kept", func(t *testing.T) {
		inst := newInstance(t, setup{cfg: kept})
		inst.create("coder")
		f := inst.next()
		outside := t.TempDir()
		inst.makeFiles(outside, "precious")
		mine := []string{"run-01-1/a", "run-1-1.bak/a", "run-1-3", "run-1/a", "run-99-1/a", "tree-99/a", "work/a"}
		inst.makeFiles(inst.opt.RunsDir, append(mine, "run-1-1/a", "run-1-7/a")...)
		if err := os.Symlink(outside, filepath.Join(inst.opt.RunsDir, "run-1-2")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(inst.opt.RunsDir, "run-1-1", "link")); err != nil {
			t.Fatal(err)
		}
		f.complete()
		inst.awaitRun(f.RunID, "completed/ended")
		inst.awaitFolders("the folders of run 1 are removed",
			"run-01-1", "run-1", "run-1-1.bak", "run-1-2", "run-1-3", "run-99-1", "tree-99", "work")
		if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
			t.Error(err)
		}
	})
}

func TestWorktreesAreKeptUntilTheirWorkIsSafe(t *testing.T) {
	t.Parallel()
	repo := testkit.Repository(t, nil)
	kept := func(c *service.Config) { c.KeepTranscripts = 1 }
	inst := newInstance(t, setup{cfg: kept, agents: map[string]string{"coder": "workspace: worktree:" + repo}})
	tk := inst.create("coder")
	f := inst.next()
	inst.makeFiles(f.Plan.Workspace, "new.txt")
	f.fail()
	inst.awaitRun(f.RunID, "failed/error")
	inst.awaitFolders("the branch is kept while the task can be retried", "tree-1")
	if _, err := inst.svc.CompleteTask(t.Context(), maya, tk.ID, "", 0); err != nil {
		t.Fatal(err)
	}
	inst.makeFiles(inst.opt.RunsDir, "tree-1/work/")
	if got := inst.sweep(inst.jobs); got != "tree-1" {
		t.Errorf("with a folder work: got folders %q", got)
	}
	if err := os.Remove(filepath.Join(inst.opt.RunsDir, "tree-1", "work")); err != nil {
		t.Fatal(err)
	}
	inst.awaitFolders("it is removed when the task is closed and its work is on the branch")
}

func TestTheFoldersJobIsListed(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{stopped: true})
	inst.opt.RunsDir = filepath.Join(t.TempDir(), "not", "there")
	inst.start()
	if err := inst.jobs.RunJob("folders"); err != nil {
		t.Fatal(err)
	}
	var info task.JobInfo
	testkit.EventuallyWithin(inst.t, patience, "the job has run", func() bool {
		for _, i := range inst.jobs.Jobs() {
			if i.Name == "folders" {
				info = i
			}
		}
		return info.Runs == 1
	})
	if info.Failure != "" || info.Schedule == "" || info.About == "" {
		t.Errorf("got %+v", info)
	}
}
