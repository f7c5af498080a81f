package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// converse makes the runner of the tests one that continues conversations.
var converse = script(Runner{Converses: true})

// asksAndEnds has a run say, call and ask, and ends it.
func (y *instance) asksAndEnds(st *Start, id task.ID) {
	y.t.Helper()
	ok(y.t, y.s.AppendTranscript(y.ctx(), st.Run.ID, st.Run.Lease, []task.Message{
		{Type: "text", Role: task.SpeakerAssistant, Content: "I look first."},
		{Type: "usage", Content: "", Data: []byte(`{"tokensIn":3}`)},
		{Type: "tool_call", Role: task.SpeakerAssistant, Content: "read", Data: []byte(`{"id":"c1","tool":"read","input":{"path":"a"}}`)},
		{Type: "tool_result", Role: task.SpeakerTool, Content: strings.Repeat("a", 5000), Data: []byte(`{"id":"c1","tool":"read"}`)},
		{Type: "log", Content: "not for the model"},
	}))
	must(y.s.Ask(y.ctx(), y.actor(st), id, "Which color?", false))
	y.finish(st, completed("I wait."))
}

func TestAWokenRunBeginsWithTheConversationOfItsTask(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, with ...func(*Config)) (*instance, *task.Task, *Start) {
		y := newInstance(t, append([]func(*Config){noApprove, converse, func(c *Config) { c.Wakes = true }}, with...)...)
		tk := y.create(maya, "coder")
		st := y.start()
		return y, tk, st
	}
	said := func(y *instance, st *Start) string {
		y.t.Helper()
		list := must(y.s.Conversation(y.ctx(), y.run(st.Run.ID)))
		text := ""
		for _, e := range list {
			text += "prompt"
			for _, l := range e.Lines {
				text += fmt.Sprintf(" %s:%d", l.Type, len(l.Content))
			}
			text += "\n"
		}
		return text
	}
	t.Run("by an answer, with results of tools cut, and again by the next one", func(t *testing.T) {
		y, tk, st := begin(t)
		y.asksAndEnds(st, tk.ID)
		must(y.s.Reply(y.ctx(), maya, tk.ID, "green"))
		second := y.start()
		equal(t, "continues", second.Spec.Continues, st.Run.ID)
		const one = "prompt text:13 usage:0 tool_call:4 tool_result:4075\n"
		equal(t, "conversation", said(y, second), one)
		y.asksAndEnds(second, tk.ID)
		must(y.s.Reply(y.ctx(), maya, tk.ID, "really"))
		third := y.start()
		equal(t, "conversation", said(y, third), one+one)
		t.Run("a retry begins where the run began that it repeats", func(t *testing.T) {
			y.finish(third, lost("killed"))
			retry := y.start()
			equal(t, "cause", retry.Run.Cause, task.CauseRetry)
			equal(t, "continues", retry.Spec.Continues, second.Run.ID)
		})
	})
	t.Run("not after a hand-over, nor when the task comes back", func(t *testing.T) {
		y, tk, st := begin(t)
		y.asksAndEnds(st, tk.ID)
		must(y.s.Reply(y.ctx(), maya, tk.ID, "green"))
		must(y.s.HandOver(y.ctx(), maya, HandOver{TaskID: tk.ID, From: "coder", To: "reviewer", Comment: "take it"}))
		other := y.start()
		equal(t, "agent", other.Run.Agent, "reviewer")
		equal(t, "continues", other.Spec.Continues, 0)
		y.finish(other, completed("Looked."))
		must(y.s.HandOver(y.ctx(), maya, HandOver{TaskID: tk.ID, From: "reviewer", To: "coder", Comment: "back"}))
		equal(t, "continues", y.start().Spec.Continues, 0)
	})
	t.Run("not under other instructions", func(t *testing.T) {
		y, tk, st := begin(t)
		y.asksAndEnds(st, tk.ID)
		y.define("coder", definition("tools: read", "runner: script"))
		must(y.s.Reply(y.ctx(), maya, tk.ID, "green"))
		equal(t, "continues", y.start().Spec.Continues, 0)
	})
	t.Run("not when it takes more than a tenth of the tokens, or too much at all", func(t *testing.T) {
		for limit, want := range map[string]bool{"max_tokens: 10000": false, "max_tokens: 200000": true, "": true} {
			y, _, first := begin(t)
			y.finish(first, completed("Done."))
			y.define("coder", definition("tools: read, edit", "runner: script", limit))
			tk := y.create(maya, "coder")
			st := y.start()
			y.asksAndEnds(st, tk.ID)
			must(y.s.Reply(y.ctx(), maya, tk.ID, "green"))
			equal(t, limit, y.start().Spec.Continues != 0, want)
		}
		y, tk, st := begin(t)
		lines := make([]task.Message, 0, 10)
		for range 10 {
			lines = append(lines, task.Message{Type: "text", Role: task.SpeakerAssistant, Content: strings.Repeat("a", 8000)})
		}
		ok(t, y.s.AppendTranscript(y.ctx(), st.Run.ID, st.Run.Lease, lines))
		y.asksAndEnds(st, tk.ID)
		must(y.s.Reply(y.ctx(), maya, tk.ID, "green"))
		equal(t, "too long", y.start().Spec.Continues, 0)
	})
	t.Run("a reviewer sees which run it continues, and approves that", func(t *testing.T) {
		y := newInstance(t, converse, func(c *Config) { c.Wakes, c.Policy = true, task.ApproveAlways })
		tk := y.create(maya, "coder")
		approve := func() *Start {
			y.t.Helper()
			r := y.openRun(tk.ID)
			must(y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{Version: r.Approval.Version}))
			y.Forward(time.Minute)
			return y.start()
		}
		y.asksAndEnds(approve(), tk.ID)
		must(y.s.Reply(y.ctx(), maya, tk.ID, "green"))
		equal(t, "continues", y.openRun(tk.ID).Spec.Continues, 1)
		equal(t, "continues", approve().Spec.Continues, 1)
	})
}
