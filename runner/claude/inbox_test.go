//go:build linux

package claude

import (
	"slices"
	"strings"
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

func replay(id task.ID) string {
	return `say {"type":"user","uuid":"` + messageUUID(id) + `","isReplay":true,"message":{"role":"user","content":[{"type":"text","text":"x"}]}}`
}

func TestClaudeReceivesMessagesDuringARun(t *testing.T) {
	t.Parallel()
	more := strings.Replace(fakeDone, "All done", "With tabs", 1)
	for _, tt := range []struct {
		name  string
		steps []string
		say   []string
		want  string // summary
	}{
		{"between two calls of its model, with one answer", []string{
			"say " + fakeInit, "read", replay(1),
			"say " + fakeDone, "eof",
		}, []string{"use tabs"}, "All done."},
		{"after its answer, with one more", []string{
			"say " + fakeInit, "read", "say " + fakeDone, replay(1), "say " + more,
			"eof",
		}, []string{"use tabs"}, "With tabs."},
		{
			"several at once",
			[]string{"say " + fakeInit, "read", "read", "say " + fakeDone, replay(1), replay(2), "say " + more, "eof"},
			[]string{"use tabs", "and a test"},
			"With tabs.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := runnertest.NewInbox(tt.say...)
			spec := claudeSpec(t)
			spec.Inbox = in.Spec()
			out, rec := runnertest.Run(t, fake(tt.steps...), spec)
			runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			if out.Summary != tt.want || !slices.Equal(in.Delivered(), tt.say) {
				t.Errorf("got summary %q, delivered %q", out.Summary, in.Delivered())
			}
			if got := rec.Texts(supervise.EventText)[0]; !strings.Contains(got, `Message from Ann, a person who follows this run:\n\nuse tabs`) {
				t.Errorf("the program read %s", got)
			}
		})
	}
}

func TestClaudeNeverHangsOnAMessage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		steps  []string
		limits task.Limits
		phase  task.Phase
		reason string
	}{
		{
			"a program that does not read it is idle",
			[]string{"say " + fakeInit, "read", "say " + fakeDone, "hang"},
			task.Limits{IdleTimeoutSeconds: 1},
			task.PhaseIdle, "said nothing",
		},
		{
			"a program that fails first ends",
			[]string{
				"say " + fakeInit, "read",
				`say {"type":"result","subtype":"success","is_error":true,"result":"it broke"}`, "eof", "exit 1",
			},
			task.Limits{},
			task.PhaseError, "it broke",
		},
		{
			"the turns of all answers count",
			[]string{
				"say " + fakeInit, "read", "say " + fakeDone, replay(1),
				`say {"type":"assistant","message":{"id":"a","content":[]}}`, `say {"type":"assistant","message":{"id":"b","content":[]}}`, "stop",
			},
			task.Limits{MaxTurns: 3},
			task.PhaseTurns, "4 turns of at most 3",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := claudeSpec(t)
			spec.Inbox, spec.Plan.Limits = runnertest.NewInbox("use tabs").Spec(), tt.limits
			out, _ := runnertest.Run(t, fake(tt.steps...), spec)
			runnertest.WantState(t, out, task.RunFailed, tt.phase, tt.reason)
		})
	}
	t.Run("a late message is left for the next run", func(t *testing.T) {
		t.Parallel()
		in := runnertest.NewInbox("use tabs")
		spec := claudeSpec(t)
		spec.Inbox, spec.Plan.Limits = in.Spec(), task.Limits{MaxTurns: 2}
		out, _ := runnertest.Run(t, fake("say "+fakeInit, "read", "say "+fakeDone, replay(1), "hang"), spec)
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
		if got := in.Delivered(); len(got) != 0 {
			t.Errorf("delivered %q, want nothing", got)
		}
	})
}
