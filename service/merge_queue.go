package service

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"taskyard/db"
	"taskyard/internal/lazyregexp"
	"taskyard/task"
)

// mergeRetry is after what time a merge is tried again that something of the
// repository is in the way of.
const mergeRetry = 30 * time.Second

// TopicMerges is published when a merge may be made.
const TopicMerges = "merges"

// mergeTarget distinguishes the targets: two merges into one target are kept apart.
func mergeTarget(m *task.MergeEntry) string { return m.Repository + "\x00" + m.Into }

// queueMerge puts an accepted result into the queue of its target.
func (tx *txn) queueMerge(tk *task.Task, r *task.Result, p *task.Project) error {
	tree, err := taskWorktree(&tx.Rx, tk, p)
	if err != nil {
		return err
	}
	if ok, err := tx.MoveResult(r.ID, task.ResultReview, task.ResultAccepted); err != nil || !ok {
		return err
	}
	m := &task.MergeEntry{TaskID: tk.ID, ResultID: r.ID, Project: p.Key, Repository: p.Repository, Into: tree.Target}
	if m.ID, err = tx.InsertMerge(m); err != nil {
		return err
	}
	if err := tx.SetAwaits(tk.ID, task.WaitsMerge); err != nil {
		return err
	}
	tx.signals.Topics = append(tx.signals.Topics, TopicMerges)
	return tx.taskEvent(task.EvMergeQueued, tk, changes{"result": r.Number, "into": m.Into})
}

// ProjectMerges returns the merges of a project, "" for all: those in the queue, in
// its order, and a page of the ended ones, the newest first. Errors: may not
// read, unknown project.
func (s *Service) ProjectMerges(ctx context.Context, a task.Actor, project string, before task.ID,
	limit int,
) (queue, ended []*task.MergeEntry, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, nil, err
	}
	if limit < 1 || limit > 200 {
		return nil, nil, task.FieldErrorf("limit", "must be 1 to 200")
	}
	err = s.db.Read(ctx, func(rx *db.Rx) error {
		if project != "" {
			if _, err := rx.Project(project); err != nil {
				return err
			}
		}
		open, err := rx.OpenMerges()
		if err != nil {
			return err
		}
		for _, m := range open {
			if project == "" || m.Project == project {
				queue = append(queue, m)
			}
		}
		ended, err = rx.EndedMerges(project, before, limit)
		return err
	})
	return queue, ended, err
}

// MergeNext makes the first merge whose target nothing else of this process
// merges into, and reports whether there was one; at is when the next may be
// tried, 0 when none waits. A merge that was cut off is made again, or found
// done: the target is at its old or its new head.
func (s *Service) MergeNext(ctx context.Context) (did bool, at task.Time, err error) {
	if s.config().Repositories == nil {
		return false, 0, nil
	}
	list, err := read(ctx, s, func(rx *db.Rx) ([]*task.MergeEntry, error) { return rx.DueMerges() })
	if err != nil {
		return false, 0, err
	}
	for _, m := range list {
		if _, busy := s.mergesInto.LoadOrStore(mergeTarget(m), true); !busy {
			defer s.mergesInto.Delete(mergeTarget(m))
			return true, 0, s.merge(ctx, m)
		}
	}
	at, err = read(ctx, s, func(rx *db.Rx) (task.Time, error) { return rx.NextMergeAt() })
	return false, at, err
}

