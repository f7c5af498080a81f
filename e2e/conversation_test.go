package e2e

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// TestAnAnswerContinuesTheConversation has an agent look at something, ask a
// question and end, and kills the server before a person answers: the model gets
// the earlier conversation unchanged, then the new prompt. Another agent gets none
// of it.
func TestAnAnswerContinuesTheConversation(t *testing.T) {
	t.Parallel()
	const found = "the paint is in the cellar"
	m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
		prompt, n := findPrompt(r)
		switch {
		case r.System == "You check." || strings.Contains(prompt, "Use the green one."):
			return modeltest.Step{Text: "Done."}
		case n == 1:
			return oneCall("create", `{"path":"found.txt","content":%q}`, found)
		case n == 3:
			return oneCall("notify_user", `{"message":"Which color?","needs_reply":true}`)
		}
		return modeltest.Step{Text: "I wait for the answer."}
	})
	s, person := newModelServer(t, m, map[string][2]string{"painter": {"create", "You paint."}, "checker": {"create", "You check."}})
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Paint it", "owner": "painter"})
	s.runsEnded(tk.ID, 1)
	s.kill()
	s.start()
	call[task.Message](t, person, "POST", "/api/tasks/"+tk.ID.String()+"/reply", map[string]any{"content": "Use the green one."})
	s.runsEnded(tk.ID, 2)
	turns := m.Turns()
	first := slices.IndexFunc(turns, func(r modeltest.Request) bool {
		prompt, n := findPrompt(r)
		return n == 1 && strings.Contains(prompt, "Use the green one.")
	})
	last := first - 1
	for turns[last].NoCalls { // the closing turn
		last--
	}
	before, now := turns[last], turns[first]
	n := len(before.Messages)
	if len(now.Messages) != n+2 || !reflect.DeepEqual(now.Messages[:n], before.Messages) {
		t.Fatalf("the model got %s, and then %s", asJSON(before.Messages), asJSON(now.Messages))
	}
	if got := now.Messages[n].Text; got != "I wait for the answer." {
		t.Errorf("got the last message %q", got)
	}
	if now.System != before.System || !slices.Equal(now.Tools, before.Tools) {
		t.Error("the part before the conversation differs")
	}
	if got := s.rows("SELECT spec ->> 'continues' FROM runs WHERE id = 2")[0]; got != "1" {
		t.Errorf("got the continued run %q", got)
	}
	t.Run("another agent does not get it", func(t *testing.T) {
		call[task.Task](t, person, "PATCH", "/api/tasks/"+tk.ID.String(), map[string]any{"owner": "checker"})
		s.runsEnded(tk.ID, 3)
		seen := 0
		for _, r := range m.Turns() {
			if r.System == "You check." {
				if seen++; strings.Contains(string(r.Body), found) {
					t.Errorf("the model got %s", r.Body)
				}
			}
		}
		if seen == 0 {
			t.Error("the model got no request")
		}
	})
}

// TestTheResultOfOtherWorkContinuesTheConversation has an agent create a subtask, or
// delegate, and end: when that work is done, its model gets the earlier conversation,
// then the prompt with the result.
func TestTheResultOfOtherWorkContinuesTheConversation(t *testing.T) {
	t.Parallel()
	for what, start := range map[string]modeltest.Step{
		"a subtask":    oneCall("create_subtask", `{"stepIndex":0,"title":"Measure it","owner":"helper"}`),
		"a delegation": oneCall("task", `{"task":"Measure it","agent_type":"helper","wait_seconds":0}`),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
				prompt, n := findPrompt(r)
				switch {
				case r.System == "You help.":
					return modeltest.Step{Text: "It is 42 inches."}
				case strings.Contains(prompt, "42 inches"):
					return modeltest.Step{Text: "So it is 42."}
				case n == 1:
					return start
				}
				return modeltest.Step{Text: "I wait for the helper."}
			})
			s, person := newModelServer(t, m, map[string][2]string{"painter": {"read, task", "You paint."}, "helper": {"read", "You help."}})
			tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{
				"title": "Paint it", "owner": "painter", "steps": []any{map[string]any{"title": "Measure"}},
			})
			s.runsEnded(tk.ID, 1)
			waiting := func() []string { return s.rows("SELECT id FROM runs WHERE agent = 'helper' AND phase = 'approval'") }
			testkit.Eventually(t, "the helper's run waits for approval", func() bool { return len(waiting()) == 1 })
			child := waiting()[0]
			call[task.Run](t, person, "POST", "/api/runs/"+child+"/approve", map[string]any{"scope": "once"})
			if what == "a subtask" { // like any run, its run does not complete it
				testkit.Eventually(t, "the helper is done", func() bool {
					return s.rows("SELECT status FROM runs WHERE id = ?", child)[0] == "completed"
				})
				call[task.Task](t, person, "POST", "/api/tasks/2/complete", map[string]any{"summary": "It is 42 inches."})
			}
			s.runsEnded(tk.ID, 2)
			if got := s.rows("SELECT spec ->> 'continues', summary FROM runs WHERE task_id = ? ORDER BY id DESC", tk.ID)[0]; got != "1|So it is 42." {
				t.Errorf("got continued run and summary %s", got)
			}
			turns := m.Turns()
			first := slices.IndexFunc(turns, func(r modeltest.Request) bool {
				prompt, n := findPrompt(r)
				return r.System == "You paint." && n == 1 && strings.Contains(prompt, "42 inches")
			})
			if n := len(turns[0].Messages); !reflect.DeepEqual(turns[first].Messages[:n], turns[0].Messages) || len(turns[first].Messages) != n+4 {
				t.Errorf("the model got %s, and then %s", asJSON(turns[0].Messages), asJSON(turns[first].Messages))
			}
		})
	}
}
