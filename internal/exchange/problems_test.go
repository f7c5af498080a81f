package exchange

import (
	"fmt"
	"strings"
	"testing"

	"taskyard/task"
)

const whole = `"owner":"coder","createdBy":"coder","createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:00:00Z"`

// one returns a tasks.json with tasks that have these members.
func one(tasks ...string) string {
	for i, k := range tasks {
		tasks[i] = "{" + whole + "," + k + "}"
	}
	return `{"tasks":[` + strings.Join(tasks, ",") + `],"nextId":9}`
}

func TestEveryProblemIsReportedWithItsPlace(t *testing.T) {
	t.Parallel()
	ok := `"id":"1","title":"a","status":"active"`
	tests := []struct{ name, tasks, history, where, what string }{
		{"not JSON", "hello", "", "tasks.json line 1", "is not JSON"},
		{"not JSON, on its line", "{\n\"tasks\": [\n{\"id\": }\n]}", "", "tasks.json line 3", "is not JSON"},
		{"truncated", `{"tasks":[{"id":"1"`, "", "tasks.json line 1", "unexpected EOF"},
		{"an empty file", "", "", "tasks.json line 1", "EOF"},
		{"not an object", "[]", "", "tasks.json", "one JSON object"},
		{"no list", `{"nextId":3}`, "", "tasks.json", `no list "tasks"`},
		{"more after the end", one(ok) + "{}", "", "tasks.json line 1", "after its end"},
		{"a duplicate name", one(ok + `,"title":"b"`), "", "tasks.json line 1", "duplicate"},
		{"invalid UTF-8", one(`"id":"1","status":"active","title":"` + "\xff" + `"`), "", "tasks.json line 1", "UTF-8"},
		{"an invalid counter", `{"tasks":[],"nextId":-3}`, "", "tasks.json: nextId", "positive whole number"},
		{"a task that is not an object", `{"tasks":[7],"nextId":3}`, "", "tasks.json: tasks[0]", "must be a JSON object, not a number"},
		{"a title that is a number", one(`"id":"1","title":7,"status":"active"`), "", "tasks.json: tasks[0].title", "must be text, not a number"},
		{
			"done that is text", one(ok + `,"steps":[{"title":"a","done":"yes"}]`), "",
			"tasks.json: tasks[0].steps[0].done", "must be true or false",
		},
		{"steps that are text", one(ok + `,"steps":"a"`), "", "tasks.json: tasks[0].steps", "must be a list"},
		{"a fractional priority", one(ok + `,"priority":1.5`), "", "tasks.json: tasks[0].priority", "whole number"},
		{"a priority out of bounds", one(ok + `,"priority":10000000`), "", "tasks.json: tasks[0].priority", "between"},
		{"an invalid ID", one(`"id":"5a","title":"a","status":"active"`), "", "tasks.json: tasks[0].id", "positive whole number"},
		{
			"an id that is too large", one(`"id":"9223372036854775807","title":"a","status":"active"`),
			"", "tasks.json: tasks[0].id", "positive whole number",
		},
		{
			"an invalid time", `{"tasks":[{"id":"1","title":"a","owner":"c","status":"active","createdAt":"yesterday"}]}`,
			"", "tasks.json: tasks[0].createdAt", "must be a time",
		},
		{
			"a time that is too early", `{"tasks":[{"id":"1","title":"a","owner":"c","status":"active","createdAt":"0001-01-01T00:00:00Z"}]}`,
			"", "tasks.json: tasks[0].createdAt", "between 1971",
		},
		{
			"an invalid status", one(`"id":"1","title":"a","status":"paused"`), "",
			"tasks.json: tasks[0].status", "draft, active, done or canceled",
		},
		{"an archived task among the open tasks", one(`"id":"1","title":"a","status":"done"`), "", "tasks.json: tasks[0].status", "history.jsonl"},
		{"an open task in the history", one(), "{" + whole + "," + ok + "}", "history.jsonl line 1.status", "done or canceled"},
		{"a truncated line of the history", one(), "{" + whole + `,"id":"1","title":"a","status":"done"}` +
			"\n{\"id\":\"2\",\"ti", "history.jsonl line 2", "unexpected EOF"},
		{"two tasks on a line of the history", one(), `{"id":"1"}{"id":"2"}`, "history.jsonl line 1", "after its end"},
		{"a duplicate ID", one(ok, ok), "", "tasks.json: tasks[1].id", "tasks.json: tasks[0]"},
		{
			"a duplicate ID across files", one(ok), "{" + whole + `,"id":1,"title":"a","status":"done"}`,
			"history.jsonl line 1.id", "tasks.json: tasks[0]",
		},
		{
			"a step with a missing subtask", one(ok + `,"steps":[{"title":"a","done":false,"taskId":"7"}]`),
			"", "tasks.json: tasks[0].steps[0].taskId", `task "7"`,
		},
		{"a missing parent", one(ok + `,"parentTaskId":"7"`), "", "tasks.json: tasks[0].parentTaskId", `task "7"`},
		{"a missing blocker", one(ok + `,"blockedBy":["7"]`), "", "tasks.json: tasks[0].blockedBy[0]", `task "7"`},
		{"a task that blocks itself", one(ok + `,"blockedBy":["1"]`), "", "tasks.json: tasks[0].blockedBy[0]", "wait for itself"},
		{
			"a cycle of blockers", one(ok+`,"blockedBy":["2"]`, `"id":"2","title":"a","status":"active","blockedBy":["3"]`,
				`"id":"3","title":"a","status":"active","blockedBy":["1"]`),
			"", "tasks.json: tasks[2].blockedBy", "1 waits for 2 waits for 3 waits for 1",
		},
		{
			"a task that is its own ancestor", one(ok+`,"parentTaskId":"2"`, `"id":"2","title":"a","status":"active","parentTaskId":"1"`),
			"", "tasks.json: tasks[0].parentTaskId", "its own ancestor",
		},
		{
			"a subtask of two tasks", one(ok+`,"steps":[{"title":"a","taskId":"3"}]`,
				`"id":"2","title":"a","status":"active","steps":[{"title":"a","taskId":"3"}]`, `"id":"3","title":"a","status":"active"`),
			"", "tasks.json: tasks[1].steps[0].taskId", "subtask of",
		},
		{"two steps for one subtask", one(ok+`,"steps":[{"title":"a","taskId":"3"},{"title":"b","taskId":"3"}]`,
			`"id":"3","title":"a","status":"active"`), "", "tasks.json: tasks[0].steps[1].taskId", "one step a subtask"},
		{"a blank title", one(`"id":"1","title":" ","status":"active"`), "", "tasks.json: tasks[0].title", "blank"},
		{"a title with NUL", one(`"id":"1","title":"a\u0000b","status":"active"`), "", "tasks.json: tasks[0].title", "NUL"},
		{
			"a description that is too long", one(ok + `,"description":"` + strings.Repeat("x", task.MaxText+1) + `"`),
			"", "tasks.json: tasks[0].description", "65536 bytes",
		},
		{
			"a comment that is too long", one(ok + `,"comments":[{"author":"coder","content":"` + strings.Repeat("x", task.MaxText+1) + `"}]`),
			"", "tasks.json: tasks[0].comments[0].content", "65536 bytes",
		},
		{
			"an invalid kind of comment", one(ok + `,"comments":[{"author":"coder","content":"x","kind":"run"}]`),
			"", "tasks.json: tasks[0].comments[0].kind", "must be comment",
		},
		{"a comment without an author", one(ok + `,"comments":[{"content":"x"}]`), "", "tasks.json: tasks[0].comments[0].author", "blank"},
		{
			"too many steps", one(ok + `,"steps":[` + strings.Repeat(`{"title":"a"},`, task.MaxSteps) + `{"title":"a"}]`),
			"", "tasks.json: tasks[0].steps", "at most 200",
		},
		{
			"a resource that is not a link", one(ok + `,"resources":[{"type":"url","value":"javascript:x"}]`),
			"", "tasks.json: tasks[0].resources[0].value", "http",
		},
		{"a label with a space", one(ok + `,"labels":["a b"]`), "", "tasks.json: tasks[0].labels[0]", "a-z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Taskyard(Source{"tasks.json", []byte(tt.tasks)}, &Source{"history.jsonl", []byte(tt.history)}, nil)
			wantProblem(t, p, tt.where, tt.what)
		})
	}
}

