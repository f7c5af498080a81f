package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"taskyard/task"
)

// paper is a fake server: it answers the agent's calls as the server does, and
// records each call.
type paper struct {
	t     *testing.T
	tasks map[string]*task.Task
	acts  []string
	deny  string // a call that is refused
}

func (p *paper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/api/tasks/"), "/", 2)
	tk := p.tasks[parts[0]]
	act := r.Method
	if len(parts) == 2 {
		act += " " + parts[1]
	}
	p.acts = append(p.acts, act)
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("Authorization") != "Bearer ty_run" || tk == nil || act == p.deny {
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"status":409,"code":"run_ended","detail":"not any more"}`)
		return
	}
	var in struct {
		Steps      []task.Step `json:"steps"`
		Done       bool        `json:"done"`
		Title      string      `json:"title"`
		Owner      string      `json:"owner"`
		Summary    string      `json:"summary"`
		NewAgent   string      `json:"newAgent"`
		Current    string      `json:"currentAgent"`
		Comment    string      `json:"comment"`
		Message    string      `json:"message"`
		NeedsReply bool        `json:"needsReply"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in) // GET requests have no body
	var answer any = tk
	switch words := strings.Split(act, "/"); {
	case act == "PUT steps":
		tk.Steps = in.Steps
	case words[0] == "PATCH steps":
		i, err := strconv.Atoi(words[1])
		if err != nil || i >= len(tk.Steps) {
			p.t.Errorf("no step %q", act)
			return
		}
		tk.Steps[i].Done = in.Done
	case strings.HasSuffix(act, "/subtask"):
		tk.Steps[1].TaskID = 50
		p.tasks["50"] = newTask(50, in.Title, in.Owner)
		answer = p.tasks["50"]
	case act == "POST complete":
		tk.Status, tk.Summary = task.Done, in.Summary
	case act == "POST move":
		if in.Current != tk.Owner || in.Comment == "" {
			p.t.Errorf("moved by %q with %q", in.Current, in.Comment)
		}
		tk.Owner = in.NewAgent
		answer = map[string]any{"task": tk}
	case act == "POST notify":
		if !in.NeedsReply || in.Message == "" {
			p.t.Errorf("notify with %+v", in)
		}
		answer = map[string]any{"id": "1", "content": in.Message}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		p.t.Error(err)
	}
}

func newTask(id task.ID, title, owner string) *task.Task {
	return &task.Task{
		ID: id, ThreadID: id, Title: title, Owner: owner, CreatedBy: "user:demo", Status: task.Active,
		Steps: []task.Step{}, Resources: []task.Resource{}, CreatedAt: 1, UpdatedAt: 1,
	}
}

// play runs the agent once on task 7 and returns its last output.
func (p *paper) play(agent string) (summary string, lines []map[string]any, err error) {
	p.t.Helper()
	web := httptest.NewServer(p)
	defer web.Close()
	vars := map[string]string{"TASKYARD_AGENT": agent, "TASKYARD_TASK_ID": "7", "TASKYARD_URL": web.URL, "TASKYARD_TOKEN": "ty_run"}
	var out, errs bytes.Buffer
	p.acts = nil
	err = DemoAgent(p.t.Context(), DemoOptions{
		Getenv: func(k string) string { return vars[k] }, Stdin: strings.NewReader("You are it.\n\n<Task>\nid: 7\n</Task>\n"),
		Stdout: &out, Stderr: &errs, Fast: true,
	})
	for text := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			p.t.Fatalf("line %q: %v", text, err)
		}
		lines = append(lines, line)
	}
	last := lines[len(lines)-1]
	if err == nil && last["success"] != true {
		p.t.Errorf("the last line is %v, want a result", last)
	}
	summary, _ = last["summary"].(string)
	return summary, lines, err
}

func newPaper(t *testing.T, title, owner string) *paper {
	return &paper{t: t, tasks: map[string]*task.Task{"7": newTask(7, title, owner)}}
}

