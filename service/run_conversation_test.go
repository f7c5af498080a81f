package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// converse gives the tests a runner that continues conversations.
var converse = script(Runner{Converses: true})

// askAndEnd makes a run report text, call a tool and ask a question, and ends it.
func (inst *instance) askAndEnd(st *Start, id task.ID) {
	inst.t.Helper()
	ok(inst.t, inst.s.AppendTranscript(inst.ctx(), st.Run.ID, st.Run.Lease, []task.Message{
		{Type: "text", Role: task.SpeakerAssistant, Content: "I look first."},
		{Type: "usage", Content: "", Data: []byte(`{"tokensIn":3}`)},
		{Type: "tool_call", Role: task.SpeakerAssistant, Content: "read", Data: []byte(`{"id":"c1","tool":"read","input":{"path":"a"}}`)},
		{Type: "tool_result", Role: task.SpeakerTool, Content: strings.Repeat("a", 5000), Data: []byte(`{"id":"c1","tool":"read"}`)},
		{Type: "log", Content: "not for the model"},
	}))
	must(inst.s.Ask(inst.ctx(), inst.actor(st), id, "Which color?", false))
	inst.finish(st, completed("I wait."))
}

func TestAWokenRunContinuesTheConversationOfItsTask(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, with ...func(*Config)) (*instance, *task.Task, *Start) {
		inst := newInstance(t, append([]func(*Config){noApprove, converse, func(c *Config) { c.Wakes = true }}, with...)...)
		tk := inst.create(maya, "coder")
		st := inst.start()
		return inst, tk, st
	}
	transcriptText := func(inst *instance, st *Start) string {
		inst.t.Helper()
		list := must(inst.s.Conversation(inst.ctx(), inst.run(st.Run.ID)))
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
	t.Run("after an answer, with tool results cut, and again after the next one", func(t *testing.T) {
		inst, tk, st := begin(t)
		inst.askAndEnd(st, tk.ID)
		must(inst.s.Reply(inst.ctx(), maya, tk.ID, "green"))
		second := inst.start()
		equal(t, "continues", second.Spec.Continues, st.Run.ID)
		const one = "prompt text:13 usage:0 tool_call:4 tool_result:4075\n"
		equal(t, "conversation", transcriptText(inst, second), one)
		inst.askAndEnd(second, tk.ID)
		must(inst.s.Reply(inst.ctx(), maya, tk.ID, "really"))
		third := inst.start()
		equal(t, "conversation", transcriptText(inst, third), one+one)
		t.Run("a retry begins where the retried run began", func(t *testing.T) {
			inst.finish(third, lostRun("killed"))
			retry := inst.start()
			equal(t, "cause", retry.Run.Cause, task.CauseRetry)
			equal(t, "continues", retry.Spec.Continues, second.Run.ID)
		})
	})
	t.Run("not after a hand-over, nor after the task returns", func(t *testing.T) {
		inst, tk, st := begin(t)
		inst.askAndEnd(st, tk.ID)
		must(inst.s.Reply(inst.ctx(), maya, tk.ID, "green"))
		must(inst.s.HandOver(inst.ctx(), maya, HandOver{TaskID: tk.ID, From: "coder", To: "reviewer", Comment: "take it"}))
		other := inst.start()
		equal(t, "agent", other.Run.Agent, "reviewer")
		equal(t, "continues", other.Spec.Continues, 0)
		inst.finish(other, completed("Looked."))
		must(inst.s.HandOver(inst.ctx(), maya, HandOver{TaskID: tk.ID, From: "reviewer", To: "coder", Comment: "back"}))
		equal(t, "continues", inst.start().Spec.Continues, 0)
	})
	t.Run("not after the instructions changed", func(t *testing.T) {
		inst, tk, st := begin(t)
		inst.askAndEnd(st, tk.ID)
		inst.define("coder", definition("tools: read", "runner: script"))
		must(inst.s.Reply(inst.ctx(), maya, tk.ID, "green"))
		equal(t, "continues", inst.start().Spec.Continues, 0)
	})
	t.Run("not if it takes more than a tenth of the tokens, or exceeds the maximum", func(t *testing.T) {
		for limit, want := range map[string]bool{"max_tokens: 10000": false, "max_tokens: 200000": true, "": true} {
			inst, _, first := begin(t)
			inst.finish(first, completed("Done."))
			inst.define("coder", definition("tools: read, edit", "runner: script", limit))
			tk := inst.create(maya, "coder")
			st := inst.start()
			inst.askAndEnd(st, tk.ID)
			must(inst.s.Reply(inst.ctx(), maya, tk.ID, "green"))
			equal(t, limit, inst.start().Spec.Continues != 0, want)
		}
		inst, tk, st := begin(t)
		lines := make([]task.Message, 0, 10)
		for range 10 {
			lines = append(lines, task.Message{Type: "text", Role: task.SpeakerAssistant, Content: strings.Repeat("a", 8000)})
		}
		ok(t, inst.s.AppendTranscript(inst.ctx(), st.Run.ID, st.Run.Lease, lines))
		inst.askAndEnd(st, tk.ID)
		must(inst.s.Reply(inst.ctx(), maya, tk.ID, "green"))
		equal(t, "too long", inst.start().Spec.Continues, 0)
	})
	t.Run("a reviewer sees and approves which run it continues", func(t *testing.T) {
		inst := newInstance(t, converse, func(c *Config) { c.Wakes, c.Policy = true, task.ApproveAlways })
		tk := inst.create(maya, "coder")
		approve := func() *Start {
			inst.t.Helper()
			r := inst.openRun(tk.ID)
			must(inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{Version: r.Approval.Version}))
			inst.Forward(time.Minute)
			return inst.start()
		}
		inst.askAndEnd(approve(), tk.ID)
		must(inst.s.Reply(inst.ctx(), maya, tk.ID, "green"))
		equal(t, "continues", inst.openRun(tk.ID).Spec.Continues, 1)
		equal(t, "continues", approve().Spec.Continues, 1)
	})
}