func (s *Service) merge(ctx context.Context, m *task.MergeEntry) error {
	git := s.config().Repositories
	order, err := s.mergeOrder(ctx, m)
	if err != nil {
		return err
	}
	if m.After != "" { // it was cut off, or something was in the way
		done, err := git.Contains(ctx, m.Repository, m.Into, m.After)
		if err != nil {
			return s.mergeWaits(ctx, m, err)
		}
		if done {
			if err := git.Advance(ctx, order, m.Before, m.After); err != nil && !task.IsCode(err, task.CodeMergeMoved) {
				return s.mergeWaits(ctx, m, err) // its files may still be those of before
			}
			return s.merged(ctx, m)
		}
	}
	open := false
	err = s.changeMerge(ctx, m, func(tx *txn) (err error) {
		if open, err = tx.keepTarget(m); err != nil || !open {
			return err
		}
		return tx.StartMerge(m.ID)
	})
	if task.IsCode(err, task.CodeMergeWaits) {
		return s.mergeWaits(ctx, m, err)
	}
	if err != nil || !open {
		return err
	}
	out, err := git.Apply(ctx, order)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return s.mergeWaits(ctx, m, err)
	case out.Code != "":
		return s.mergeFailed(ctx, m, out)
	}
	err = s.changeMerge(ctx, m, func(tx *txn) (err error) {
		if err := tx.keepMergeChecks(m, out.Checks); err != nil {
			return err
		}
		if open, err = tx.keepTarget(m); err != nil || !open {
			return err
		}
		open, err = tx.SetMergeHeads(m.ID, out.Before, out.After)
		return err
	})
	if task.IsCode(err, task.CodeMergeWaits) {
		return s.mergeWaits(ctx, m, err)
	}
	if err != nil || !open { // the task was canceled meanwhile
		return err
	}
	m.Before, m.After = out.Before, out.After
	if err := git.Advance(ctx, order, m.Before, m.After); err != nil {
		return s.mergeWaits(ctx, m, err)
	}
	return s.merged(ctx, m)
}

// keepTarget reports whether a merge still goes where it was queued for. Since
// then the task above may have ended, left the project or come into it, and the
// project may merge elsewhere or nowhere: the result is issued again, for the
// branch and under the policy of now. Error: CodeMergeWaits while the result of
// the task above is decided on and merged: it would not hold the change.
func (tx *txn) keepTarget(m *task.MergeEntry) (bool, error) {
	tk, err := tx.TaskRow(m.TaskID)
	if err != nil || tk.Status.Archived() {
		return true, err
	}
	p, err := tx.Project(m.Project)
	if err != nil {
		return false, err
	}
	parent, err := parentInProject(&tx.Rx, tk)
	if err != nil {
		return false, err
	}
	tree, err := taskWorktree(&tx.Rx, tk, p)
	if err != nil {
		return false, err
	}
	why := "its task is merged into " + tree.Target + " now"
	switch {
	case parent == nil && p.Merge == nil:
		why = "project " + p.Key + " merges nowhere now"
	case tree.Target != m.Into:
	case parent != nil && parent.Awaits != "":
		return false, task.Errorf(task.Conflict, task.CodeMergeWaits, "The merge into %s waits: task %d was completed without this change. "+
			"Request changes on its result to have it taken in; otherwise it is reviewed on its own when task %d is done",
			m.Into, parent.ID, parent.ID)
	default:
		return true, nil
	}
	if err := tx.EndMerge(m.ID, task.MergeStopped, "", why); err != nil {
		return false, err
	}
	r, err := tx.ResultByID(m.ResultID)
	if err != nil {
		return false, err
	}
	return false, tx.reissue(tk, r, r.Checks)
}

// changeMerge is change for a merge, whose pages, queue and alerts hear of it.
func (s *Service) changeMerge(ctx context.Context, m *task.MergeEntry, fn func(*txn) error) error {
	return change(ctx, s, task.SystemActor, func(tx *txn) error {
		tx.signals.Topics = append(tx.signals.Topics, TopicMerges, "task:"+m.TaskID.String(), "inbox")
		return fn(tx)
	})
}

func (tx *txn) keepMergeChecks(m *task.MergeEntry, list []task.CheckRun) error {
	for _, c := range list {
		c.TaskID, c.Merge = m.TaskID, true
		if _, err := tx.InsertCheckRun(c, m.ResultID, 0); err != nil {
			return err
		}
	}
	return nil
}

