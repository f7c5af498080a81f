package e2e

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// TestAnAnswerContinuesTheConversation has an agent look at something, ask and
// end, and the server killed before a person answers: the model gets what was
// said before byte for byte, then the new prompt. Another agent gets none of it.
func TestAnAnswerContinuesTheConversation(t *testing.T) {
	t.Parallel()
	const found = "the paint is in the cellar"
	m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
		prompt, n := promptOf(r)
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
		prompt, n := promptOf(r)
		return n == 1 && strings.Contains(prompt, "Use the green one.")
	})
	last := first - 1
	for turns[last].NoCalls { // the closing turn
		last--
	}
	before, now := turns[last], turns[first]
	n := len(before.Messages)
	if len(now.Messages) != n+2 || !reflect.DeepEqual(now.Messages[:n], before.Messages) {
		t.Fatalf("the model was told %s, and then %s", asJSON(before.Messages), asJSON(now.Messages))
	}
	if got := now.Messages[n].Text; got != "I wait for the answer." {
		t.Errorf("it said %q", got)
	}
	if now.System != before.System || !slices.Equal(now.Tools, before.Tools) {
		t.Error("what comes before the conversation is another")
	}
	if got := s.rows("SELECT spec ->> 'continues' FROM runs WHERE id = 2")[0]; got != "1" {
		t.Errorf("it continues %q", got)
	}
	t.Run("another agent does not get it", func(t *testing.T) {
		call[task.Task](t, person, "PATCH", "/api/tasks/"+tk.ID.String(), map[string]any{"owner": "checker"})
		s.runsEnded(tk.ID, 3)
		seen := 0
		for _, r := range m.Turns() {
			if r.System == "You check." {
				if seen++; strings.Contains(string(r.Body), found) {
					t.Errorf("it got %s", r.Body)
				}
			}
		}
		if seen == 0 {
			t.Error("it was not asked")
		}
	})
}
