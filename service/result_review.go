package service

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// maxResults is how many results of a task are listed.
const maxResults = 100

// Results returns the results of a task, the newest first, without the logs of
// their checks. Errors: may not read, unknown task.
func (s *Service) Results(ctx context.Context, a task.Actor, id task.ID) ([]*task.Result, error) {
	return readTask(ctx, s, a, id, func(rx *db.Rx) ([]*task.Result, error) {
		list, err := rx.Results(id, maxResults)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if r.Overlaps, err = s.overlaps(rx, a, r.ID, r.State); err != nil {
				return nil, err
			}
		}
		return list, nil
	})
}

// Result returns one result of a task; number 0 is the newest. Errors: may not
// read, unknown task or result.
func (s *Service) Result(ctx context.Context, a task.Actor, id task.ID, number int) (*task.Result, error) {
	return readTask(ctx, s, a, id, func(rx *db.Rx) (*task.Result, error) {
		r, err := oneResult(rx, id, number)
		if err == nil {
			r.Overlaps, err = s.overlaps(rx, a, r.ID, r.State)
		}
		return r, err
	})
}

// overlaps returns the other open results of the project that change files of
// an open one, of the tasks that the caller sees.
func (s *Service) overlaps(rx *db.Rx, a task.Actor, result task.ID, state task.ResultState) ([]task.Overlap, error) {
	if result == 0 || state.Final() {
		return nil, nil
	}
	list, err := rx.Overlaps(result, task.MaxOverlaps)
	return slices.DeleteFunc(list, func(o task.Overlap) bool { return s.checkVisible(rx, a, o.TaskID) != nil }), err
}

func oneResult(rx *db.Rx, id task.ID, number int) (*task.Result, error) {
	if number != 0 {
		return rx.Result(id, number)
	}
	r, err := rx.LastResult(id)
	if err == nil && r == nil {
		err = task.Errorf(task.NotFound, task.CodeResultNotFound, "Task %d has no result yet", id)
	}
	return r, err
}

// readTask reads something of a task that the caller may see. Errors: may not
// read, unknown task.
func readTask[T any](ctx context.Context, s *Service, a task.Actor, id task.ID, fn func(*db.Rx) (T, error)) (none T, err error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return none, err
	}
	return read(ctx, s, func(rx *db.Rx) (T, error) {
		if _, err := s.find(rx, a, id, false); err != nil {
			return none, err
		}
		return fn(rx)
	})
}

// CheckRuns returns the last executions of the checks of a task, the newest
// first, without logs. Errors: may not read, unknown task.
func (s *Service) CheckRuns(ctx context.Context, a task.Actor, id task.ID) ([]task.CheckRun, error) {
	return readTask(ctx, s, a, id, func(rx *db.Rx) ([]task.CheckRun, error) { return rx.CheckRuns(id, maxResults) })
}

// CheckRun returns one execution of a check of a task, with its log. Errors:
// may not read, unknown task or execution.
func (s *Service) CheckRun(ctx context.Context, a task.Actor, id, check task.ID) (task.CheckRun, error) {
	return readTask(ctx, s, a, id, func(rx *db.Rx) (task.CheckRun, error) { return rx.CheckRun(id, check) })
}

// ResultFiles lists the files that a result changes, by path, without lines,
// and how many there are; since, if not 0, is the number of an earlier result
// against which they are compared. Errors: as Result, no repository.
func (s *Service) ResultFiles(ctx context.Context, a task.Actor, id task.ID, number, since int) ([]task.FileChange, int, error) {
	repo, from, to, err := s.resultRange(ctx, a, id, number, since)
	if err != nil || to == "" {
		return nil, 0, err
	}
	return s.config().Repositories.Files(ctx, repo, from, to)
}

// ResultDiff compares one file of a result, with the given number of lines of
// context, 0 to 1000. Errors: those of ResultFiles, unknown file.
func (s *Service) ResultDiff(ctx context.Context, a task.Actor, id task.ID, number, since int,
	file string, lines int,
) (*task.FileChange, error) {
	if lines < 0 || lines > 1000 {
		return nil, task.FieldErrorf("lines", "must be 0 to 1000")
	}
	repo, from, to, err := s.resultRange(ctx, a, id, number, since)
	if err != nil {
		return nil, err
	}
	if to == "" {
		return nil, task.Errorf(task.NotFound, task.CodeNotFound, "The result has no files")
	}
	return s.config().Repositories.FileDiff(ctx, repo, from, to, file, lines)
}

// resultRange returns the commits between which a result is looked at.
func (s *Service) resultRange(ctx context.Context, a task.Actor, id task.ID, number, since int) (repo, from, to string, err error) {
	_, err = readTask(ctx, s, a, id, func(rx *db.Rx) (struct{}, error) {
		r, err := oneResult(rx, id, number)
		if err != nil || r.Head == "" {
			return struct{}{}, err
		}
		p, err := rx.Project(r.Project)
		if err != nil {
			return struct{}{}, err
		}
		repo, from, to = p.Repository, r.Base, r.Head
		if since != 0 {
			before, err := rx.Result(id, since)
			if err != nil {
				return struct{}{}, err
			}
			from = before.Head
		}
		return struct{}{}, nil
	})
	if err == nil && to != "" && s.config().Repositories == nil {
		err = noRepositoriesError()
	}
	return repo, from, to, err
}

