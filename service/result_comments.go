package service

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// Bounds of the comments on the results of a task: whoever reads them gets all.
const (
	maxReviewComments = 1000
	maxReviewBytes    = 4 << 20 // with their replies; agents may fill half of it
)

// checkReviewRoom refuses texts for which the review of a task has no room.
func (tx *txn) checkReviewRoom(id task.ID, texts ...string) error {
	n, err := tx.ReviewBytes(id)
	if err != nil {
		return err
	}
	limit := maxReviewBytes
	if tx.actor.IsAgent() {
		limit /= 2
	}
	if n+len(strings.Join(texts, "")) > limit {
		return task.FieldErrorf("text", "does not fit: the comments on the results of task %d and the replies to them have %d KiB "+
			"of at most %d KiB; write a comment on the task instead", id, n>>10, limit>>10)
	}
	return nil
}

// ReviewComments returns the comments on the results of a task, the oldest
// first: those that were submitted, and the caller's own drafts. Their lines
// are those in the newest result; what is not there any more is outdated.
// Errors: may not read, unknown task.
func (s *Service) ReviewComments(ctx context.Context, a task.Actor, id task.ID) ([]task.ReviewComment, error) {
	var last *task.Result
	heads := map[task.ID]string{}
	repo := ""
	list, err := readTask(ctx, s, a, id, func(rx *db.Rx) ([]task.ReviewComment, error) {
		drafts := a.Name
		if a.IsAgent() {
			drafts = ""
		}
		list, err := rx.ReviewComments(id, drafts)
		if err != nil || len(list) == 0 {
			return list, err
		}
		results, err := rx.Results(id, maxResults)
		if err != nil || len(results) == 0 || results[0].Head == "" {
			return list, err
		}
		last = results[0]
		for _, r := range results {
			heads[r.ID] = r.Head
		}
		p, err := projectOrNone(rx, last.Project)
		if err == nil {
			repo = p.Repository
		}
		return list, err
	})
	if err == nil && last != nil && s.config().Repositories != nil {
		s.relocate(ctx, list, repo, heads, last)
	}
	return list, err
}

// relocate moves comments on earlier results to where their lines are now.
func (s *Service) relocate(ctx context.Context, list []task.ReviewComment, repo string, heads map[task.ID]string, last *task.Result) {
	type file struct{ head, path string }
	diffs := map[file]string{}
	for i := range list {
		c := &list[i]
		from := heads[c.ResultID]
		if c.Path == "" || c.Line == 0 || from == "" || from == last.Head {
			continue
		}
		if c.Side == "old" {
			c.Outdated = true // the base may be another one; its excerpt says what was meant
			continue
		}
		key := file{from, c.Path}
		diff, ok := diffs[key]
		if !ok {
			change, err := s.config().Repositories.FileDiff(ctx, repo, from, last.Head, c.Path, 0)
			switch {
			case task.IsCode(err, task.CodeNotFound): // as it was
			case err != nil || change.Note != "" && change.Diff == "":
				diff = "?"
			default:
				diff = change.Diff
			}
			diffs[key] = diff
		}
		if moved, ok := movedLine(diff, c.Line, c.EndLine); ok {
			c.Line, c.EndLine = c.Line+moved, c.EndLine+moved
		} else {
			c.Outdated = true
		}
	}
}

// movedLine returns by how many lines hunks without context move the lines from
// first to last; ok is false where they change one of them.
func movedLine(hunks string, first, last int) (by int, ok bool) {
	if hunks == "?" {
		return 0, false
	}
	for line := range strings.Lines(hunks) {
		if !strings.HasPrefix(line, "@@ -") {
			continue
		}
		old, now := task.HunkHead(line)
		switch {
		case old.N == 0 && old.Start < first: // lines were added after Start
			by += now.N
		case old.N == 0 && old.Start < last:
			return 0, false
		case old.N == 0 || old.Start > last: // behind them
		case old.Start+old.N-1 >= first:
			return 0, false
		default:
			by += now.N - old.N
		}
	}
	return by, true
}

