package client

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"taskyard/task"
)

// Reviews contains the commands for results of tasks.
type Reviews struct {
	List    ReviewList    `cmd:"" help:"List the results that are waiting for a review."`
	Show    ReviewShow    `cmd:"" help:"Show a result: summary, flags, checks, votes, files, comments."`
	Diff    ReviewDiff    `cmd:"" help:"Print a result as a unified diff."`
	Comment ReviewComment `cmd:"" help:"Draft a comment on the newest result, which nobody else sees until you decide or submit."`
	Submit  ReviewSubmit  `cmd:"" help:"Send your drafts to the owner, without a decision."`
	Accept  ReviewAccept  `cmd:"" help:"Accept a result, exactly as it was shown."`
	Request ReviewRequest `cmd:"" name:"request-changes" help:"Send a result back to its owner with your drafts and a text."`
	Reply   ReviewReply   `cmd:"" help:"Answer a comment on a result."`

	JSON JSONFlag `name:"json" help:"Print the server's JSON answer."`
}

// ReviewList lists results that wait for people.
type ReviewList struct{ Quiet }

// Run lists the results in the inbox, oldest first.
func (c ReviewList) Run(e *Env) error {
	return printCall(e, "GET", "/api/inbox", nil, func(in *task.Inbox) {
		rows := make([][]string, len(in.Reviews))
		for i, r := range in.Reviews {
			rows[i] = []string{r.TaskID.String(), strconv.Itoa(r.Number), r.Author, at(r.At), r.Title}
		}
		e.listed(c.Quiet.Quiet, []string{"TASK", "RESULT", "AUTHOR", "SINCE", "TITLE"}, rows)
		if left := in.Totals.Reviews - len(rows); left > 0 {
			fmt.Fprintf(e.Stderr, "%d more are not shown\n", left)
		}
	})
}

// OneResult is the argument for a result of a task.
type OneResult struct {
	OneTask
	Result int `help:"Number of the result (default: the newest)." placeholder:"N"`
}

// find returns the task's ID and the path of the result.
func (c *OneResult) find(e *Env) (id, path string, raw []byte, r *task.Result, err error) {
	if id, err = e.id(c.ID); err != nil {
		return "", "", nil, nil, err
	}
	number := c.Result
	if number == 0 {
		var out struct{ Results []struct{ Number int } }
		if _, err := e.call("GET", "/api/tasks/"+id+"/results", nil, &out); err != nil {
			return "", "", nil, nil, err
		}
		if len(out.Results) == 0 {
			return "", "", nil, nil, fmt.Errorf("task %s has no result yet", id)
		}
		number = out.Results[0].Number
	}
	path, r = "/api/tasks/"+id+"/results/"+strconv.Itoa(number), &task.Result{}
	raw, err = e.call("GET", path, nil, r)
	return id, path, raw, r, err
}

// ReviewShow shows a result.
type ReviewShow struct{ OneResult }

// Run shows what a reviewer needs, and how to decide.
func (c *ReviewShow) Run(e *Env) error {
	id, path, raw, r, err := c.find(e)
	if err != nil {
		return err
	}
	if e.JSON {
		return e.answer(raw, nil)
	}
	var files resultFiles
	var unread *ResponseError // the repository cannot be used now
	if r.Head != "" {
		if _, err := e.call("GET", path+"/diff", nil, &files); err != nil && !errors.As(err, &unread) {
			return err
		}
	}
	var thread struct{ Comments []task.ReviewComment }
	if _, err := e.call("GET", "/api/tasks/"+id+"/review-comments", nil, &thread); err != nil {
		return err
	}
	if err := e.answer(raw, func() { e.showResult(r, files, thread.Comments) }); err != nil || unread == nil {
		return err
	}
	return fmt.Errorf("the changed files of this result cannot be read now: %w", unread)
}

