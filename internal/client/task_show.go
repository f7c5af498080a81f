package client

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"taskyard/task"
)

// TaskShow shows one task.
type TaskShow struct{ OneTask }

// Run shows a task, open or archived.
func (c *TaskShow) Run(e *Env) error {
	id, err := e.id(c.ID)
	if err != nil {
		return err
	}
	var t task.Task
	raw, err := e.call("GET", "/api/tasks/"+id, nil, &t)
	if err != nil {
		return err
	}
	var why []reason
	if !e.JSON && !t.Status.Archived() {
		var refused *ResponseError
		if _, why, err = e.reasons(id); err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	return e.answer(raw, func() { e.showTask(&t, why) })
}

func (e *Env) showTask(t *task.Task, why []reason) {
	e.say("%s %s", hash(t.ID), printable(t.Title))
	fields(e.Stdout,
		"status", statusLine(t), "owner", t.Owner, "priority", strconv.Itoa(t.Priority),
		"labels", strings.Join(t.Labels, " "), "project", t.Project, "parent", hash(t.ParentTaskID), "blocked by", hashes(t.BlockedBy),
		"review", ownReview(t.Policy), "bound by", strings.Join(t.BoundBy, ", "),
		"created", at(t.CreatedAt)+" by "+t.CreatedBy, "title by", t.TitleBy, "description by", t.TextBy,
		"changed", at(t.UpdatedAt)+", version "+strconv.FormatInt(t.Version, 10),
		"archived", at(t.ArchivedAt))
	e.part("Why", len(why))
	for _, r := range why {
		indented(e.Stdout, "  ", r.Message)
	}
	if t.Description != "" {
		e.part("Description", 1)
		indented(e.Stdout, "  ", t.Description)
	}
	e.part("Own checks", len(t.Checks))
	e.checkLines(t.Checks)
	e.showReview(t)
	e.showSteps(t)
	e.showResources(t)
	e.showPast(t)
	e.showThread(t)
	if t.Summary != "" {
		e.part("Summary", 1)
		indented(e.Stdout, "  ", t.Summary)
	}
}

// ownReview describes the task's own policy.
func ownReview(r *task.Review) string {
	if r == nil {
		return ""
	}
	return reviewText(*r)
}

func statusLine(t *task.Task) string {
	s := string(t.Status)
	if t.Status == task.Active {
		s += ", " + string(t.WorkStatus)
	}
	if t.Claim != nil {
		s += fmt.Sprintf(" (claim %d of %s until %s)", t.Claim.ID, t.Claim.Holder, at(t.Claim.ExpiresAt))
	}
	if t.WaitingFor != "" {
		s += ", waits for " + string(t.WaitingFor)
	}
	return s
}

// showReview prints what someone who works on a task must know about its last
// result.
func (e *Env) showReview(t *task.Task) {
	r := t.Review
	if r == nil {
		return
	}
	if r.Result != 0 {
		e.part(fmt.Sprintf("Result %d: %s", r.Result, strings.ReplaceAll(string(r.State), "_", " ")), 1)
	}
	for _, f := range r.Flags {
		e.say("  ⚠ %s", printable(f))
	}
	fields(e.Stdout, "merge", r.Merge)
	e.part("Failed checks", len(r.FailedChecks))
	e.showChecks(r.FailedChecks)
	for _, c := range r.FailedChecks {
		if c.Log != "" {
			indented(e.Stdout, "    ", c.Log)
		}
	}
	title := "Open comments: taskyard review reply ID N --state fixed"
	if t.Status.Archived() {
		title = "Open comments"
	}
	e.part(title, len(r.Comments))
	for _, c := range r.Comments {
		e.showReviewComment(c)
	}
}

// part prints the heading of a section if it is not empty.
func (e *Env) part(title string, n int) {
	if n > 0 {
		e.say("\n%s", title)
	}
}

// showSteps prints the plan with the indexes that commands accept.
func (e *Env) showSteps(t *task.Task) {
	done, total := t.DoneSteps()
	e.part(fmt.Sprintf("Steps (%d of %d done)", done, total), total)
	e.stepLines(t)
}

func (e *Env) stepLines(t *task.Task) {
	for i, s := range t.Steps {
		mark := " "
		if s.Done {
			mark = "x"
		}
		line := fmt.Sprintf("  %2d [%s] %s", i, mark, printable(s.Title))
		if s.TaskID != 0 {
			line += "  -> " + hash(s.TaskID)
		}
		e.say("%s", line)
		if s.Details != "" {
			indented(e.Stdout, "         ", s.Details)
		}
	}
}

// showPast prints how the last subtasks and runs ended.
func (e *Env) showPast(t *task.Task) {
	e.part("Subtasks", len(t.Subtasks))
	for _, s := range t.Subtasks {
		e.say("  %s %s, %s: %s", hash(s.ID), printable(s.Owner), s.Status, printable(s.Title))
		if s.Summary != "" {
			indented(e.Stdout, "         ", s.Summary)
		}
		if s.LastRun != nil {
			e.showPastRun(*s.LastRun, "    ")
		}
	}
	e.part("Last runs", len(t.Runs))
	for _, r := range t.Runs {
		e.showPastRun(r, "  ")
	}
}

func (e *Env) showPastRun(r task.PastRun, indent string) {
	e.say("%srun %s of %s: %s at %s", indent, r.ID, printable(r.Agent), task.State{Status: r.Status, Phase: r.Phase}, at(r.EndedAt))
	if text := r.Summary + r.Reason; text != "" {
		indented(e.Stdout, indent+"       ", text)
	}
}

func (e *Env) showResources(t *task.Task) {
	e.part("Resources", len(t.Resources))
	e.resourceLines(t)
}

func (e *Env) resourceLines(t *task.Task) {
	for i, r := range t.Resources {
		line := fmt.Sprintf("  %2d %s", i, printable(r.Value))
		if r.Label != "" {
			line += "  " + printable(r.Label)
		}
		e.say("%s", line)
	}
}

func (e *Env) showThread(t *task.Task) {
	e.part("Comments", len(t.Comments))
	for i, c := range t.Comments {
		if i > 0 {
			e.say("")
		}
		line := fmt.Sprintf("  %s, %s", printable(c.Author), at(c.CreatedAt))
		if c.Kind != "" && c.Kind != task.KindComment {
			line += " (" + printable(string(c.Kind)) + ")"
		}
		e.say("%s", line)
		indented(e.Stdout, "    ", c.Content)
	}
}
