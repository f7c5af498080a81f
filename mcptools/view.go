package mcptools

import (
	"taskyard/task"
)

const (
	lastComments = 10      // that stand in a task
	commentBytes = 8 << 10 // that they may have in all
	pageComments = 50      // of a page of get_task
	pageBytes    = 64 << 10
)

// taskView is a task as agents read it: with the end of its thread alone.
type taskView struct {
	*task.Task
	Note string `json:"commentsNote,omitempty"`
	Next string `json:"commentsNext,omitempty"`

	Why []task.Reason `json:"why,omitzero"` // most decisive first, when it was asked for
}

const note = "older comments are left out: get_task with comments_after 0 reads from the first"

// view leaves out what agents would pay for and seldom need.
func view(t *task.Task) *taskView {
	if t == nil {
		return nil
	}
	kept := last(t.Comments)
	if len(kept) == len(t.Comments) {
		return &taskView{Task: t}
	}
	short := *t
	short.Comments = kept
	return &taskView{Task: &short, Note: note}
}

func views(list []*task.Task) []*taskView {
	out := make([]*taskView, len(list))
	for i, t := range list {
		out[i] = view(t)
	}
	return out
}

// last returns the newest comments within the bounds, at least one.
func last(list []task.Comment) []task.Comment {
	from, size := len(list), 0
	for from > 0 && len(list)-from < lastComments {
		size += len(list[from-1].Content)
		if size > commentBytes && from < len(list) {
			break
		}
		from--
	}
	return list[from:]
}

// thread puts a page of the thread in the place of its end.
func thread(t *task.Task, page []task.Message) *taskView {
	v := &taskView{Task: t}
	size := 0
	t.Comments = []task.Comment{}
	for _, m := range page {
		size += len(m.Content)
		if size > pageBytes && len(t.Comments) > 0 {
			break
		}
		t.Comments = append(t.Comments, task.Comment{ID: m.ID, Author: m.Author, Kind: m.Kind, Content: m.Content, CreatedAt: m.CreatedAt, Imported: m.Type == "imported"})
	}
	if n := len(t.Comments); n > 0 && (n < len(page) || n == pageComments) {
		v.Next = t.Comments[n-1].ID.String()
	}
	return v
}
