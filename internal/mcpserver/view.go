package mcpserver

import (
	"slices"

	"taskyard/task"
)

const (
	lastComments = 10      // included in a task
	commentBytes = 8 << 10 // of all comments together
	pageComments = 50      // in a page of get_task
	pageBytes    = 48 << 10

	// answerBytes bounds the JSON of an answer, which contains it twice: as
	// structured content, and as text, in which each quote is escaped again.
	// Together they stay below 256 KiB.
	answerBytes = 80 << 10
)

// taskView is a task as agents see it: with only the end of its thread.
type taskView struct {
	*task.Task
	Note string `json:"commentsNote,omitempty"`
	Next string `json:"commentsNext,omitempty"`

	Why []task.Reason `json:"why,omitzero"` // most decisive first, if requested
}

const note = "older comments are left out: get_task with comments_after 0 reads from the first"

// view leaves out what would cost tokens and is rarely needed.
func view(t *task.Task) *taskView {
	if t == nil {
		return nil
	}
	return viewWithin(t, answerBytes)
}

func viewWithin(t *task.Task, bytes int) *taskView {
	short := *t
	short.Comments, short.Steps = withoutKind(last(t.Comments)), withoutDoneDetails(t.Steps)
	short.Cut = slices.DeleteFunc(slices.Clone(t.Cut), func(what string) bool { return what == "comments" }) // v.Note says it
	v := &taskView{Task: short.Fitted(bytes)}
	if len(v.Comments) < max(len(t.Comments), t.CommentCount) {
		v.Note = note
	}
	return v
}

// withoutKind omits the kind of ordinary comments.
func withoutKind(list []task.Comment) []task.Comment {
	out := slices.Clone(list)
	for i := range out {
		if out[i].Kind == task.KindComment {
			out[i].Kind = ""
		}
	}
	return out
}

// withoutDoneDetails omits the details of completed steps: get_task with
// stepIndex returns them.
func withoutDoneDetails(list []task.Step) []task.Step {
	out := slices.Clone(list)
	for i, s := range out {
		if s.Done && len(s.Details) > minDetails {
			out[i].Details, out[i].DetailsCut = "", s.DetailsCut+len(s.Details)
		}
	}
	return out
}

const minDetails = 40 // bytes; a note about fewer would cost as much

func views(list []*task.Task) []*taskView {
	out := make([]*taskView, len(list))
	for i, t := range list {
		out[i] = viewWithin(t, max(2<<10, answerBytes/len(list)))
	}
	return out
}

// pages returns views of a list that was read within the budget of the answer.
func pages(list []*task.Task) []*taskView {
	out := make([]*taskView, len(list))
	for i, t := range list {
		out[i] = view(t)
	}
	return out
}

// oneStep returns a task with only one of its steps, which is complete.
func oneStep(v *taskView, at int, st task.Step) *taskView {
	short := *v.Task
	short.Comments = []task.Comment{}
	bytes := answerBytes - task.JSONBytes(st.Details)
	short = *short.Fitted(bytes)
	if at < len(short.Steps) {
		short.Steps = slices.Clone(short.Steps)
		short.Steps[at] = st
	}
	return &taskView{Task: &short, Note: v.Note}
}

// last returns the newest comments within the bounds, at least one, and before
// them those that are kept longer.
func last(list []task.Comment) []task.Comment {
	from, size := len(list), 0
	for from > 0 && len(list)-from < lastComments {
		size += len(list[from-1].Content)
		if size > commentBytes && from < len(list) {
			break
		}
		from--
	}
	out := slices.Clone(list[from:])
	for _, i := range task.LastingMessages(list) {
		if i < from {
			out = slices.Insert(out, 0, list[i])
		}
	}
	return out
}

// thread replaces the end of the thread with a page of it. cut means that the
// page is shorter than requested, because of the size of an answer.
func thread(t *task.Task, page []task.Message, cut bool) *taskView {
	v := &taskView{}
	size := 0
	t.Comments, t.Cut = []task.Comment{}, nil
	for _, m := range page {
		size += len(m.Content)
		if size > pageBytes && len(t.Comments) > 0 {
			break
		}
		t.Comments = append(t.Comments, task.Comment{
			ID: m.ID, Author: m.Author, Kind: m.Kind,
			Content: m.Content, CreatedAt: m.CreatedAt, Imported: m.Type == "imported",
		})
	}
	if n := len(t.Comments); n > 0 && (cut || n < len(page) || n == pageComments) {
		v.Next = t.Comments[n-1].ID.String()
	}
	comments := t.Comments
	t.Comments = []task.Comment{}
	v.Task = t.Fitted(answerBytes - pageBytes)
	v.Task.Comments = comments
	return v
}
