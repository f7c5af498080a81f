package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/config"
	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

const providerKey = "sk-key-of-the-provider"

// newBuiltinServer starts a server whose built-in agent coder uses the model server
// m, with the given API. boss may delegate.
func newBuiltinServer(t *testing.T, api string, m *modeltest.Server) (*server, *client.Client) {
	t.Helper()
	s := newServer(t, "serve")
	s.env = append(s.env, "TEST_MODEL_KEY="+providerKey)
	s.file("taskyard.toml", fmt.Sprintf(`[runs]
attempts = 2
[approval]
policy = "never"
[providers.test]
api = %q
base_url = %q
api_key_env = "TEST_MODEL_KEY"
models = ["test-model"]
price_per_mtok = { "test-model" = [10, 100, 1] }
`, api, m.URL+"/v1"))
	s.file("agents/coder.md", "---\nname: coder\ndescription: For tests.\ntools: read, create\n---\nYou are terse.\n")
	s.file("agents/boss.md", "---\nname: boss\ndescription: For tests.\ntools: task\n---\nYou delegate.\n")
	s.start()
	return s, s.api(s.token("--scope", "operate"))
}

var taskLine = regexp.MustCompile(`<Task>\nid: (\d+)\n`)

// promptTask returns the ID of the task in the first prompt of a run.
func promptTask(r modeltest.Request) string {
	if m := taskLine.FindStringSubmatch(r.Messages[0].Text); m != nil {
		return m[1]
	}
	return "0"
}

func oneCall(name, args string, a ...any) modeltest.Step {
	return modeltest.Step{
		Calls: []modeltest.Call{{Name: name, Args: fmt.Sprintf(args, a...)}},
		Usage: modeltest.Usage{In: 1000, Out: 10, Cached: 500},
	}
}

// waitForRun waits for the end of the only run of a task and returns it.
func waitForRun(t *testing.T, s *server, c *client.Client, id task.ID) task.Run {
	t.Helper()
	testkit.Eventually(t, "the run of task "+id.String()+" ends", func() bool {
		return s.rows("SELECT count(*) FROM runs WHERE task_id = ? AND ended_at IS NOT NULL", id)[0] == "1"
	})
	return call[task.Run](t, c, "GET", "/api/runs/"+s.rows("SELECT min(id) FROM runs WHERE task_id = ?", id)[0], nil)
}

func TestTheBuiltinAgentFinishesATask(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"openai", "anthropic"} {
		t.Run(api, func(t *testing.T) {
			n := 0
			m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
				id := promptTask(r)
				n++
				switch n {
				case 1:
					return oneCall("update_steps", `{"taskId":%q,"steps":[{"title":"Write"}]}`, id)
				case 2:
					return oneCall("create", `{"path":"docs/notes.md","content":"Hello, gate."}`)
				case 3:
					return oneCall("bash", `{"command":"id"}`)
				}
				return oneCall("complete_task", `{"taskId":%q,"summary":"Wrote the notes. Nothing is left."}`, id)
			})
			s, person := newBuiltinServer(t, api, m)
			tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Write notes", "owner": "coder"})
			r := waitForRun(t, s, person, tk.ID)
			if r.Status != task.RunCompleted || r.Summary != "Wrote the notes. Nothing is left." || r.Model != "test-model" {
				t.Fatalf("got the run %s", asJSON(r))
			}
			t.Run("its task is done, with the plan and the summary", func(t *testing.T) {
				tk := call[task.Task](t, person, "GET", "/api/tasks/"+tk.ID.String(), nil)
				if tk.Status != task.Done || tk.Summary != r.Summary || len(tk.Steps) != 1 {
					t.Errorf("got the task %s", asJSON(tk))
				}
			})
			t.Run("its usage and cost are reported", func(t *testing.T) {
				want := task.Usage{ToolCalls: 4, TokensIn: 4000, TokensOut: 40, TokensCached: 2000, CostUSD: 0.026}
				if got := r.Usage; got.Tokens() != want.Tokens() || got.ToolCalls != 4 || got.TokensCached != 2000 ||
					got.Estimated || fmt.Sprintf("%.6f", got.CostUSD) != "0.026000" {
					t.Errorf("got usage %s", asJSON(got))
				}
			})
			t.Run("its file is in the workspace and among the artifacts", func(t *testing.T) {
				files, err := filepath.Glob(filepath.Join(s.data, "runs", "run-*", "work", "docs", "notes.md"))
				if err != nil || len(files) != 1 || strings.Join(r.Artifacts, " ") != "docs/notes.md" {
					t.Fatalf("got files %v, %v; artifacts %v", files, err, r.Artifacts)
				}
				if text, err := os.ReadFile(files[0]); string(text) != "Hello, gate." {
					t.Errorf("the file contains %q, %v", text, err)
				}
			})
			t.Run("a forbidden tool was refused", func(t *testing.T) {
				got := s.rows("SELECT content FROM messages WHERE run_id = ? AND type = 'tool_result' ORDER BY id LIMIT 1 OFFSET 2", r.ID)
				if len(got) != 1 || !strings.HasPrefix(got[0], "agent coder may not use the tool bash: its tools are read, create, ") {
					t.Errorf("got the result %q", got)
				}
			})
			t.Run("the model got prompt, tools and key, and the key is not in the database", func(t *testing.T) {
				q := m.Turns()[0]
				tools := strings.Join(q.Tools, " ")
				const want = "read create add_comment append_step complete_task get_task move_task notify_user update_step update_steps update_task"
				if q.Key() != providerKey || q.System != "You are terse." || tools != want {
					t.Errorf("got key %q, system %q, tools %q", q.Key(), q.System, tools)
				}
				b, err := os.ReadFile(filepath.Join(s.data, "taskyard.db-wal"))
				if err != nil || strings.Contains(string(b), providerKey) {
					t.Errorf("the database contains the key, or cannot be read: %v", err)
				}
			})
		})
	}
}