// DraftComment keeps a comment on the result of a number, 0 for the newest, that
// nobody else sees until the caller decides on the result or sends it. Errors: not
// a person who may write, no result, archived, unknown place, blank or overlong text, too many.
func (s *Service) DraftComment(
	ctx context.Context, a task.Actor, id task.ID, number int, c task.ReviewComment,
) (task.ReviewComment, error) {
	if err := s.mayReview(a); err != nil {
		return c, err
	}
	var p task.Problems
	p.CheckComment("text", c.Text)
	p.CheckText("excerpt", c.Excerpt, task.MaxText)
	if c.Path != "" && (!p.CheckText("path", c.Path, task.MaxFilePath) || !filepath.IsLocal(c.Path)) {
		p.Add("path", "must be the path of a file in the result")
	}
	if c.EndLine == 0 {
		c.EndLine = c.Line
	}
	if c.Line < 0 || c.EndLine < c.Line || c.Path == "" && c.Line > 0 {
		p.Add("line", "must be 0 for the whole file, or the first line, and at most endLine; lines require a path")
	}
	if c.Line > 0 && c.Side == "" {
		c.Side = "new"
	}
	if c.Side != "" && c.Side != "old" && c.Side != "new" {
		p.Add("side", "must be old or new")
	}
	if err := p.Err(); err != nil {
		return c, err
	}
	return mutate(ctx, s, a, func(tx *txn) (task.ReviewComment, error) {
		r, err := oneResult(&tx.Rx, id, number)
		if err != nil {
			return c, err
		}
		tk, err := tx.TaskRow(id)
		if err != nil {
			return c, err
		}
		if tk.Status.Archived() {
			return c, archivedError(tk)
		}
		list, err := tx.Rx.ReviewComments(id, a.Name)
		switch {
		case err != nil:
			return c, err
		case len(list) >= maxReviewComments:
			return c, task.FieldErrorf("text", "task %d has %d review comments, which is the limit", id, len(list))
		}
		if err := tx.checkReviewRoom(id, c.Path, c.Excerpt, c.Text); err != nil {
			return c, err
		}
		c.TaskID, c.ResultID, c.Author, c.State = id, r.ID, a.Name, task.CommentDraft
		if c.ID, err = tx.InsertReviewComment(&c); err != nil {
			return c, err
		}
		return tx.ReviewComment(id, c.ID)
	})
}

func (s *Service) mayReview(a task.Actor) error {
	if err := s.allowed(a, task.Person); err != nil {
		return err
	}
	if a.UserID == 0 || a.IsAgent() {
		return task.Errorf(task.Forbidden, task.CodeForbidden,
			"%s may not do this: comments on results belong to people, who sign in or use their own token", a.Name)
	}
	return nil
}

// EditDraft rewrites a draft of the caller; with a blank text it is deleted.
// Errors: not a person, no such draft of theirs, overlong text.
func (s *Service) EditDraft(ctx context.Context, a task.Actor, id, comment task.ID, text string) error {
	if err := s.mayReview(a); err != nil {
		return err
	}
	if err := checkText("text", text); err != nil {
		return err
	}
	return change(ctx, s, a, func(tx *txn) error {
		c, err := tx.ReviewComment(id, comment)
		if err != nil {
			return err
		}
		if c.State != task.CommentDraft || c.Author != a.Name {
			return task.Errorf(task.Conflict, task.CodeForbidden,
				"Review comment %d is not one of your drafts, and sent comments cannot be deleted: reply to it", comment)
		}
		if strings.TrimSpace(text) == "" {
			return tx.DeleteReviewComment(comment)
		}
		if err := tx.checkReviewRoom(id, text); err != nil {
			return err
		}
		return tx.SetReviewCommentText(comment, text)
	})
}

// SubmitComments sends the drafts of the caller without a decision: they are
// seen by all, and the owner answers them. Errors: not a person, archived, no drafts.
func (s *Service) SubmitComments(ctx context.Context, a task.Actor, id task.ID) (int, error) {
	if err := s.mayReview(a); err != nil {
		return 0, err
	}
	return mutate(ctx, s, a, func(tx *txn) (int, error) {
		tk, err := tx.TaskRow(id)
		if err != nil {
			return 0, err
		}
		if tk.Status.Archived() {
			return 0, archivedError(tk)
		}
		n, err := tx.SubmitReviewComments(id, a.Name)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			return 0, task.Errorf(task.Conflict, task.CodeNotFound, "You have no drafts on task %d", id)
		}
		return int(n), tx.taskEvent(task.EvCommented, tk, changes{"reviewComments": n})
	})
}

