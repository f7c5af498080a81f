package db

import "taskyard/task"

const reviewCommentCols = `c.id, c.task_id, c.result_id, c.author, c.path, c.side, c.line, c.end_line, c.excerpt, c.text, c.state,
 c.created_at, coalesce(c.submitted_at, 0)`

func scanReviewComment(r rowScanner) (c task.ReviewComment, err error) {
	return c, r.Scan(&c.ID, &c.TaskID, &c.ResultID, &c.Author, &c.Path, &c.Side, &c.Line, &c.EndLine, &c.Excerpt, &c.Text, &c.State,
		&c.CreatedAt, &c.SubmittedAt)
}

// ReviewComments returns the comments on the results of a task, the oldest
// first, with their replies: those that were submitted, and the drafts of one
// person, "" for none.
func (rx *Rx) ReviewComments(id task.ID, drafts string) ([]task.ReviewComment, error) {
	rows := rx.query("SELECT "+reviewCommentCols+` FROM review_comments c WHERE c.task_id = ?
 AND (c.state <> 'draft' OR c.author = ?) ORDER BY c.id`, id, drafts)
	list, err := collect(rows, scanReviewComment)
	if err != nil || len(list) == 0 {
		return list, err
	}
	place := map[task.ID]int{}
	for i, c := range list {
		place[c.ID] = i
	}
	rows = rx.query(`SELECT r.comment_id, r.author, r.state, r.text, r.created_at FROM review_comments c
 CROSS JOIN review_replies r ON r.comment_id = c.id WHERE c.task_id = ? ORDER BY r.id`, id)
	err = each(rows, func(r rowScanner) error {
		var of task.ID
		var reply task.ReviewReply
		err := r.Scan(&of, &reply.Author, &reply.State, &reply.Text, &reply.At)
		if i, ok := place[of]; ok {
			list[i].Replies = append(list[i].Replies, reply)
		}
		return err
	})
	return list, err
}

// ReviewComment returns one comment of a task without its replies. Error: unknown.
func (rx *Rx) ReviewComment(id, comment task.ID) (task.ReviewComment, error) {
	c, err := scanReviewComment(rx.row("SELECT "+reviewCommentCols+" FROM review_comments c WHERE c.id = ? AND c.task_id = ?", comment, id))
	if ok, err := optional(err); err == nil && !ok {
		return c, task.Errorf(task.NotFound, task.CodeNotFound, "Task %d has no review comment %d", id, comment)
	}
	return c, err
}

// ReviewBytes returns about how much memory the comments on the results of a task
// take with their replies.
func (rx *Rx) ReviewBytes(id task.ID) (int, error) {
	return rx.count(`SELECT coalesce((SELECT sum(octet_length(c.path) + octet_length(c.excerpt) + octet_length(c.text) + 500)
 FROM review_comments c WHERE c.task_id = ?1), 0)
 + coalesce((SELECT sum(octet_length(r.text) + 200) FROM review_comments c
 CROSS JOIN review_replies r ON r.comment_id = c.id WHERE c.task_id = ?1), 0)`, id)
}

// InsertReviewComment writes a new comment and returns its id.
func (tx *Tx) InsertReviewComment(c *task.ReviewComment) (task.ID, error) {
	return tx.insert(`INSERT INTO review_comments (task_id, result_id, author, path, side, line, end_line, excerpt, text, state, created_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.TaskID, c.ResultID, c.Author, c.Path, c.Side, c.Line, c.EndLine, c.Excerpt, c.Text, c.State, tx.Now)
}

// SetReviewCommentText rewrites a draft.
func (tx *Tx) SetReviewCommentText(id task.ID, text string) error {
	return tx.do("UPDATE review_comments SET text = ? WHERE id = ? AND state = 'draft'", text, id)
}

// DeleteReviewComment removes a draft.
func (tx *Tx) DeleteReviewComment(id task.ID) error {
	return tx.do("DELETE FROM review_comments WHERE id = ? AND state = 'draft'", id)
}

// SubmitReviewComments opens the drafts of a person, and returns how many.
func (tx *Tx) SubmitReviewComments(id task.ID, author string) (int64, error) {
	return tx.changed("UPDATE review_comments SET state = 'open', submitted_at = ? WHERE task_id = ? AND author = ? AND state = 'draft'",
		tx.Now, id, author)
}

// MoveReviewComment changes the state of a submitted comment.
func (tx *Tx) MoveReviewComment(id task.ID, to task.CommentState) error {
	return tx.do("UPDATE review_comments SET state = ? WHERE id = ? AND state <> 'draft'", to, id)
}

// InsertReviewReply answers a comment.
func (tx *Tx) InsertReviewReply(comment task.ID, r task.ReviewReply) error {
	return tx.do("INSERT INTO review_replies (comment_id, author, state, text, created_at) VALUES (?, ?, ?, ?, ?)",
		comment, r.Author, r.State, r.Text, tx.Now)
}

// ViewedFiles returns the files of a task that a person has viewed: path and
// mark of each.
func (rx *Rx) ViewedFiles(id task.ID, person string) (map[string]string, error) {
	rows := rx.query("SELECT path, mark FROM viewed_files WHERE task_id = ? AND person = ?", id, person)
	return collectMap(rows, func(r rowScanner) (path, mark string, err error) { return path, mark, r.Scan(&path, &mark) })
}

// SetViewed records that a person has viewed a file as it is; with the mark "",
// that they have not.
func (tx *Tx) SetViewed(id task.ID, person, path, mark string) error {
	if mark == "" {
		return tx.do("DELETE FROM viewed_files WHERE task_id = ? AND person = ? AND path = ?", id, person, path)
	}
	return tx.do("INSERT INTO viewed_files (task_id, person, path, mark, at) VALUES (?, ?, ?, ?, ?) "+
		"ON CONFLICT (task_id, person, path) DO UPDATE SET mark = excluded.mark, at = excluded.at",
		id, person, path, mark, tx.Now)
}
