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
func (c *TaskShow) Run(y *Yard) error {
	id, err := y.id(c.ID)
	if err != nil {
		return err
	}
	var t task.Task
	raw, err := y.call("GET", "/api/tasks/"+id, nil, &t)
	if err != nil {
		return err
	}
	var why []reason
	if !y.JSON && !t.Status.Archived() {
		var refused *Refusal
		if _, why, err = y.reasons(id); err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	return y.answer(raw, func() { y.showTask(&t, why) })
}

func (y *Yard) showTask(t *task.Task, why []reason) {
	y.say("%s %s", hash(t.ID), clean(t.Title))
	fields(y.Stdout,
		"status", statusLine(t), "owner", t.Owner, "priority", strconv.Itoa(t.Priority),
		"labels", strings.Join(t.Labels, " "), "parent", hash(t.ParentTaskID), "blocked by", hashes(t.BlockedBy),
		"created", at(t.CreatedAt)+" by "+t.CreatedBy, "title by", t.TitleBy, "description by", t.TextBy, "changed", at(t.UpdatedAt)+", version "+strconv.FormatInt(t.Version, 10),
		"archived", at(t.ArchivedAt))
	y.part("Why", len(why))
	for _, r := range why {
		indented(y.Stdout, "  ", r.Message)
	}
	if t.Description != "" {
		y.part("Description", 1)
		indented(y.Stdout, "  ", t.Description)
	}
	y.showSteps(t)
	y.showResources(t)
	y.showThread(t)
	if t.Summary != "" {
		y.part("Summary", 1)
		indented(y.Stdout, "  ", t.Summary)
	}
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

// part begins a part of the page, if there is anything in it.
func (y *Yard) part(title string, n int) {
	if n > 0 {
		y.say("\n%s", title)
	}
}

// showSteps prints the plan with the indexes that commands take.
func (y *Yard) showSteps(t *task.Task) {
	done, total := t.DoneSteps()
	y.part(fmt.Sprintf("Steps (%d of %d done)", done, total), total)
	y.stepLines(t)
}

func (y *Yard) stepLines(t *task.Task) {
	for i, s := range t.Steps {
		mark := " "
		if s.Done {
			mark = "x"
		}
		line := fmt.Sprintf("  %2d [%s] %s", i, mark, clean(s.Title))
		if s.TaskID != 0 {
			line += "  -> " + hash(s.TaskID)
		}
		y.say("%s", line)
		if s.Details != "" {
			indented(y.Stdout, "         ", s.Details)
		}
	}
}

func (y *Yard) showResources(t *task.Task) {
	y.part("Resources", len(t.Resources))
	y.resourceLines(t)
}

func (y *Yard) resourceLines(t *task.Task) {
	for i, r := range t.Resources {
		line := fmt.Sprintf("  %2d %s", i, clean(r.Value))
		if r.Label != "" {
			line += "  " + clean(r.Label)
		}
		y.say("%s", line)
	}
}

func (y *Yard) showThread(t *task.Task) {
	y.part("Comments", len(t.Comments))
	for i, c := range t.Comments {
		if i > 0 {
			y.say("")
		}
		line := fmt.Sprintf("  %s, %s", clean(c.Author), at(c.CreatedAt))
		if c.Kind != "" && c.Kind != task.KindComment {
			line += " (" + clean(string(c.Kind)) + ")"
		}
		y.say("%s", line)
		indented(y.Stdout, "    ", c.Content)
	}
}