func TestDemoAgents(t *testing.T) {
	t.Parallel()
	t.Run("the planner plans, delegates, and continues when the subtask is done", func(t *testing.T) {
		p := newPaper(t, "Ship the release notes", "planner")
		if _, _, err := p.play("planner"); err != nil {
			t.Fatal(err)
		}
		if want := []string{"GET", "PUT steps", "PATCH steps/0", "POST resources", "POST steps/1/subtask"}; !slices.Equal(p.acts, want) {
			t.Errorf("got the calls %v, want %v", p.acts, want)
		}
		summary, _, err := p.play("planner")
		if err != nil || !strings.Contains(summary, "Subtask #50 is active; waiting") || p.tasks["7"].Status != task.Active {
			t.Errorf("while the subtask is open: %q, %v", summary, err)
		}
		p.tasks["50"].Status = task.Done
		if _, _, err := p.play("planner"); err != nil || p.tasks["7"].Status != task.Done {
			t.Errorf("after the subtask: %s, %v", p.tasks["7"].Status, err)
		}
		if done, all := p.tasks["7"].DoneSteps(); done != all {
			t.Errorf("got %d of %d steps done", done, all)
		}
	})
	t.Run("the builder works through its own plan and completes", func(t *testing.T) {
		p := newPaper(t, "Fix the flaky claim test", "builder")
		summary, lines, err := p.play("builder")
		if err != nil || p.tasks["7"].Status != task.Done || p.tasks["7"].Summary != summary {
			t.Errorf("got %s, summary %q, %v", p.tasks["7"].Status, summary, err)
		}
		calls, results := 0, 0
		for _, l := range lines {
			switch l["type"] {
			case "tool_call":
				calls++
			case "tool_result":
				results++
			}
		}
		if calls != len(p.acts) || results != calls {
			t.Errorf("got %d calls and %d results for %d requests", calls, results, len(p.acts))
		}
	})
	t.Run("the builder continues where the last run ended", func(t *testing.T) {
		p := newPaper(t, "Fix it", "builder")
		p.tasks["7"].Steps = []task.Step{{Title: "One", Done: true}, {Title: "Two"}}
		if _, _, err := p.play("builder"); err != nil || !slices.Equal(p.acts, []string{"GET", "PATCH steps/1", "POST complete"}) {
			t.Errorf("got the calls %v, %v", p.acts, err)
		}
	})
	t.Run("a guide is handed to the reviewer, who finishes it", func(t *testing.T) {
		p := newPaper(t, "Write the backup guide", "builder")
		if _, _, err := p.play("builder"); err != nil || p.tasks["7"].Owner != "reviewer" || p.tasks["7"].Status != task.Active {
			t.Errorf("got owner %s, %s, %v", p.tasks["7"].Owner, p.tasks["7"].Status, err)
		}
		if _, _, err := p.play("reviewer"); err != nil || p.tasks["7"].Status != task.Done {
			t.Errorf("%s, %v", p.tasks["7"].Status, err)
		}
	})
	t.Run("the reviewer asks once, and finishes with the answer", func(t *testing.T) {
		p := newPaper(t, "Review the retry policy", "reviewer")
		if _, _, err := p.play("reviewer"); err != nil || !slices.Equal(p.acts, []string{"GET", "POST notify"}) {
			t.Errorf("got the calls %v, %v", p.acts, err)
		}
		p.tasks["7"].Comments = []task.Comment{{ID: 1, Author: "user:demo", Kind: task.KindAnswer, Content: "Five are fine.", CreatedAt: 1}}
		if summary, _, err := p.play("reviewer"); err != nil || !strings.HasSuffix(summary, "Five are fine.") ||
			p.tasks["7"].Status != task.Done {
			t.Errorf("%q, %s, %v", summary, p.tasks["7"].Status, err)
		}
	})
	t.Run("a refusal is in the transcript and fails the run", func(t *testing.T) {
		p := newPaper(t, "Fix it", "builder")
		p.deny = "PUT steps"
		_, lines, err := p.play("builder")
		last := lines[len(lines)-1]
		if err == nil || !strings.Contains(err.Error(), "run_ended") || last["type"] != "tool_result" ||
			!strings.Contains(fmt.Sprint(last["text"]), "not any more") {
			t.Errorf("%v, last line %v", err, last)
		}
	})
	t.Run("started by hand, it says that it must not be", func(t *testing.T) {
		err := DemoAgent(t.Context(), DemoOptions{
			Getenv: func(string) string { return "" },
			Stdin:  strings.NewReader("hello"), Stdout: &bytes.Buffer{},
		})
		if err == nil || !strings.Contains(err.Error(), "not by hand") {
			t.Errorf("%v", err)
		}
	})
}
