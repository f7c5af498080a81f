package views

import (
	"net/url"
	"strconv"

	"taskyard/task"
)

// ReviewQuery selects a result of a task, and how it is shown.
type ReviewQuery struct {
	Result int    // its number; 0: the newest
	Since  int    // number of an earlier result to compare with; 0: the start of its branch
	View   string // "split" or "unified"; "": the person's preference
	Path   string // the file whose changes are shown
	Side   string // "old" or "new": side of the line for a new comment
	Line   int    // that line; 0: none, or the whole file
	Form   bool   // for a new comment on the whole file
}

func numberOrNone(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func (q ReviewQuery) at(path string) string {
	form := ""
	if q.Form {
		form = "1"
	}
	return query(path, "result", numberOrNone(q.Result), "since", numberOrNone(q.Since), "view", q.View, "path", q.Path,
		"side", q.Side, "line", numberOrNone(q.Line), "form", form)
}

// Review is the page on which people decide on a result.
func (u urls) Review(id task.ID, q ReviewQuery) string {
	q.Path, q.Side, q.Line, q.Form = "", "", 0, false
	return q.at(u.Task(id) + "/review")
}

// ReviewFile is the page of the changes of one file.
func (u urls) ReviewFile(id task.ID, q ReviewQuery) string { return q.at(u.Task(id) + "/review/file") }

// ReviewAct is the target of the forms of a review: accept, request-changes,
// comments, submit, viewed, view.
func (u urls) ReviewAct(id task.ID, act string) string { return u.Task(id) + "/review/" + act }

// ReviewComment is the target of forms that edit a draft.
func (u urls) ReviewComment(id, comment task.ID) string {
	return u.ReviewAct(id, "comments") + "/" + comment.String()
}

// ReviewReply is the target of forms that answer a comment.
func (u urls) ReviewReply(id, comment task.ID) string { return u.ReviewComment(id, comment) + "/reply" }

// Checks is the page of a task's checks and of who must accept its result.
func (u urls) Checks(id task.ID) string { return u.Task(id) + "/checks" }

// CheckAct is the target of the form that runs a check again.
func (u urls) CheckAct(id task.ID, name string) string {
	return u.Checks(id) + "/" + url.PathEscape(name) + "/run"
}

// CheckLog is the page of one execution of a check.
func (u urls) CheckLog(id, check task.ID) string { return u.Task(id) + "/checks/" + check.String() }

// Merges is the merge queue of a project, "": all; before is the start of a
// later page of finished merges, 0 for the first.
func (urls) Merges(project string, before task.ID) string {
	return query("/merges", "project", project, "before", idText(before))
}

// Projects is the list of projects.
func (u urls) Projects() string { return u.Settings("projects") }

// NewProject is the form for a new project.
func (u urls) NewProject() string { return u.Projects() + "/new" }

// Project is the page of one project.
func (u urls) Project(key string) string { return u.Projects() + "/" + url.PathEscape(key) }

// ProjectAct is the target of forms for a project: archive, restore.
func (u urls) ProjectAct(key, act string) string { return u.Project(key) + "/" + act }