func TestABuiltinAgentDelegatesToAnother(t *testing.T) {
	t.Parallel()
	m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
		last := r.Last()
		switch {
		case r.NoCalls || len(last.Results) == 0 && r.System != "You delegate.":
			return modeltest.Step{Text: "The answer is 42."}
		case len(last.Results) == 0:
			return oneCall("task", `{"task":"Find the answer","agent_type":"coder","wait_seconds":50}`)
		}
		return modeltest.Step{Text: "It answered: " + last.Results[0].Text}
	})
	s, person := newBuiltinServer(t, "openai", m)
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Ask", "owner": "boss"})
	if r := waitForRun(t, s, person, tk.ID); r.Status != task.RunCompleted {
		t.Fatalf("got the run %s", asJSON(r))
	}
	results := s.rows("SELECT content FROM messages m JOIN runs r ON r.id = m.run_id WHERE r.agent = 'boss' AND m.type = 'tool_result'")
	if len(results) != 1 || !strings.Contains(results[0], "The answer is 42.") || !strings.Contains(results[0], `"success": true`) {
		t.Errorf("got the tool results %q", results)
	}
	if got := s.rows("SELECT agent, depth, status, phase FROM runs ORDER BY id"); strings.Join(got,
		" ") != "boss|0|completed|ended coder|1|completed|ended" {
		t.Errorf("got runs %q", got)
	}
}

func TestABuiltinRunOfAKilledServerIsLostAndRetried(t *testing.T) {
	t.Parallel()
	hang, n := make(chan struct{}), 0
	m := modeltest.NewFunc(t, func(modeltest.Request) modeltest.Step {
		if n++; n == 1 {
			return modeltest.Step{Wait: hang}
		}
		return modeltest.Step{Text: "Done after all."}
	})
	s, person := newBuiltinServer(t, "anthropic", m)
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Survive", "owner": "coder"})
	testkit.Eventually(t, "the model gets a request", func() bool { return len(m.Turns()) == 1 })
	s.kill()
	s.start()
	testkit.Eventually(t, "the retry has ended", func() bool {
		return s.rows("SELECT count(*) FROM runs WHERE task_id = ? AND ended_at IS NOT NULL", tk.ID)[0] == "2"
	})
	if got := s.rows("SELECT status, phase, attempt, summary FROM runs ORDER BY id"); strings.Join(got,
		" ") != "failed|lost|1| completed|ended|2|Done after all." {
		t.Errorf("got runs %q", got)
	}
}

