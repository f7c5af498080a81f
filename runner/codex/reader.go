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

// reader parses the lines of `codex exec --json`.
type reader struct {
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
func (r *reader) remainingSpec(session string) (supervise.Spec, bool) {
	spec, limits := r.Spec, r.Spec.Plan.Limits
	left := func(limit *int, used int) bool {
		if *limit == 0 {
			return true
		}
		*limit -= used
		return *limit > 0
	}
	ok := left(&limits.TimeoutSeconds, r.WorkedSeconds()) && left(&limits.MaxTokens, r.Usage.Tokens()) && left(&limits.MaxTurns, r.turns)
	spec.Plan.Limits, spec.Session, spec.Former = limits, session, spec.Dir
	return spec, ok
}

func newReader(run *supervise.Run) *reader {
	r := &reader{Run: run}
	run.ReadLines(false, r.line)
	return r
}

// Output parses lines. Reconnecting is not progress, and neither is stderr,
// where Codex keeps complaining.
func (r *reader) Output(s supervise.Stream, b []byte) bool {
	r.progressed = false
	r.Run.Output(s, b)
	return r.progressed
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

func (r *reader) line(kind supervise.LineKind, b []byte) {
	var l line
	before := r.progressed
	r.progressed = true
	if kind != supervise.WholeLine || !supervise.IsObject(b) || json.Unmarshal(b, &l) != nil || l.Type == "" {
		r.LogLine(kind, b)
		return
	}
	if strings.HasPrefix(l.Type, "item.") || l.Type == "turn.started" {
		r.EndSoon(nil)
	}
	switch l.Type {
	case "thread.started":
		r.KeepSession(task.CleanText(l.ThreadID))
		r.Event(supervise.EventLog, "thread "+task.CleanText(l.ThreadID), map[string]any{"threadId": task.CleanText(l.ThreadID)}, b)
	case "turn.completed":
		r.completed = true
		r.Event(supervise.EventUsage, "", map[string]any{"tokensIn": l.Usage.In, "tokensOut": l.Usage.Out}, b)
		r.EndSoon(new(r.Verdict(supervise.Exit{})))
	case "turn.failed":
		r.failure = cmp.Or(l.Error.Message, "it did not say why")
		r.Event(supervise.EventError, l.Error.Message, nil, b)
		r.EndSoon(new(r.Verdict(supervise.Exit{})))
	case "error":
		if r.complaint(l.Message, b) {
			r.progressed = before
		}
	case "item.started", "item.completed":
		if l.Item != nil {
			r.countTurn(l.Item, l.Type == "item.completed")
			r.item(l.Item, l.Type == "item.completed", b)
		}
	}
}

// countTurn counts the turns of the model, which Codex does not report: a turn
// begins with the first item after a call has ended. Parallel calls, which
// Codex executes one after another, count as separate turns.
func (r *reader) countTurn(i *item, done bool) {
	if i.Type == "error" || i.Type == "todo_list" {
		return
	}
	if r.turns == 0 || r.answered && (!done || !i.hasStartEvent()) {
		r.turns++
		r.answered = false
	}
	r.answered = r.answered || done && i.isCall()
	if limit := r.Spec.Plan.Limits.MaxTurns; limit > 0 && r.turns > limit {
		r.Stop(supervise.Failed(task.PhaseTurns, fmt.Sprintf("It began turn %d of at most %d", r.turns, limit)))
	}
}

var reconnecting = lazyregexp.New(`(?i)^reconnecting\b`)

// complaint handles an error line and reports whether it only says that Codex
// reconnects. With a rejected key, that is pointless, and Codex might retry
// forever.
func (r *reader) complaint(message string, b []byte) (again bool) {
	if !reconnecting().MatchString(message) {
		r.lastError = message
		r.Event(supervise.EventError, message, nil, b)
		return false
	}
	r.Event(supervise.EventLog, message, nil, b)
	if supervise.IsCredentialError(message) {
		r.Stop(supervise.RefusedCredentials(r.Clean(message)))
	}
	return true
}

// Verdict returns completed only if the turn was seen to end successfully.
func (r *reader) Verdict(e supervise.Exit) supervise.Outcome {
	why := cmp.Or(r.failure, r.lastError)
	switch stop := r.Stopped(); {
	case stop != nil: // the last line exceeded a limit
		return *stop
	case e.Crashed():
		return *r.Abnormal(e)
	case why != "" && !r.completed && supervise.IsCredentialError(why):
		return supervise.RefusedCredentials(why)
	case r.failure != "":
		return supervise.Failed(task.PhaseError, "Its turn failed: "+r.failure)
	case e.Code != 0 && why != "":
		return supervise.Failed(task.PhaseError, fmt.Sprintf("It ended with exit code %d: %s", e.Code, why))
	case e.Code != 0 && supervise.IsCredentialError(r.Stderr()):
		return supervise.RefusedCredentials(r.Stderr())
	case e.Code != 0:
		return *r.Abnormal(e)
	case !r.completed:
		return supervise.Failed(task.PhaseProtocol, "It ended without saying that its turn is complete"+r.LastOutput())
	case strings.TrimSpace(r.last) == "":
		return supervise.Failed(task.PhaseError, supervise.NoResult)
	}
	out := supervise.Completed(strings.TrimSpace(r.last))
	out.Artifacts = r.artifacts
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