func wantProblem(t *testing.T, p *Plan, where, what string) {
	t.Helper()
	for _, f := range p.Report.Problems {
		if f.Field == where && strings.Contains(f.Message, what) {
			return
		}
	}
	t.Errorf("got %v, want %s: …%s…", p.Report.Problems, where, what)
}

func TestProblemsOfOtherFormats(t *testing.T) {
	t.Parallel()
	front := func(s string) []Source { return []Source{{"tasks/a.md", []byte(s)}} }
	bead := func(s string) *Plan { return Beads(Source{"issues.jsonl", []byte(s)}) }
	master := func(s string) *Plan { return TaskMaster(Source{"tasks.json", []byte(s)}) }
	tests := []struct {
		name        string
		p           *Plan
		where, what string
	}{
		{"a bead without an ID", bead(`{"title":"a"}`), "issues.jsonl line 1.id", "missing"},
		{"a bead that is not an object", bead(`[]`), "issues.jsonl line 1", "must be a JSON object"},
		{
			"beads that block each other", bead(`{"id":"a","title":"a","dependencies":[{"depends_on_id":"b","type":"blocks"}]}` +
				"\n" + `{"id":"b","title":"b","dependencies":[{"depends_on_id":"a","type":"blocks"}]}`),
			"issues.jsonl line 2.blockedBy", "a waits for b waits for a",
		},
		{"a bead without a title", bead(`{"id":"a"}`), "issues.jsonl line 1.title", "blank"},
		{"the database instead of its export", bead("SQLite format 3\x00"), "issues.jsonl line 1", "must be a JSON object"},
		{"a Task Master file that is not JSON", master("x"), "tasks.json", "must be a JSON object"},
		{"a tag that is a list", master(`{"master":[]}`), `tasks.json: "master"`, "must be a JSON object, not a list"},
		{"a task without an ID", master(`{"tasks":[{"title":"a"}]}`), "tasks.json.tasks[0].id", "missing"},
		{"a Markdown task without front matter", Backlog(front("hello")), "tasks/a.md", "front matter"},
		{"front matter that is not closed", Backlog(front("---\nid: a\n")), "tasks/a.md", "front matter"},
		{"front matter that is not YAML", Backlog(front("---\nid: [a\n---\n")), "tasks/a.md", "is broken (line 2)"},
		{"front matter with an anchor", Backlog(front("---\na: &a [x]\nlabels: *a\n---\n")), "tasks/a.md.labels[0]", "one value"},
		{"a duplicate key", Backlog(front("---\nid: a\nid: b\n---\n")), "tasks/a.md.id", "appears twice"},
		{"front matter that is too long", Backlog(front("---\nid: " + strings.Repeat("a", 40000) + "\n---\n")), "tasks/a.md", "32 KiB"},
		{"no id", Backlog(front("---\ntitle: a\n---\n")), "tasks/a.md.id", "missing"},
		{"a title that is a list", Backlog(front("---\nid: a\ntitle: [a, b]\n---\n")), "tasks/a.md.title", "one value"},
		{"an invalid date", Backlog(front("---\nid: a\ntitle: a\ncreated_date: soon\n---\n")), "tasks/a.md.created_date", "must be a time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wantProblem(t, tt.p, tt.where, tt.what) })
	}
}

func TestBlockersAreBounded(t *testing.T) {
	t.Parallel()
	var tasks []string
	var refs []string
	for i := range task.MaxBlocks + 2 {
		tasks = append(tasks, fmt.Sprintf(`"id":%d,"title":"a","status":"active","blockedBy":[1]`, i+2))
		refs = append(refs, fmt.Sprint(i+2))
	}
	tasks = append(tasks, `"id":1,"title":"a","status":"active"`, `"id":9999,"title":"a","status":"active","blockedBy":[`+
		strings.Join(refs[:task.MaxBlockers+1], ",")+`]`)
	p := Taskyard(Source{"tasks.json", []byte(one(tasks...))}, nil, nil)
	wantProblem(t, p, "tasks.json: tasks[500].blockedBy", "500 open tasks wait for task \"1\"")
	wantProblem(t, p, "tasks.json: tasks[503].blockedBy", "at most 100 tasks, not 101")
	same(t, "problems", len(p.Report.Problems), 2)
}

func TestArchivedTasksAreNotBlocked(t *testing.T) {
	t.Parallel()
	p := Taskyard(Source{"tasks.json", []byte(one(`"id":"1","title":"a","status":"active","blockedBy":["2"]`))},
		&Source{"history.jsonl", []byte(`{` + whole + `,"id":"2","title":"a","status":"canceled","blockedBy":["1"]}`)}, nil)
	same(t, "problems", fmt.Sprint(p.Report.Problems), "[]")
}

func TestTodoListsAreChecked(t *testing.T) {
	t.Parallel()
	read := func(s string) *Plan {
		return Taskyard(Source{"tasks.json", []byte(one())}, nil, &Source{"todos.json", []byte(s)})
	}
	p := read(`{"coder":["a","b",""],"../x":["a"],"other":[7]}`)
	wantProblem(t, p, "todos.json.coder[2]", "1 to 4096")
	wantProblem(t, p, `todos.json."../x"`, "not the name of an agent")
	wantProblem(t, p, "todos.json.other[0]", "must be text")
	wantProblem(t, read(`{"coder":["`+strings.Repeat("é", 4097)+`"]}`), "todos.json.coder[0]", "1 to 4096")
	p = read(`{"coder":["` + strings.Repeat("é", 4096) + `"]}`)
	same(t, "problems", fmt.Sprint(p.Report.Problems), "[]")
}

func TestLongTitlesAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("many words ", 40)
	p := Taskyard(Source{"tasks.json", []byte(one(`"id":"1","title":"` + long + `","status":"active"`))}, nil, nil)
	same(t, "problems", fmt.Sprint(p.Report.Problems), "[]")
	tk := p.Item("1").Task
	same(t, "characters", len([]rune(tk.Title)) <= task.MaxTitle, true)
	same(t, "nothing is lost", tk.Description, long)
	same(t, "notes", len(p.Report.Notes), 1)
}

func TestProblemsBeyondTheListAreCounted(t *testing.T) {
	t.Parallel()
	checks := `"checks":[` + strings.TrimSuffix(strings.Repeat(`{"name":"a b","timeoutSeconds":-1,"kind":"url"},`, task.MaxChecks), ",") + "]"
	const wrong = 2 * task.MaxChecks // the name and the timeout of each
	ofTask := Taskyard(Source{"tasks.json", []byte(one(`"id":"1","title":"a","status":"active",` + checks))}, nil, nil)
	ofProject := Taskyard(Source{"tasks.json", []byte(one())}, nil, nil)
	ofProject.ReadProjects(Source{"projects.json", []byte(`{"projects":[{"key":"web","name":"Web",` + checks + `}]}`)})
	for name, p := range map[string]*Plan{"of a task": ofTask, "of a project": ofProject} {
		if got := len(p.Report.Problems) + p.Report.More; got != wrong {
			t.Errorf("%s: got %d problems, want %d: %+v", name, got, wrong, p.Report.Problems)
		}
	}
}