func TestABuiltinAgentWithoutTheTasksCapabilityHasNoTaskTools(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t, modeltest.Step{Text: "Done.", Times: 2})
	s, person := newBuiltinServer(t, "openai", m)
	s.file("agents/plain.md", "---\nname: plain\ndescription: For tests.\ntools: read\ncapabilities: [other]\n---\nWork.\n")
	testkit.Eventually(t, "the agent exists", func() bool {
		return person.Do(t.Context(), "GET", "/api/agents/plain", nil, nil) == nil
	})
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Look", "owner": "plain"})
	if r := waitForRun(t, s, person, tk.ID); r.Status != task.RunCompleted || strings.Join(m.Turns()[0].Tools, " ") != "read" {
		t.Errorf("got the run %s, tools %v", asJSON(r), m.Turns()[0].Tools)
	}
}

func TestTheExampleOfAProviderIsValid(t *testing.T) {
	t.Parallel()
	const file = "docs/runners.md"
	found := 0
	for _, b := range fencedBlocks(t, file) {
		if !strings.Contains(b.text, "[providers.") {
			continue
		}
		found++
		path := put(t, filepath.Join(t.TempDir(), "taskyard.toml"), b.text)
		if _, _, err := config.Load(config.LoadOptions{File: path}); err != nil {
			t.Errorf("%s:%d: %v", file, b.line, err)
		}
	}
	if found == 0 {
		t.Error("there is no example")
	}
}

func TestABuiltinAgentGetsTheTaskToolsOfItsDefinition(t *testing.T) {
	t.Parallel()
	script := []modeltest.Step{
		oneCall("update_steps", `{"steps":[{"title":"Read"},{"title":"Write"}]}`),
		oneCall("update_step", `{"stepIndex":0,"done":true}`),
		oneCall("append_step", `{"title":"Send"}`),
		oneCall("add_resource", `{"type":"url","value":"https://example.org/spec"}`),
		oneCall("todo_rpush", `{"item":"Write it down"}`),
		oneCall("list_tasks", `{}`),
		oneCall("cancel_task", `{}`), // refused: the task must be named
		oneCall("complete_task", `{"summary":"Planned."}`),
	}
	m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
		_, n := findPrompt(r)
		if turn := (n - 1) / 2; r.System == "You plan." && turn < len(script) {
			return script[turn]
		}
		return modeltest.Step{Text: "Done."}
	})
	s, person := newModelServer(t, m, map[string][2]string{
		"planner": {"read\ntask_tools: all", "You plan."}, "boss": {"read, task\ntask_tools: all", "You lead."}, "plain": {"read", "You read."},
	})
	for _, c := range []struct{ agent, system, want string }{
		{"plain", "You read.", "add_comment append_step complete_task get_task move_task notify_user read update_step update_steps update_task"},
		{
			"planner", "You plan.", "add_comment add_resource append_step cancel_task complete_task get_task insert_step list_history list_tasks " +
				"move_task notify_user read remove_resource todo_count todo_list todo_lpeek todo_lpop todo_lpush todo_rpeek todo_rpop todo_rpush " +
				"update_step update_steps update_task",
		},
		{
			"boss", "You lead.", "add_comment add_resource append_step cancel_task complete_task create_subtask create_task " +
				"get_task insert_step list_history list_tasks move_task notify_user read remove_resource task task_status task_stop task_wait todo_count todo_list todo_lpeek todo_lpop " +
				"todo_lpush todo_rpeek todo_rpop todo_rpush update_step update_steps update_task",
		},
	} {
		tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "For " + c.agent, "owner": c.agent})
		s.runsEnded(tk.ID, 1)
		for _, r := range m.Turns() {
			if _, n := findPrompt(r); r.System == c.system && n == 1 {
				if got := strings.Join(slices.Sorted(slices.Values(r.Tools)), " "); got != c.want {
					t.Errorf("%s got the tools\n%s\nwant\n%s", c.agent, got, c.want)
				}
			}
		}
		if c.agent == "planner" {
			tk = call[task.Task](t, person, "GET", "/api/tasks/"+tk.ID.String(), nil)
			if tk.Status != task.Done || tk.Summary != "Planned." || len(tk.Steps) != 3 || !tk.Steps[0].Done || len(tk.Resources) != 1 {
				t.Errorf("without a taskId, its calls changed another task: %s", asJSON(tk))
			}
		}
	}
	if got := s.rows("SELECT count(*) FROM todos")[0]; got != "1" {
		t.Errorf("got %s todo items", got)
	}
}
