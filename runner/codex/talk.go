package codex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"taskyard/internal/lazyregexp"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// maxArtifacts bounds the changed files that a run reports.
const maxArtifacts = 100

// talk reads the lines of `codex exec --json`.
type talk struct {
	*supervise.Run
	completed  bool   // turn.completed was seen
	failure    string // message of turn.failed
	lastError  string // the last error that was not a notice
	last       string // the last message of the agent
	artifacts  []string
	turns      int  // turns begun so far
	answered   bool // a call ended since the last turn began
	progressed bool // the last bytes given to Output were progress
}

// remainingSpec returns the plan for another prompt, with the remaining limits; ok is
// false if a limit is used up.
func (t *talk) remainingSpec(session string) (supervise.Spec, bool) {
	spec, limits := t.Spec, t.Spec.Plan.Limits
	left := func(limit *int, used int) bool {
		if *limit == 0 {
			return true
		}
		*limit -= used
		return *limit > 0
	}
	ok := left(&limits.TimeoutSeconds, t.WorkedSeconds()) && left(&limits.MaxTokens, t.Usage.Tokens()) && left(&limits.MaxTurns, t.turns)
	spec.Plan.Limits, spec.Session, spec.Former = limits, session, spec.Dir
	return spec, ok
}

func newTalk(r *supervise.Run) *talk {
	t := &talk{Run: r}
	r.ReadLines(false, t.line)
	return t
}

// Output parses lines. Reconnecting is not progress, and neither is stderr,
// where Codex keeps complaining.
func (t *talk) Output(s supervise.Stream, b []byte) bool {
	t.progressed = false
	t.Run.Output(s, b)
	return t.progressed
}

// line is one line of JSON.
type line struct {
	Type     string `json:"type"`
	ThreadID string `json:"thread_id"`
	Message  string `json:"message"`
	Item     *item  `json:"item"`
	Error    struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage struct {
		In  float64 `json:"input_tokens"`
		Out float64 `json:"output_tokens"`
	} `json:"usage"`
}

func (t *talk) line(kind supervise.LineKind, b []byte) {
	var l line
	before := t.progressed
	t.progressed = true
	if kind != supervise.WholeLine || !supervise.IsObject(b) || json.Unmarshal(b, &l) != nil || l.Type == "" {
		t.LogLine(kind, b)
		return
	}
	if strings.HasPrefix(l.Type, "item.") || l.Type == "turn.started" {
		t.EndSoon(nil)
	}
	switch l.Type {
	case "thread.started":
		t.KeepSession(task.CleanText(l.ThreadID))
		t.Event(supervise.EventLog, "thread "+task.CleanText(l.ThreadID), map[string]any{"threadId": task.CleanText(l.ThreadID)}, b)
	case "turn.completed":
		t.completed = true
		t.Event(supervise.EventUsage, "", map[string]any{"tokensIn": l.Usage.In, "tokensOut": l.Usage.Out}, b)
		t.EndSoon(new(t.Verdict(supervise.Exit{})))
	case "turn.failed":
		t.failure = cmp.Or(l.Error.Message, "it did not say why")
		t.Event(supervise.EventError, l.Error.Message, nil, b)
		t.EndSoon(new(t.Verdict(supervise.Exit{})))
	case "error":
		if t.complaint(l.Message, b) {
			t.progressed = before
		}
	case "item.started", "item.completed":
		if l.Item != nil {
			t.countTurn(l.Item, l.Type == "item.completed")
			t.item(l.Item, l.Type == "item.completed", b)
		}
	}
}

// countTurn counts the turns of the model, which Codex does not report: a turn
// begins with the first item after a call has ended. Parallel calls, which
// Codex executes one after another, count as separate turns.
func (t *talk) countTurn(it *item, done bool) {
	if it.Type == "error" || it.Type == "todo_list" {
		return
	}
	if t.turns == 0 || t.answered && (!done || !it.hasStartEvent()) {
		t.turns++
		t.answered = false
	}
	t.answered = t.answered || done && it.isCall()
	if limit := t.Spec.Plan.Limits.MaxTurns; limit > 0 && t.turns > limit {
		t.Stop(supervise.Failed(task.PhaseTurns, fmt.Sprintf("It began turn %d of at most %d", t.turns, limit)))
	}
}

var reconnecting = lazyregexp.New(`(?i)^reconnecting\b`)

// complaint handles an error line and reports whether it only says that Codex
// reconnects. With a rejected key, that is pointless, and Codex might retry
// forever.
func (t *talk) complaint(message string, b []byte) (again bool) {
	if !reconnecting().MatchString(message) {
		t.lastError = message
		t.Event(supervise.EventError, message, nil, b)
		return false
	}
	t.Event(supervise.EventLog, message, nil, b)
	if supervise.IsCredentialError(message) {
		t.Stop(supervise.RefusedCredentials(t.Clean(message)))
	}
	return true
}

// Verdict returns completed only if the turn was seen to end successfully.
func (t *talk) Verdict(e supervise.Exit) supervise.Outcome {
	why := cmp.Or(t.failure, t.lastError)
	switch stop := t.Stopped(); {
	case stop != nil: // the last line exceeded a limit
		return *stop
	case e.Crashed():
		return *t.Abnormal(e)
	case why != "" && !t.completed && supervise.IsCredentialError(why):
		return supervise.RefusedCredentials(why)
	case t.failure != "":
		return supervise.Failed(task.PhaseError, "Its turn failed: "+t.failure)
	case e.Code != 0 && why != "":
		return supervise.Failed(task.PhaseError, fmt.Sprintf("It ended with exit code %d: %s", e.Code, why))
	case e.Code != 0 && supervise.IsCredentialError(t.Stderr()):
		return supervise.RefusedCredentials(t.Stderr())
	case e.Code != 0:
		return *t.Abnormal(e)
	case !t.completed:
		return supervise.Failed(task.PhaseProtocol, "It ended without saying that its turn is complete"+t.LastOutput())
	case strings.TrimSpace(t.last) == "":
		return supervise.Failed(task.PhaseError, supervise.NoResult)
	}
	out := supervise.Completed(strings.TrimSpace(t.last))
	out.Artifacts = t.artifacts
	return out
}

// distinct merges two lists of changed files.
func distinct(list, more []string) []string {
	for _, name := range more {
		if !slices.Contains(list, name) && len(list) < maxArtifacts {
			list = append(list, name)
		}
	}
	return list
}