func (e *Env) showResult(r *task.Result, files resultFiles, comments []task.ReviewComment) {
	e.resultLines(r)
	e.part("Votes", len(r.Votes))
	for _, v := range r.Votes {
		did := "requests changes"
		if v.Accept {
			did = "accepts"
		}
		e.say("  %s %s, %s", printable(v.By), did, at(v.At))
		if v.Text != "" {
			indented(e.Stdout, "    ", v.Text)
		}
	}
	e.part(fmt.Sprintf("Changed files (%d)", files.Total), files.Total)
	e.fileLines(files)
	e.part("Comments", len(comments))
	for _, c := range comments {
		e.showReviewComment(c)
	}
	if r.State == task.ResultReview {
		e.say("\ntaskyard review diff %s\ntaskyard review accept %s --digest %s\ntaskyard review request-changes %s TEXT",
			r.TaskID, r.TaskID, r.Digest, r.TaskID)
	}
}

// resultLines prints what a vote is about.
func (e *Env) resultLines(r *task.Result) {
	e.say("result %d of %s: %s", r.Number, hash(r.TaskID), strings.ReplaceAll(string(r.State), "_", " "))
	change := ""
	if r.Head != "" {
		change = shortHash(r.Base) + ".." + shortHash(r.Head)
	}
	fields(e.Stdout, "author", r.Author, "run", r.RunID.String(), "created", at(r.CreatedAt), "project", r.Project,
		"branch", r.Branch, "change", change, "policy", acceptText(r.Policy), "digest", r.Digest)
	e.part("Look at first", len(r.Flags))
	for _, f := range r.Flags {
		e.say("  ⚠ %s", printable(f))
	}
	e.part("Also changed by", len(r.Overlaps))
	for _, o := range r.Overlaps {
		e.say("  %s %s (%s): %s", hash(o.TaskID), printable(o.Title), o.State, printable(o.Names()))
	}
	if r.Summary != "" {
		e.part("Summary", 1)
		indented(e.Stdout, "  ", r.Summary)
	}
	e.part("Checks", len(r.Checks))
	e.showChecks(r.Checks)
}

var verdictMarks = map[task.Verdict]string{task.CheckPassed: "✓", task.CheckFailed: "✗", task.CheckTimedOut: "✗", task.CheckNotRun: "–"}

func (e *Env) showChecks(list []task.CheckRun) {
	for _, c := range list {
		line := fmt.Sprintf("%s %s %s", verdictMarks[c.Verdict], c.Name, strings.ReplaceAll(string(c.Verdict), "_", " "))
		if c.Reason != "" { // also names the exit code
			line += ": " + c.Reason
		}
		if c.Millis > 0 {
			line += ", " + (time.Duration(c.Millis) * time.Millisecond).String()
		}
		if c.Required {
			line += ", required"
		}
		e.say("  %s", hanging("    ", line))
	}
}

func (e *Env) fileLines(files resultFiles) {
	rows := [][]string{}
	for _, f := range files.Files[:min(len(files.Files), maxShownFiles)] {
		name := f.Path
		if f.Note != "" {
			name += "  (" + f.Note + ")"
		}
		rows = append(rows, []string{string(f.Change), fmt.Sprintf("+%d -%d", f.Added, f.Removed), name})
	}
	if len(rows) > 0 {
		e.table([]string{"CHANGE", "LINES", "FILE"}, rows)
	}
	if left := files.Total - len(rows); left > 0 {
		e.say("and %s", counted(left, "more"))
	}
}

func (e *Env) showReviewComment(c task.ReviewComment) {
	place := "on the result"
	switch {
	case c.Line > 0 && c.EndLine > c.Line:
		place = fmt.Sprintf("%s:%d-%d", c.Path, c.Line, c.EndLine)
	case c.Line > 0:
		place = fmt.Sprintf("%s:%d", c.Path, c.Line)
	case c.Path != "":
		place = c.Path
	}
	if c.Side == "old" {
		place += " (old)"
	}
	state := string(c.State)
	if c.Outdated {
		state += ", outdated"
	}
	e.say("  %s %s, %s (%s)", c.ID, printable(place), printable(c.Author), state)
	if c.Excerpt != "" {
		indented(e.Stdout, "    > ", c.Excerpt)
	}
	indented(e.Stdout, "    ", c.Text)
	for _, r := range c.Replies {
		line := "    " + printable(r.Author)
		if r.State != "" {
			line += ": " + string(r.State)
		}
		e.say("%s", line)
		if r.Text != "" {
			indented(e.Stdout, "      ", r.Text)
		}
	}
}
