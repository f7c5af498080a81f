//go:build linux

package builtin

import (
	"slices"
	"strings"
	"testing"

	"taskyard/runner/builtin/model/modeltest"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

func TestMessagesOfPeopleReachTheModel(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"openai", "anthropic"} {
		t.Run("before the next call of the model, over "+api, func(t *testing.T) {
			t.Parallel()
			in := runnertest.NewInbox()
			l := newLoop(t, api, calls("create", `{"path":"a","content":"x"}`), modeltest.Step{Text: "Done."}, modeltest.Step{Text: "In short."})
			spec := newSpec(t)
			spec.Inbox = in.Spec()
			rec := &runnertest.Recorder{OnEvent: func(e supervise.Event) {
				if e.Type == supervise.EventToolResult {
					in.Add("use tabs")
				}
			}}
			out := runnertest.RunWith(t, t.Context(), l, spec, rec)
			runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			asked := l.server.Requests()
			if strings.Contains(string(asked[0].Body), "use tabs") || !strings.Contains(string(asked[1].Body), "Message from Ann, a person") ||
				!strings.Contains(string(asked[1].Body), "use tabs") {
				t.Errorf("the model got %s, then %s", asked[0].Body, asked[1].Body)
			}
		})
		t.Run("after its last turn, in an additional one, over "+api, func(t *testing.T) {
			t.Parallel()
			in := runnertest.NewInbox()
			l := newLoop(t, api, modeltest.Step{Text: "Done."}, modeltest.Step{Text: "With tabs."}, modeltest.Step{Text: "In short."})
			spec := newSpec(t)
			spec.Inbox = in.Spec()
			rec := &runnertest.Recorder{OnEvent: func(e supervise.Event) {
				if e.Text == "Done." {
					in.Add("use tabs")
				}
			}}
			out := runnertest.RunWith(t, t.Context(), l, spec, rec)
			runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			if n := len(l.server.Requests()); n != 3 || !slices.Equal(in.Delivered(), []string{"use tabs"}) {
				t.Errorf("got %d requests, delivered %q", n, in.Delivered())
			}
		})
	}
	t.Run("also if the conversation of former runs is left out", func(t *testing.T) {
		t.Parallel()
		l := newLoop(t, "anthropic", modeltest.Step{Status: 400, Message: "prompt is too long"}, modeltest.Step{Text: "Done."})
		spec := newSpec(t)
		spec.Earlier, spec.Inbox = []task.Exchange{former("")}, runnertest.NewInbox("use tabs").Spec()
		l.play(t, spec)
		if got := wire(l.server.Turns()[1]); !strings.Contains(got, "use tabs") || strings.Contains(got, "First prompt.") {
			t.Errorf("the model got\n%s", got)
		}
	})
	t.Run("but not beyond its turn limit", func(t *testing.T) {
		t.Parallel()
		in := runnertest.NewInbox()
		l := newLoop(t, "openai", modeltest.Step{Text: "Done."})
		spec := newSpec(t)
		spec.Inbox, spec.Plan.Limits.MaxTurns = in.Spec(), 1
		rec := &runnertest.Recorder{OnEvent: func(e supervise.Event) { in.Add("use tabs") }}
		out := runnertest.RunWith(t, t.Context(), l, spec, rec)
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
		if got := in.Delivered(); len(got) != 0 {
			t.Errorf("delivered %q, want nothing", got)
		}
	})
}
