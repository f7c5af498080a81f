package views

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"taskyard/task"
	"taskyard/views/ui"
)

// resultTexts are the labels of result states, with their pill classes.
var resultTexts = map[task.ResultState][2]string{
	task.ResultReview: {"warn", "in review"}, task.ResultAccepted: {"run", "accepted"},
	task.ResultChanges: {"warn", "changes requested"}, task.ResultSuperseded: {"", "replaced by a newer one"},
	task.ResultMerged: {"ok", "merged"}, task.ResultDone: {"ok", "done"}, task.ResultCanceled: {"", "canceled"},
}

// verdictTexts are the labels of verdicts, with their symbols and classes.
var verdictTexts = map[task.Verdict][3]string{
	task.CheckPassed: {"✓", "text-ok", "passed"}, task.CheckFailed: {"✗", "text-bad", "failed"},
	task.CheckTimedOut: {"✗", "text-bad", "timed out"}, task.CheckNotRun: {"⚠", "text-warn", "was not run"},
}

// mergeStates are the labels of merge states, with their pill classes.
var mergeStates = map[task.MergeState][2]string{
	task.MergeQueued: {"", "queued"}, task.MergeRunning: {"run", "merging"}, task.MergeWaiting: {"warn", "waiting"},
	task.MergeDone: {"ok", "merged"}, task.MergeFailed: {"bad", "failed"}, task.MergeStopped: {"", "canceled"},
}

// mergeCodes explain why a merge failed.
var mergeCodes = map[string]string{
	"merge_conflict": "Conflict with the branch", "merge_checks_failed": "A merge check failed",
	"merge_changed": "The change became a different one on the branch",
}

// commentTexts are the labels of review comment states, with their pill
// classes.
var commentTexts = map[task.CommentState][2]string{
	task.CommentDraft: {"", "Draft, only visible to you"}, task.CommentOpen: {"warn", "Open"}, task.CommentFixed: {"ok", "Fixed"},
	task.CommentDeclined: {"bad", "Declined"}, task.CommentResolved: {"ok", "Resolved"},
}

// replyTexts describe a reply, after its author's name.
var replyTexts = map[task.CommentState]string{
	task.CommentFixed: "fixed it", task.CommentDeclined: "declined", task.CommentResolved: "resolved it", task.CommentOpen: "reopened it",
}

func checkTime(c *task.CheckRun) string { return ui.Dur(time.Duration(c.Millis) * time.Millisecond) }

// shortCommit returns a shortened commit.
func shortCommit(s string) string { return s[:min(len(s), 10)] }

// resultText describes what an event of a project, result or merge refers to:
// "result 2 (no changes)", "result 2 into main as 3f2a…".
func resultText(raw json.RawMessage) string {
	var c struct {
		Project  string
		Result   int
		Checks   json.RawMessage // names, or for a project their number
		Check    string
		Verdict  task.Verdict
		Attempt  int
		Flags    []string
		Comments int
		State    task.CommentState
		Into     string
		Commit   string
		Code     string
		Reason   string
		Archived bool
	}
	_ = json.Unmarshal(raw, &c) // written by us; empty at worst
	var names []string
	_ = json.Unmarshal(c.Checks, &names) // may be a number
	var b strings.Builder
	add := func(on bool, text string) {
		if on {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(text)
		}
	}
	add(c.Project != "", c.Project)
	add(c.Archived, "(archived)")
	add(c.Result != 0, "result "+strconv.Itoa(c.Result))
	add(len(names) > 0, strings.Join(names, ", "))
	add(c.Check != "", c.Check)
	add(c.Verdict != "", "("+strings.ReplaceAll(string(c.Verdict), "_", " ")+")")
	add(c.Attempt > 1, "(attempt "+strconv.Itoa(c.Attempt)+")")
	add(len(c.Flags) > 0, "("+strings.Join(c.Flags, "; ")+")")
	add(c.Comments > 0, "with "+ui.Count(c.Comments, "comment", "comments"))
	add(c.State != "", "as "+string(c.State))
	add(c.Into != "", "into "+c.Into)
	add(c.Commit != "", "as "+shortCommit(c.Commit))
	if c.Code != "" {
		add(true, "("+cmp.Or(mergeCodes[c.Code], c.Code)+": "+firstLine(c.Reason)+")")
	}
	return b.String()
}

// taskWaits describes what the result of a task waits for, "" for nothing.
func taskWaits(t *task.Task) string {
	switch t.WaitingFor {
	case task.WaitsReview:
		return "In review"
	case task.WaitsMerge:
		return "Merging"
	}
	return ""
}
