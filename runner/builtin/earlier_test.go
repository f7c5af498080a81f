//go:build linux

package builtin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"taskyard/runner/builtin/model/modeltest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// former returns the transcript of a run that was interrupted once, received a
// message, made two calls in one reply, and one without text whose result is
// missing.
func former(secret string) task.Exchange {
	line := func(typ, text, data string) task.Message {
		return task.Message{Type: typ, Content: text, Data: json.RawMessage(data), Author: "user:maya"}
	}
	return task.Exchange{Prompt: "First prompt.", Lines: []task.Message{
		line("text", "I loo", ""), line("usage", "", `{"tokensIn":1}`),
		line("text", "k first.", ""), line("text", "Twice.", ""), line("usage", "", `{"tokensIn":1}`),
		line("tool_call", "read", `{"id":"c1","tool":"read","input":{"path":"a"}}`),
		line("tool_result", "A is "+secret, `{"id":"c1","tool":"read"}`),
		line("tool_call", "read", `{"id":"c2","tool":"read","input":{"path":"b"}}`),
		line("tool_result", "no such file", `{"id":"c2","tool":"read","error":true}`),
		line("usage", "", `{"tokensIn":1}`),
		line("tool_call", "create", `{"id":"c3","tool":"create","input":{"path":"c"}}`),
		line("message", "Use green.", ""),
		line("text", "I wait.", ""), line("usage", "", `{"tokensIn":1}`),
	}}
}

// wire describes the messages of a request, one per line.
func wire(r modeltest.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "%s %q", m.Role, m.Text)
		for _, c := range m.Calls {
			fmt.Fprintf(&b, " %s(%s)", c.Name, c.Args)
		}
		for _, res := range m.Results {
			fmt.Fprintf(&b, " =%q", res.Text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestARunBeginsWithTheFormerConversation(t *testing.T) {
	t.Parallel()
	l := newLoop(t, "anthropic", modeltest.Step{Text: "Done."})
	spec := newSpec(t)
	spec.Secrets = []string{"hush-hush-hush"}
	spec.Earlier = []task.Exchange{former("hush-hush-hush")}
	l.play(t, spec)
	want := `user "First prompt."
assistant "I loo"
user ` + fmt.Sprintf("%q", continuePrompt) + `
assistant "k first.\nTwice." read({"path":"a"}) read({"path":"b"})
user "" ="A is [redacted]" ="no such file"
assistant "" create({"path":"c"})
user "Message from maya, a person who follows this run:\n\nUse green." ="` + noResult + `"
assistant "I wait."
user ` + fmt.Sprintf("%q", spec.Plan.Prompt) + "\n"
	if got := wire(l.server.Turns()[0]); got != want {
		t.Errorf("the model got\n%s, want\n%s", got, want)
	}
}

// Some gateways to Gemini put the model's reasoning into the ID of a call.
func TestResultsOfCallsWithLongIDsAreFound(t *testing.T) {
	t.Parallel()
	id := "call_1__thought__" + strings.Repeat("c2ln", 100)
	first := newLoop(t, "openai", modeltest.Step{Calls: []modeltest.Call{{ID: id, Name: "create", Args: `{"path":"a","content":"x"}`}}},
		modeltest.Step{Text: "Done."}, modeltest.Step{Text: "Done."})
	_, r := first.play(t, newSpec(t))
	e := task.Exchange{Prompt: "First prompt."}
	for _, ev := range r.Events {
		e.Lines = append(e.Lines, task.Message{Type: ev.Type, Content: ev.Text, Data: ev.Data})
	}
	l := newLoop(t, "openai", modeltest.Step{Text: "Done."}, modeltest.Step{Text: "Done."})
	spec := newSpec(t)
	spec.Earlier = []task.Exchange{e}
	l.play(t, spec)
	got := wire(l.server.Turns()[0])
	if !strings.Contains(got, `="wrote 1 bytes"`) || strings.Contains(got, noResult) {
		t.Errorf("the model got\n%s", got)
	}
	for _, m := range l.server.Turns()[0].Messages {
		for _, res := range m.Results {
			if res.ID != id {
				t.Errorf("got the result of call %s", res.ID)
			}
		}
	}
}

func TestAConversationThatIsTooLongIsLeftOut(t *testing.T) {
	t.Parallel()
	l := newLoop(t, "anthropic", modeltest.Step{Status: 400, Message: "prompt is too long"}, modeltest.Step{Text: "Done."})
	spec := newSpec(t)
	spec.Earlier = []task.Exchange{former("")}
	out, r := l.play(t, spec)
	if out.Status != task.RunCompleted || len(l.server.Turns()[1].Messages) != 1 {
		t.Errorf("got %+v after %s", out, wire(l.server.Turns()[1]))
	}
	if e := r.Events[0]; e.Type != supervise.EventLog || !strings.Contains(e.Text, "too long for the model") {
		t.Errorf("got the event %+v", e)
	}
}