// AcceptResult is the vote of a person for a result, by the digest that they
// saw; their drafts are sent with it. With the last vote that its policy asks for, the result moves on to its
// merge, or its task is done; that of a subtask which the task above does not take
// in any more asks the reviewers of its project first. Errors: not a person who may
// decide, unknown result, another digest, not under review.
func (s *Service) AcceptResult(ctx context.Context, a task.Actor, id task.ID, number int, digest, text string) (*task.Task, error) {
	return s.vote(ctx, a, id, number, task.Vote{Accept: true, Digest: digest, Text: text}, func(tx *txn, tk *task.Task, r *task.Result) error {
		n, err := tx.SubmitReviewComments(id, a.Name)
		if err != nil {
			return err
		}
		if err := tx.event(task.EvResultAccepted, task.Event{TaskID: id, Agent: tk.Owner, RunID: r.RunID},
			changes{"result": r.Number, "digest": digest, "comments": n}); err != nil {
			return err
		}
		now, err := tx.ResultByID(r.ID)
		if err != nil {
			return err
		}
		p, err := projectOrNone(&tx.Rx, r.Project)
		if err != nil {
			return err
		}
		if lacking, err := tx.lacksReview(tk, now, p); err != nil {
			return err
		} else if lacking {
			return tx.reissue(tk, now, now.Checks) // the votes on its digest count for the new one
		}
		return tx.decideResult(tk, now, p)
	})
}

// lacksReview reports whether a result was to be reviewed as a part of the task
// above, so that the review of its project was left out, and that task has ended
// or left the project since.
func (tx *txn) lacksReview(tk *task.Task, r *task.Result, p *task.Project) (bool, error) {
	if tk.ParentTaskID == 0 {
		return false, nil
	}
	parent, err := parentInProject(&tx.Rx, tk)
	return err == nil && parent == nil && !reflect.DeepEqual(r.Policy.Add(p.Review), r.Policy), err
}

// RequestChanges sends a result back to the owner of its task, with the
// caller's drafts, and wakes it. Errors: as AcceptResult, nothing said.
func (s *Service) RequestChanges(ctx context.Context, a task.Actor, id task.ID, number int, digest, text string) (*task.Task, error) {
	return s.vote(ctx, a, id, number, task.Vote{Digest: digest, Text: text}, func(tx *txn, tk *task.Task, r *task.Result) error {
		n, err := tx.SubmitReviewComments(id, a.Name)
		if err != nil {
			return err
		}
		if n == 0 && strings.TrimSpace(text) == "" {
			return task.FieldErrorf("text", "must not be blank, unless you have commented on lines: say what to change")
		}
		if err := tx.event(task.EvResultChanges, task.Event{TaskID: id, Agent: tk.Owner, RunID: r.RunID},
			changes{"result": r.Number, "comments": n}); err != nil {
			return err
		}
		if _, err := tx.MoveResult(r.ID, r.State, task.ResultChanges); err != nil {
			return err
		}
		summary := fmt.Sprintf("Changes requested on result %d", r.Number)
		if text != "" {
			summary += ": " + text
		}
		if n > 0 {
			summary += fmt.Sprintf("\n(%d %s on the change)", n, plural(int(n), "comment", "comments"))
		}
		return tx.sendBack(tk, summary, fmt.Sprintf("changes requested on result %d by %s", r.Number, task.ActorLabel(a.Name)))
	})
}

// sendBack gives a task back to its owner: it is claimable again, first in its
// queue, and its owner is woken.
func (tx *txn) sendBack(tk *task.Task, said, why string) error {
	tx.inboxIf(true)
	if err := tx.SetAwaits(tk.ID, ""); err != nil {
		return err
	}
	tk.Awaits, tk.WaitingFor = "", ""
	if err := tx.SetResumes(tk.ID); err != nil {
		return err
	}
	if said != "" {
		m := task.Message{TaskID: tk.ID, Kind: task.KindComment, Author: tx.actor.Name, Content: task.ClipText(said, task.MaxText)}
		if _, err := tx.InsertMessage(m); err != nil {
			return err
		}
		if err := tx.taskEvent(task.EvCommented, tk, nil); err != nil {
			return err
		}
	}
	tx.signals.Freed = append(tx.signals.Freed, tk.Owner)
	return tx.wakeTask(tk, why, true)
}

