package views

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"taskyard/task"
	"taskyard/views/ui"
)

// itemKind returns the display type of a transcript message.
func itemKind(m task.Message) string {
	switch m.Type {
	case "prompt", "usage", "log", "error", "result", task.TypeMessage:
		return m.Type
	case "permission":
		return "log"
	case "tool_call":
		return "tool"
	case "tool_result":
		return "answer"
	}
	return "text"
}

func promptLabel(m task.Message) string {
	if m.Role == task.SpeakerSystem {
		return "System prompt"
	}
	return "Prompt"
}

// messageLabel describes who sent a message to the run, and whether its agent
// received it.
func messageLabel(m task.Message) string {
	var d struct{ Undelivered bool }
	if json.Unmarshal(m.Data, &d) == nil && d.Undelivered {
		return ui.ActorLabel(m.Author) + " (not delivered: the run ended first)"
	}
	return ui.ActorLabel(m.Author)
}

// failed reports whether a tool call was denied or failed.
func (e entry) failed() bool {
	return readToolCall(e.Msg.Message).Bad || e.Result != nil && readToolCall(e.Result.Message).Bad
}

// note describes the state of a tool call: its result, or that it is pending.
func (e entry) note() string {
	switch {
	case e.Result == nil && e.Msg.Type == "tool_call":
		return ""
	case e.failed():
		return "failed"
	case e.Result == nil:
		return lengthText(e.Msg.Content)
	}
	return lengthText(e.Result.Content)
}

// describeUsage describes a usage message: the usage so far.
func describeUsage(m task.Message) string {
	var u task.Usage
	if json.Unmarshal(m.Data, &u) != nil || u == (task.Usage{}) {
		return cmp.Or(firstLine(m.Content), "Usage noted")
	}
	s := ui.Tokens(u.TokensIn) + " tokens in" + cachedText(u) + ", " + ui.Tokens(u.TokensOut) + " out"
	if u.ToolCalls > 0 {
		s += ", " + ui.Count(u.ToolCalls, "tool call", "tool calls")
	}
	if u.CostUSD > 0 {
		s += ", " + ui.Money(u.CostUSD)
	}
	if u.Estimated {
		s += " (estimated)"
	}
	return s
}

// cachedText describes how much of the input came from the provider's cache.
func cachedText(u task.Usage) string {
	if u.TokensCached == 0 {
		return ""
	}
	return " (" + ui.Tokens(u.TokensCached) + " cached)"
}

// runStateAttrs returns attributes for styles and scripts: which actions a
// run's state allows.
func runStateAttrs(r *task.Run) templ.Attributes {
	switch {
	case !r.Status.Final():
		return templ.Attributes{"data-run-open": true}
	case r.Status != task.RunCompleted:
		return templ.Attributes{"data-run-unsuccessful": true}
	}
	return nil
}

// outcomeText introduces the reason why a run did not succeed.
func outcomeText(r *task.Run) string {
	if r.Status == task.RunFailed {
		return "Failed" + failText(r.Phase)
	}
	return "Canceled" + cancelText(r.Phase)
}

// runReason returns why a run ended without success, as far as it is known.
func runReason(r *task.Run) string {
	if r.Reason == "" && r.Approval != nil {
		return r.Approval.Reason
	}
	return r.Reason
}

// capitalize capitalizes a word.
func capitalize(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
