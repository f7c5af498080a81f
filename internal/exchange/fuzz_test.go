package exchange

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"taskyard/task"
)

// checkPlan checks what an import relies on: a plan without problems is consistent.
func checkPlan(t *testing.T, p *Plan) {
	t.Helper()
	if len(p.Report.Problems) > 0 {
		return
	}
	depth := map[string]int{}
	for _, item := range p.Items {
		if item.Ref == "" || p.Item(item.Ref) != item {
			t.Fatalf("%s has no unique ID", item.Where)
		}
		tk := item.Task
		var bad task.Problems
		bad.CheckLine("title", tk.Title, task.MaxTitle)
		bad.CheckText("description", tk.Description, task.MaxText)
		bad.CheckText("summary", tk.Summary, task.MaxText)
		bad.CheckSteps("steps", tk.Steps)
		bad.CheckResources("resources", tk.Resources)
		if err := bad.Err(); err != nil {
			t.Fatalf("%s: %v", item.Where, err)
		}
		if tk.Nesting > task.MaxNesting || tk.CreatedAt < 0 || tk.UpdatedAt < 0 || tk.ArchivedAt < 0 {
			t.Fatalf("%s: %+v", item.Where, tk)
		}
		for _, ref := range append([]string{item.Parent}, append(item.BlockedBy, item.Subtasks...)...) {
			if ref != "" && (p.Item(ref) == nil || ref == item.Ref) {
				t.Fatalf("%s refers to the missing task %q", item.Where, ref)
			}
		}
		for _, c := range tk.Comments {
			if !utf8.ValidString(c.Content) || c.Author == "" {
				t.Fatalf("%s: comment %+v", item.Where, c)
			}
		}
	}
	for _, item := range p.ParentsFirst() {
		if item.Parent != "" {
			up, ok := depth[item.Parent]
			if !ok || item.Task.Nesting != up+1 {
				t.Fatalf("%s does not come after its parent", item.Where)
			}
		}
		depth[item.Ref] = item.Task.Nesting
	}
}

func seed(f *testing.F, files ...string) {
	f.Helper()
	for _, pattern := range files {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			f.Fatalf("%s: %v", pattern, err)
		}
		for _, n := range names {
			b, err := os.ReadFile(n)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
}

func FuzzTasks(f *testing.F) {
	seed(f, "testdata/first/tasks.json")
	f.Add([]byte(one(`"id":"1","title":"a","status":"active","blockedBy":["1"],"comments":[{"id":1,"author":"a","content":"b"}]`)))
	f.Fuzz(func(t *testing.T, b []byte) { checkPlan(t, Taskyard(Source{"tasks.json", b}, nil, nil)) })
}

func FuzzHistory(f *testing.F) {
	seed(f, "testdata/first/history.jsonl")
	f.Fuzz(func(t *testing.T, b []byte) {
		checkPlan(t, Taskyard(Source{"tasks.json", []byte(one())}, &Source{"history.jsonl", b}, &Source{"todos.json", b}))
	})
}

func FuzzBeads(f *testing.F) {
	seed(f, "testdata/beads/.beads/*.jsonl")
	f.Fuzz(func(t *testing.T, b []byte) { checkPlan(t, Beads(Source{"issues.jsonl", b})) })
}

func FuzzTaskMaster(f *testing.F) {
	seed(f, "testdata/taskmaster/.taskmaster/tasks/*.json")
	f.Fuzz(func(t *testing.T, b []byte) { checkPlan(t, TaskMaster(Source{"tasks.json", b})) })
}

func FuzzBacklog(f *testing.F) {
	seed(f, "testdata/backlog/backlog/*/*.md", "testdata/backlog/backlog/archive/tasks/*.md")
	f.Fuzz(func(t *testing.T, b []byte) {
		checkPlan(t, Backlog([]Source{
			{"tasks/a.md", b},
			{"tasks/b.md", []byte("---\nid: b\ntitle: b\ndependencies: [a]\nparent_task_id: a\n---\n")},
		}))
	})
}