// vote checks and keeps the decision of a person, and does what follows.
func (s *Service) vote(ctx context.Context, a task.Actor, id task.ID, number int, v task.Vote,
	then func(*txn, *task.Task, *task.Result) error,
) (*task.Task, error) {
	if err := s.allowed(a, task.Decide); err != nil {
		return nil, err
	}
	if a.UserID == 0 || a.IsAgent() || a.RunID != 0 {
		return nil, task.Errorf(task.Forbidden, task.CodeForbidden,
			"%s may not decide on results: each vote belongs to one person, who signs in or uses their own token; "+
				"create one in Settings → Tokens, or with: taskyard token create --user NAME --scope review", a.Name)
	}
	if err := checkText("text", v.Text); err != nil {
		return nil, err
	}
	if v.Digest == "" {
		return nil, task.FieldErrorf("digest", "is required: send the digest of the result that you saw")
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Task, error) {
		tk, err := tx.TaskRow(id)
		if err != nil {
			return nil, err
		}
		r, err := oneResult(&tx.Rx, id, number)
		if err != nil {
			return nil, err
		}
		if err := checkUnderReview(tk, r, v.Digest); err != nil {
			return nil, err
		}
		if err := mayDecide(a, r, tx.Now); err != nil {
			return nil, err
		}
		v.By, v.Role = a.Name, a.Role
		if err := tx.PutVote(id, v); err != nil {
			return nil, err
		}
		if err := then(tx, tk, r); err != nil {
			return nil, err
		}
		return tx.Task(id)
	})
}

// checkUnderReview refuses a decision on what is not the present result under review.
func checkUnderReview(tk *task.Task, r *task.Result, digest string) error {
	if r.State != task.ResultReview || tk.Awaits != task.WaitsReview {
		return task.Errorf(task.Conflict, task.CodeResultClosed, "Result %d of task %d is not under review: it is %s",
			r.Number, tk.ID, strings.ReplaceAll(string(r.State), "_", " "))
	}
	if r.Digest != digest {
		return task.Errorf(task.Conflict, task.CodeStaleDigest,
			"Result %d of task %d has the digest %s, not %s: review it again and decide on the current one", r.Number, tk.ID, r.Digest, digest)
	}
	return nil
}

// mayDecide checks that the vote of a person counts by a policy of a result.
func mayDecide(a task.Actor, r *task.Result, now task.Time) error {
	if r.MayVote(task.Vote{By: a.Name, Role: a.Role, At: now}) {
		return nil
	}
	return task.Errorf(task.Forbidden, task.CodeForbidden, "%s may not decide on result %d: its policy requires %s",
		task.ActorLabel(a.Name), r.Number, r.MissingVoters())
}

// MayVote reports why the vote of the caller on a result would not count, nil
// where it would. Error: CodeForbidden.
func (s *Service) MayVote(a task.Actor, r *task.Result) error {
	if err := s.allowed(a, task.Decide); err != nil {
		return err
	}
	return mayDecide(a, r, s.Now())
}

// dropResults ends what waits of the results of a task that was canceled.
func (tx *txn) dropResults(tk *task.Task) error {
	if tk.Project == "" && tk.Demands.Empty() {
		return nil
	}
	if err := tx.CloseResults(tk.ID, task.ResultCanceled); err != nil {
		return err
	}
	m, err := tx.OpenMerge(tk.ID)
	if err != nil || m == nil {
		return err
	}
	switch {
	case m.After == "":
	case m.State == task.MergeRunning:
		return task.Errorf(task.Conflict, task.CodeTaskGated,
			"Task %d is being merged into %s right now: try again in a few seconds", tk.ID, m.Into)
	default:
		return task.Errorf(task.Conflict, task.CodeTaskGated,
			"The change of task %d is already on %s, and the task is done when its merge ends. The merge waits: %s", tk.ID, m.Into, m.Reason)
	}
	return tx.EndMerge(m.ID, task.MergeStopped, "", "the task was canceled")
}

// RemindReviewers reminds of results whose time for a review is over, and
// returns how many: the stand-in may decide from then on. Nothing is accepted.
func (s *Service) RemindReviewers(ctx context.Context) (int, error) {
	return mutate(ctx, s, task.SystemActor, func(tx *txn) (int, error) {
		list, err := tx.OverdueResults(maxDecided)
		if err != nil {
			return 0, err
		}
		for _, r := range list {
			if err := tx.SetReminded(r.ID); err != nil {
				return 0, err
			}
			tk, err := tx.TaskRow(r.TaskID)
			if err != nil {
				return 0, err
			}
			text := fmt.Sprintf("result %d still waits for review", r.Number)
			if r.Policy.StandIn != "" {
				text += "; " + r.Policy.StandIn + " may decide now too"
			}
			if err := tx.enqueueNotification(task.OutApproval, tk.ID, tk.Title, tk.Owner, 0, text); err != nil {
				return 0, err
			}
			tx.inboxIf(true)
			if err := tx.taskEvent(task.EvResultReminded, tk, changes{"result": r.Number}); err != nil {
				return 0, err
			}
		}
		return len(list), nil
	})
}