// ReplyReview answers a comment: the owner of the task with fixed or declined,
// and a reason, people also with resolved or open. state may be "" for a mere
// reply. Errors: no such comment, a draft, a state that the caller may not
// give, declined without a reason, not related, archived.
func (s *Service) ReplyReview(ctx context.Context, a task.Actor, id, comment task.ID,
	state task.CommentState, text string,
) (task.ReviewComment, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return task.ReviewComment{}, err
	}
	if err := checkReply(a, state, text); err != nil {
		return task.ReviewComment{}, err
	}
	if _, err := s.quotas.take(a, quotaComments, 1, s.Now()); err != nil {
		return task.ReviewComment{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (c task.ReviewComment, err error) {
		tk, err := tx.find(id, false)
		if err != nil {
			return c, err
		}
		if err := checkRelated(&tx.Rx, a, tk); err != nil {
			return c, err
		}
		if tk.Status.Archived() {
			return c, archivedError(tk)
		}
		if c, err = tx.ReviewComment(id, comment); err != nil {
			return c, err
		}
		if c.State == task.CommentDraft {
			return c, task.Errorf(task.NotFound, task.CodeNotFound, "Task %d has no review comment %d", id, comment)
		}
		if err := tx.checkReviewRoom(id, text); err != nil {
			return c, err
		}
		if err := tx.InsertReviewReply(comment, task.ReviewReply{Author: a.Name, State: state, Text: text}); err != nil {
			return c, err
		}
		if err := tx.recordComment(tk); err != nil {
			return c, err
		}
		if state != "" {
			if err := tx.MoveReviewComment(comment, state); err != nil {
				return c, err
			}
		}
		if err := tx.event(task.EvReviewReplied, task.Event{TaskID: id, Agent: tk.Owner, RunID: a.RunID},
			changes{"comment": comment, "state": state}); err != nil {
			return c, err
		}
		list, err := tx.Rx.ReviewComments(id, "")
		for _, one := range list {
			if one.ID == comment {
				return one, err
			}
		}
		return c, err
	})
}

func checkReply(a task.Actor, state task.CommentState, text string) error {
	var p task.Problems
	p.CheckText("text", text, task.MaxText)
	switch state {
	case task.CommentFixed, task.CommentDeclined:
	case "":
		p.CheckComment("text", text)
	case task.CommentResolved, task.CommentOpen:
		if a.IsAgent() {
			p.Add("state", "must be fixed or declined: only people resolve or reopen comments")
		}
	default:
		p.Add("state", "must be fixed, declined, resolved or open")
	}
	if state == task.CommentDeclined && strings.TrimSpace(text) == "" {
		p.Add("text", "is required with declined: say why")
	}
	return p.Err()
}

// ViewedFiles returns the files that the caller has viewed: path → mark.
func (s *Service) ViewedFiles(ctx context.Context, a task.Actor, id task.ID) (map[string]string, error) {
	return readTask(ctx, s, a, id, func(rx *db.Rx) (map[string]string, error) { return rx.ViewedFiles(id, a.Name) })
}

// SetViewed records that the caller has viewed a file as it is, by the mark that
// the page shows; with the mark "" that they have not. Errors: not a person,
// overlong path or mark.
func (s *Service) SetViewed(ctx context.Context, a task.Actor, id task.ID, file, mark string) error {
	if err := s.mayReview(a); err != nil {
		return err
	}
	var p task.Problems
	if p.CheckText("path", file, task.MaxFilePath) && file == "" {
		p.Add("path", "is required")
	}
	p.CheckText("mark", mark, 100)
	if err := p.Err(); err != nil {
		return err
	}
	return change(ctx, s, a, func(tx *txn) error {
		if _, err := tx.TaskRow(id); err != nil {
			return err
		}
		return tx.Tx.SetViewed(id, a.Name, file, mark)
	})
}

// commentPlace returns where a comment is, for agents: "main.go:12-14".
func commentPlace(c task.ReviewComment) string {
	switch {
	case c.Path == "":
		return "the whole result"
	case c.Line == 0:
		return c.Path
	case c.EndLine > c.Line:
		return fmt.Sprintf("%s:%d-%d", c.Path, c.Line, c.EndLine)
	}
	return fmt.Sprintf("%s:%d", c.Path, c.Line)
}
