package service

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// farGit is a repository whose worktrees are on another server.
type farGit struct{ *heldGit }

func (farGit) Advance(context.Context, task.MergeOrder, string, string) error { return nil }
func (farGit) Retire(context.Context, task.Worktree, string) error            { return nil }

// The merging server removes the worktree if it has it. Otherwise the server with the
// worktree removes it at its next check of its folders, not only with the transcript.
func TestTheWorktreeOfAMergedTaskOnAnotherServerIsRemoved(t *testing.T) {
	t.Parallel()
	git := farGit{&heldGit{began: make(chan struct{}, 9), let: make(chan struct{}), merge: func() {}}}
	close(git.let)
	inst := newInstance(t, noApprove, func(c *Config) { c.Repositories = git })
	heldProject(inst)
	tk, st, own := inst.inRun("coder", func(in *task.New) { in.Project = "api" })
	must(inst.s.CompleteTask(inst.ctx(), own, tk.ID, "done", 0))
	orphans := func(want int) {
		t.Helper()
		folders := []task.RunFolder{task.TreeFolder(st.Run.ID), task.StartFolder(st.Run.ID, st.Run.Lease)}
		got := must(inst.s.OrphanedFolders(inst.ctx(), folders))
		equal(t, "orphans", len(got), want)
		if want == 1 {
			equal(t, "orphan", got[0].Name, folders[0].Name)
		}
	}
	must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, must(inst.s.Result(inst.ctx(), maya, tk.ID, 1)).Digest, ""))
	inst.finish(st, completed("done"))
	orphans(0)
	_, _, err := inst.s.MergeNext(inst.ctx())
	ok(t, err)
	equal(t, "status of the task", inst.task(tk.ID).Status, task.Done)
	orphans(1)
}

// A project's long retention does not keep the branches of other projects.
func TestBranchesAreDeletedAfterTheirProjectsRetention(t *testing.T) {
	t.Parallel()
	git := farGit{&heldGit{began: make(chan struct{}, 9), let: make(chan struct{})}}
	inst := newInstance(t, func(c *Config) { c.Repositories = git })
	merged := func(key string, keepHours, times int) {
		must(inst.s.CreateProject(inst.ctx(), maya, task.Project{
			Key: key, Repository: "/srv/" + key, Merge: &task.Merge{KeepBranchHours: keepHours},
		}))
		tk := inst.create(maya, "pull", func(in *task.New) { in.Project = key })
		must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
		r := must(inst.s.Result(inst.ctx(), maya, tk.ID, 1))
		ok(t, inst.db.Write(inst.ctx(), func(tx *db.Tx) (err error) {
			for range times {
				id, failed := tx.InsertMerge(&task.MergeEntry{TaskID: tk.ID, ResultID: r.ID, Project: key, Repository: "/srv/" + key, Into: "main"})
				err = errors.Join(err, failed, tx.EndMerge(id, task.MergeDone, "", ""))
			}
			return err
		}))
	}
	merged("long", 365*24, 150)
	merged("short", 1, 2)
	equal(t, "deleted at once", must(inst.s.RetireBranches(inst.ctx())), 0)
	inst.Forward(2 * time.Hour)
	equal(t, "deleted after 2 h", must(inst.s.RetireBranches(inst.ctx())), 2)
	equal(t, "deleted again", must(inst.s.RetireBranches(inst.ctx())), 0)
	inst.Forward(365 * 24 * time.Hour)
	equal(t, "deleted after a year", must(inst.s.RetireBranches(inst.ctx()))+must(inst.s.RetireBranches(inst.ctx())), 150)
}

// waitingGit is a repository whose merges wait, before or after the target moved.
type waitingGit struct {
	farGit
	moved bool
}

func (g *waitingGit) Advance(context.Context, task.MergeOrder, string, string) error {
	return task.Errorf(task.Conflict, task.CodeMergeWaits, "it waits")
}

func (g *waitingGit) Contains(context.Context, string, string, string) (bool, error) {
	return g.moved, nil
}

// A task whose change is on its target and waits to be pushed cannot be canceled:
// history would show as canceled a change that everyone has.
func TestATaskWhoseChangeIsOnItsTargetCannotBeCanceled(t *testing.T) {
	t.Parallel()
	accepted := func(moved bool) (*instance, *waitingGit, *task.Task) {
		git := &waitingGit{farGit{&heldGit{began: make(chan struct{}, 9), let: make(chan struct{}), merge: func() {}}}, moved}
		close(git.let)
		inst := newInstance(t, func(c *Config) { c.Repositories = git })
		tk := heldProject(inst)
		must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
		must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, must(inst.s.Result(inst.ctx(), maya, tk.ID, 1)).Digest, ""))
		for range 2 { // the second attempt finds what the first one left
			_, _, err := inst.s.MergeNext(inst.ctx())
			ok(t, err)
			inst.Forward(mergeRetry)
		}
		return inst, git, tk
	}
	t.Run("after the target has moved", func(t *testing.T) {
		inst, _, tk := accepted(true)
		_, err := inst.s.CancelTask(inst.ctx(), maya, tk.ID, "not needed")
		refused(t, err, task.CodeTaskGated, "already on main")
		equal(t, "status of the task", inst.task(tk.ID).Status, task.Active)
		equal(t, "state of its result", must(inst.s.Result(inst.ctx(), maya, tk.ID, 1)).State, task.ResultAccepted)
	})
	t.Run("before that it is canceled", func(t *testing.T) {
		inst, _, tk := accepted(false)
		must(inst.s.CancelTask(inst.ctx(), maya, tk.ID, "not needed"))
		equal(t, "status of the task", inst.task(tk.ID).Status, task.Canceled)
	})
}

func TestAWaitingMergeIsAnAlertForAdmins(t *testing.T) {
	t.Parallel()
	inst, git, tk := newHeldTask(t)
	git.merge = func() {}
	close(git.let)
	must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
	must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, must(inst.s.Result(inst.ctx(), maya, tk.ID, 1)).Digest, ""))
	alerts := func() []task.InboxAlert { return must(inst.s.Inbox(inst.ctx(), maya)).Alerts }
	equal(t, "alerts", len(alerts()), 0)
	sub := inst.s.Hub().Subscribe("inbox")
	defer sub.Close()
	_, _, err := inst.s.MergeNext(inst.ctx())
	ok(t, err)
	equal(t, "topics", strings.Join(sub.Drain(), " "), "inbox")
	list := alerts()
	if len(list) != 1 || list[0].Job != task.AlertMerge || list[0].At == 0 ||
		!strings.HasPrefix(list[0].Text, "#"+tk.ID.String()+" into main: ") || strings.HasSuffix(list[0].Text, ": ") {
		t.Fatalf("got alerts %+v", list)
	}
	equal(t, "alerts of a reviewer", len(must(inst.s.Inbox(inst.ctx(), rita)).Alerts), 0)
	must(inst.s.CancelTask(inst.ctx(), maya, tk.ID, "not needed"))
	equal(t, "alerts after it has ended", len(alerts()), 0)
}
