package e2e

import (
	"strings"
	"sync"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// TestStory07AChildWorksInTheFilesOfItsParent has an agent delegate a refactoring, and
// read the result.
func TestStory07AChildWorksInTheFilesOfItsParent(t *testing.T) {
	t.Parallel()
	const request = "Refactor the authentication module in auth.go to use the new token system"
	scripts := map[string][]modeltest.Step{
		"You delegate.": {
			oneCall("read", `{"path":"auth.go"}`),
			oneCall("edit", `{"path":"auth.go","old_text":"package auth","new_text":"// Package auth signs people in.\npackage auth"}`),
			oneCall("task", `{"task":%q,"agent_type":"coder"}`, request),
			oneCall("task_status", `{"run_id":"2","transcript_after":"0"}`),
			oneCall("read", `{"path":"auth.go"}`),
		},
		"You begin.": {
			oneCall("create", `{"path":"auth.go","content":"package auth // begun\n\nvar token = oldToken()\n"}`),
			oneCall("task", `{"task":%q,"agent_type":"coder"}`, request),
			oneCall("read", `{"path":"auth.go"}`),
		},
		"You meet.": {
			oneCall("read", `{"path":"auth.go"}`),
			oneCall("task", `{"task":%q,"agent_type":"coder","wait_seconds":0}`, request),
			oneCall("edit", `{"path":"auth.go","old_text":"oldToken()","new_text":"myToken()"}`),
			oneCall("task_wait", `{"run_id":"2"}`),
			oneCall("read", `{"path":"auth.go"}`),
		},
		"You code.": {
			oneCall("read", `{"path":"auth.go"}`),
			oneCall("edit", `{"path":"auth.go","old_text":"oldToken()","new_text":"newToken()"}`),
		},
	}
	for name, c := range map[string]struct {
		system    string
		workspace func(repo string) string
		want      []string // in the last file that the parent reads, or in a tool result
		not       string
	}{
		"in its private folder": {
			"You begin.", func(string) string { return "" }, []string{"// begun", "newToken()"}, "oldToken()",
		},
		"in a folder": {
			"You delegate.", func(repo string) string { return "\nworkspace: " + repo },
			[]string{"// Package auth signs people in.", "newToken()"},
			"oldToken()",
		},
		"with worktrees, merged": {
			"You delegate.", func(repo string) string { return "\nworkspace: worktree:" + repo },
			[]string{"// Package auth signs people in.", "newToken()"},
			"oldToken()",
		},
		"with worktrees, in conflict": {
			"You meet.", func(repo string) string { return "\nworkspace: worktree:" + repo },
			[]string{"myToken()", "Not merged into the worktree of run 1: conflicts in auth.go.", "taskyard/run-2"},
			"newToken()",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			childEdited, bothEdited := make(chan struct{}), make(chan struct{})
			noteChild, noteBoth := sync.OnceFunc(func() { close(childEdited) }), sync.OnceFunc(func() { close(bothEdited) })
			m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
				_, n := findPrompt(r)
				script, turn := scripts[r.System], (n-1)/2
				step := modeltest.Step{Text: "auth.go uses the new token system."}
				if turn < len(script) {
					step = script[turn]
				}
				switch {
				case c.system != "You meet.":
				case r.System == "You code." && turn == 2:
					noteChild()
					step.Wait = bothEdited
				case r.System == "You meet." && turn == 2:
					step.Wait = childEdited
				case r.System == "You meet." && turn == 3:
					noteBoth()
				}
				return step
			})
			repo := testkit.Repository(t, map[string]string{"auth.go": "package auth\n\nvar token = oldToken()\n"})
			s, person := newModelServer(t, m, map[string][2]string{
				"boss":  {"read, create, edit, task" + c.workspace(repo), c.system},
				"coder": {"read, edit\napproval: never", "You code."},
			})
			tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Use the new tokens", "owner": "boss"})
			s.runsEnded(tk.ID, 1)
			results := ""
			for _, r := range m.Turns() {
				for _, result := range r.Last().Results {
					if r.System == c.system {
						results += result.Text + "\n"
					}
				}
			}
			for _, want := range c.want {
				if !strings.Contains(results, want) {
					t.Errorf("the parent did not get %q:\n%s", want, results)
				}
			}
			last := results[max(0, strings.LastIndex(results, "package auth")):]
			if strings.Contains(last, c.not) {
				t.Errorf("the parent last read %q", last)
			}
		})
	}
}
