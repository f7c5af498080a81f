package views

import (
	"net/url"
	"strconv"

	"taskyard/task"
)

// ReviewQuery says which result of a task is looked at, and how.
type ReviewQuery struct {
	Result int    // its number; 0: the newest
	Since  int    // number of an earlier result that it is compared with; 0: where its branch began
	View   string // "split" or "unified"; "": as the person likes it
	Path   string // of the file whose changes are shown
	Side   string // "old" or "new": of the line that a comment is written on
	Line   int    // that line; 0: none, or the whole file
	Form   bool   // a comment is written on the whole file
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

// ReviewAct is where forms of a review post: accept, request-changes,
// comments, submit, viewed, view.
func (u urls) ReviewAct(id task.ID, act string) string { return u.Task(id) + "/review/" + act }

// ReviewComment is where a form posts a draft that was edited.
func (u urls) ReviewComment(id, comment task.ID) string {
	return u.ReviewAct(id, "comments") + "/" + comment.String()
}

// ReviewReply is where a form posts an answer to a comment.
func (u urls) ReviewReply(id, comment task.ID) string { return u.ReviewComment(id, comment) + "/reply" }

// Checks is the page of the checks of a task and of who must accept its result.
func (u urls) Checks(id task.ID) string { return u.Task(id) + "/checks" }

// CheckAct is where a form posts that a check is to be run again.
func (u urls) CheckAct(id task.ID, name string) string {
	return u.Checks(id) + "/" + url.PathEscape(name) + "/run"
}

// CheckLog is the page of one execution of a check.
func (u urls) CheckLog(id, check task.ID) string { return u.Task(id) + "/checks/" + check.String() }

// Merges is the merge queue of a project, "" for all; before is where a later
// page of the ended merges begins, 0 for the first.
func (urls) Merges(project string, before task.ID) string {
	return query("/merges", "project", project, "before", idOrNone(before))
}

// Projects is the list of projects.
func (u urls) Projects() string { return u.Settings("projects") }

// NewProject is the form for a new project.
func (u urls) NewProject() string { return u.Projects() + "/new" }

// Project is the page of one project.
func (u urls) Project(key string) string { return u.Projects() + "/" + url.PathEscape(key) }

// ProjectAct is where a form posts an act on a project: archive, restore.
func (u urls) ProjectAct(key, act string) string { return u.Project(key) + "/" + act }