// mergeOrder returns what is to be merged, by the result that was accepted.
func (s *Service) mergeOrder(ctx context.Context, m *task.MergeEntry) (o task.MergeOrder, err error) {
	return read(ctx, s, func(rx *db.Rx) (task.MergeOrder, error) {
		r, err := rx.ResultByID(m.ResultID)
		if err != nil {
			return o, err
		}
		tk, err := rx.TaskRow(m.TaskID)
		if err != nil {
			return o, err
		}
		p, err := rx.Project(m.Project)
		if err != nil {
			return o, err
		}
		o = task.MergeOrder{
			ID: m.ID, TaskID: m.TaskID, Repository: m.Repository, Into: m.Into,
			Base: r.Base, Head: r.Head, Branch: r.Branch, Patch: r.Patch,
			Method: task.MergeSquash, Author: r.Author, Message: mergeMessage(tk, r), Setup: p.Setup,
		}
		parent, err := parentInProject(rx, tk)
		switch {
		case err != nil:
			return o, err
		case parent != nil:
			o.ParentTree, err = taskWorktree(rx, parent, p)
		case p.Merge != nil:
			o.Method, o.Checks, o.Push = p.Merge.Method, p.Merge.Checks, p.Merge.Push
		}
		return o, err
	})
}

// mergeMessage is that of the commit on the target.
func mergeMessage(tk *task.Task, r *task.Result) string {
	text := commitText(tk.Title) + "\n"
	if summary := commitText(r.Summary); summary != "" {
		text += "\n" + summary + "\n"
	}
	text += fmt.Sprintf("\nTaskyard-Task: %d\nTaskyard-Result: %d %s\n", tk.ID, r.Number, r.Digest)
	for _, v := range r.Votes {
		if v.Accept {
			text += "Accepted-by: " + task.ActorLabel(v.By) + "\n"
		}
	}
	return text
}

// mergeWaits delays a merge until later, and records why. It keeps the commits of
// one whose target has moved, or may have: its task is not canceled any more.
func (s *Service) mergeWaits(ctx context.Context, m *task.MergeEntry, why error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	state, at := task.MergeWaiting, s.Now().Add(mergeRetry)
	if task.IsCode(why, task.CodeMergeMoved) {
		state, at = task.MergeQueued, s.Now()
	}
	keep := true
	if m.After != "" {
		moved, err := s.config().Repositories.Contains(ctx, m.Repository, m.Into, m.After)
		keep = moved || err != nil
	}
	text := oneLine(why.Error())
	s.log.InfoContext(ctx, "merge waits", "merge_id", m.ID, "task_id", m.TaskID, "error", text)
	return s.changeMerge(ctx, m, func(tx *txn) error {
		if !keep {
			if _, err := tx.SetMergeHeads(m.ID, "", ""); err != nil {
				return err
			}
		}
		return tx.RequeueMerge(m.ID, state, text, at)
	})
}

// mergeFailed gives a task back to its owner. The target has not moved.
func (s *Service) mergeFailed(ctx context.Context, m *task.MergeEntry, out *task.Merged) error {
	return s.changeMerge(ctx, m, func(tx *txn) error {
		if err := tx.keepMergeChecks(m, out.Checks); err != nil {
			return err
		}
		tk, err := tx.TaskRow(m.TaskID)
		if err != nil {
			return err
		}
		if err := tx.EndMerge(m.ID, task.MergeFailed, out.Code, task.ClipText(out.Reason, task.MaxText)); err != nil || tk.Status.Archived() {
			return err
		}
		if _, err := tx.MoveResult(m.ResultID, task.ResultAccepted, task.ResultChanges); err != nil {
			return err
		}
		if err := tx.taskEvent(task.EvMergeFailed, tk, changes{"into": m.Into, "code": out.Code, "reason": oneLine(out.Reason)}); err != nil {
			return err
		}
		return tx.sendBack(tk, "The merge of result "+task.ID(m.Number).String()+" into "+m.Into+" failed ("+out.Code+"): "+out.Reason,
			"the merge into "+m.Into+" failed: "+out.Code)
	})
}

// merged makes a task history whose change is on its target.
func (s *Service) merged(ctx context.Context, m *task.MergeEntry) error {
	err := s.changeMerge(ctx, m, func(tx *txn) error {
		tk, err := tx.TaskRow(m.TaskID)
		if err != nil {
			return err
		}
		r, err := tx.ResultByID(m.ResultID)
		if err != nil {
			return err
		}
		if err := tx.EndMerge(m.ID, task.MergeDone, "", ""); err != nil {
			return err
		}
		if tk.Status.Archived() {
			return nil // it was canceled while its merge was made
		}
		if _, err := tx.MoveResult(m.ResultID, task.ResultAccepted, task.ResultMerged); err != nil {
			return err
		}
		if err := tx.taskEvent(task.EvMergeDone, tk, changes{"into": m.Into, "commit": m.After, "result": r.Number}); err != nil {
			return err
		}
		return tx.archiveDone(tk, r.Summary)
	})
	if err == nil {
		s.retireTree(ctx, m, false)
	}
	return err
}

// retireTree removes the worktree of a merged task and, if asked to, its branch,
// unless that has more than was merged. What cannot be removed stays: it is in
// nobody's way.
func (s *Service) retireTree(ctx context.Context, m *task.MergeEntry, branch bool) {
	head := ""
	tree, err := read(ctx, s, func(rx *db.Rx) (task.Worktree, error) {
		tk, err := rx.TaskRow(m.TaskID)
		if err != nil {
			return task.Worktree{}, err
		}
		if branch {
			r, err := rx.ResultByID(m.ResultID)
			if err != nil {
				return task.Worktree{}, err
			}
			head = r.Head
		}
		p, err := rx.Project(m.Project)
		if err != nil {
			return task.Worktree{}, err
		}
		return taskWorktree(rx, tk, p)
	})
	if err == nil {
		err = s.config().Repositories.Retire(ctx, tree, head)
	}
	if err != nil {
		s.log.WarnContext(ctx, "failed to remove the worktree of a merged task", "task_id", m.TaskID, "error", err)
	}
}

// RetireBranches deletes the branches of merged tasks after the time that their
// project keeps them, and returns how many.
func (s *Service) RetireBranches(ctx context.Context) (int, error) {
	if s.config().Repositories == nil {
		return 0, nil
	}
	list, err := read(ctx, s, func(rx *db.Rx) (list []*task.MergeEntry, err error) {
		projects, err := rx.Projects()
		if err != nil {
			return nil, err
		}
		for _, p := range projects {
			keep := 7 * 24 * time.Hour
			if p.Merge != nil {
				keep = time.Duration(p.Merge.KeepBranchHours) * time.Hour
			}
			due, err := rx.MergedBranches(p.Key, s.Now().Add(-keep), 100)
			if err != nil {
				return nil, err
			}
			list = append(list, due...)
		}
		return list, nil
	})
	if err != nil {
		return 0, err
	}
	for i, m := range list {
		s.retireTree(ctx, m, true)
		if err := change(ctx, s, task.SystemActor, func(tx *txn) error { return tx.SetBranchDeleted(m.ID) }); err != nil {
			return i, err
		}
	}
	return len(list), nil
}

// ownTrailer matches a line that a reader would take for a trailer of Taskyard, or
// Git for the end of the message.
var ownTrailer = lazyregexp.New(`(?im)^(---|[ \t]*(?:accepted-by|taskyard-[a-z]+)[ \t]*:)`)

// commitText returns a text by an agent as part of a commit message: without
// control characters, and with lines quoted that only Taskyard may write.
func commitText(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
	return ownTrailer().ReplaceAllString(strings.TrimSpace(s), "> $1")
}
