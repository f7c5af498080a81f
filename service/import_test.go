package service

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/internal/exchange"
	"taskyard/task"
)

// planFromFiles returns the plan for a tasks.json with these tasks, a history.jsonl
// and a todos.json.
func planFromFiles(tasks, history, todos string) *exchange.Plan {
	e := exported{tasks: `{"tasks":[` + tasks + `],"nextId":42}`, history: history, todos: todos}
	if todos == "" {
		e.todos = "{}"
	}
	return e.plan()
}

const (
	linked = `{"id":"3","title":"Above","owner":"planner","createdBy":"user:maya","status":"active","steps":[{"title":"a","done":true},{"title":"b","done":false,"taskId":"7"}],
 "createdAt":"2026-01-02T03:04:05.678Z","updatedAt":"2026-01-03T03:04:05.678Z"},
 {"id":"7","title":"Below","owner":"coder","createdBy":"planner","status":"active","blockedBy":["5","3"],"comments":[{"id":"9","author":"coder","content":"hello","createdAt":"2026-01-02T05:00:00Z"}]}`
	past = `{"id":"5","title":"Past","owner":"retired","createdBy":"retired","status":"done","summary":"Was good.","createdAt":"2025-01-02T03:04:05.678Z","updatedAt":"2025-01-03T03:04:05.678Z","archivedAt":"2025-01-04T03:04:05.678Z"}`
)

func TestImportIntoAnEmptyInstance(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes)
	got := inst.imported(planFromFiles(linked, past, ""), ImportOptions{})
	equal(t, "kept", got.KeptIDs, true)
	above, below, old := inst.task(3), inst.task(7), inst.task(5)
	t.Run("IDs, times, authors and links are kept", func(t *testing.T) {
		equal(t, "created", above.CreatedAt.String(), "2026-01-02T03:04:05.678Z")
		equal(t, "updated", above.UpdatedAt.String(), "2026-01-03T03:04:05.678Z")
		equal(t, "creator", below.CreatedBy, "planner")
		equal(t, "step", above.Steps[1].TaskID, below.ID)
		equal(t, "parent", below.ParentTaskID, above.ID)
		equal(t, "comment", fmt.Sprintln(below.Comments[0].ID, below.Comments[0].Content, below.Comments[0].CreatedAt),
			"9 hello 2026-01-02T05:00:00.000Z\n")
		equal(t, "archived", old.ArchivedAt.String(), "2025-01-04T03:04:05.678Z")
		equal(t, "summary", old.Summary, "Was good.")
	})
	t.Run("history keeps an owner that is no longer an agent", func(t *testing.T) {
		equal(t, "owner", old.Owner, "retired")
	})
	t.Run("no agent is woken, and the next tick runs active, unclaimed tasks", func(t *testing.T) {
		equal(t, "runs", len(inst.runs(3))+len(inst.runs(7)), 0)
		must(inst.s.Tick(inst.ctx(), "cron"))
		equal(t, "runs", len(inst.runs(3)), 1)
	})
	t.Run("a blocked task is not returned by a signup", func(t *testing.T) {
		if tk := inst.signup(coder); tk != nil {
			t.Errorf("got task %d", tk.ID)
		}
	})
	t.Run("IDs continue after the counter in the file", func(t *testing.T) {
		equal(t, "id", inst.create(maya, "coder", noStart).ID, 42)
	})
	t.Run("each task has a line in the log and can be found", func(t *testing.T) {
		equal(t, "events", inst.kinds(5)[0], task.EvTaskImported)
		ok(t, inst.s.Index(inst.ctx()))
		page := must(inst.s.History(inst.ctx(), maya, task.HistoryFilter{Query: "good", Limit: 5}))
		equal(t, "found", len(page.Tasks), 1)
	})
}

func TestImportIntoAnInstanceWithTasks(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	mine := inst.create(maya, "coder", noStart)
	got := inst.imported(planFromFiles(linked, past, ""), ImportOptions{})
	equal(t, "kept", got.KeptIDs, false)
	equal(t, "new IDs", fmt.Sprint(got.IDs), "[{3 2} {5 3} {7 4}]")
	equal(t, "untouched", inst.task(mine.ID).Title, mine.Title)
	above, below := inst.task(2), inst.task(4)
	equal(t, "step", above.Steps[1].TaskID, below.ID)
	equal(t, "parent", below.ParentTaskID, above.ID)
	equal(t, "history", inst.task(3).Status, task.Done)
	if e := inst.export(); !strings.Contains(e.tasks, `"blockedBy":["2","3"]`) {
		t.Errorf("got %s", e.tasks)
	}
	t.Run("its counter is not changed by the file", func(t *testing.T) {
		equal(t, "id", inst.create(maya, "coder", noStart).ID, 5)
	})
	t.Run("todo items are appended", func(t *testing.T) {
		inst.imported(planFromFiles("", "", `{"coder":["a"]}`), ImportOptions{})
		inst.imported(planFromFiles("", "", `{"coder":["b","c"]}`), ImportOptions{})
		equal(t, "todos", inst.export().todos, "{\n\"coder\":[\"a\",\"b\",\"c\"]}\n")
	})
}

func TestImportedTasksKeepTheirAgeInQueues(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	label := func(in *task.New) { in.Labels = []string{"api"} }
	mine := inst.create(maya, "coder", noStart, label)
	first := inst.create(maya, "coder", noStart, label, priority(1))
	const imported = `{"id":"%d","title":"A task that came","owner":"coder","createdBy":"user:maya","status":"active","labels":["api"],"createdAt":"%s"}`
	younger := mine.CreatedAt.Add(time.Hour).String()
	inst.imported(planFromFiles(fmt.Sprintf(imported+","+imported+","+imported, 7, younger, 8, "2020-01-02T00:00:00Z", 9,
		"2020-01-02T00:00:00Z"),
		"", ""), ImportOptions{})
	want := []task.ID{first.ID, 4, 5, mine.ID, 3}
	for what, f := range map[string]task.TaskFilter{
		"a queue": {Owner: "coder", Status: task.Active}, "all tasks": {}, "a label": {Label: "api"}, "words": {Query: "task"},
	} {
		var got []task.ID
		for f.Limit = 2; ; {
			p := must(inst.s.OpenTasks(inst.ctx(), maya, f))
			for _, tk := range p.Tasks {
				got = append(got, tk.ID)
			}
			if f.After = p.Next; f.After == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s in pages: got %v, want %v", what, got, want)
		}
	}
	for i, id := range want {
		p := must(inst.s.TaskPage(inst.ctx(), maya, id, time.UTC))
		equal(t, "place", p.Place, i+1)
		if i > 0 {
			equal(t, "before", p.Prev, want[i-1])
		}
		if i < len(want)-1 {
			equal(t, "after", p.Next, want[i+1])
		}
	}
	for _, id := range want {
		equal(t, "claimed", inst.signup(coder).ID, id)
	}
}

func TestImportedTodoLists(t *testing.T) {
	t.Parallel()
	t.Run("are bounded, and nothing is written beyond the limit", func(t *testing.T) {
		inst := newInstance(t, func(c *Config) { c.TodoLimit = 2 })
		inst.imported(planFromFiles("", "", `{"coder":["a"]}`), ImportOptions{})
		before := inst.export()
		r, err := inst.s.PrepareImport(maya, planFromFiles(linked, past, `{"coder":["b","c"]}`), ImportOptions{})
		ok(t, err)
		_, err = inst.s.Import(inst.ctx(), maya, r)
		refused(t, err, task.CodeQueueFull, "coder would hold 3")
		equal(t, "instance", inst.export(), before)
	})
	t.Run("of a mapped agent go to its target, of an unknown agent are kept for it", func(t *testing.T) {
		inst := newInstance(t)
		p := planFromFiles("", "", `{"old":["a"],"zoe":["b"]}`)
		inst.imported(p, ImportOptions{Map: map[string]string{"old": "coder"}})
		equal(t, "todos", inst.export().todos, "{\n\"coder\":[\"a\"],\n\"zoe\":[\"b\"]}\n")
		equal(t, "notes", len(p.Report.Notes), 1)
	})
}

func TestTheIDCounterIsKeptWithoutTasks(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.imported(planFromFiles("", "", ""), ImportOptions{})
	equal(t, "id", inst.create(maya, "coder", noStart).ID, 42)
}

func TestOwnersOfImportedTasks(t *testing.T) {
	t.Parallel()
	tasks := `{"id":"1","title":"a","owner":"zoe","createdBy":"zoe","status":"active","comments":[{"author":"zoe","content":"x"}]},{"id":"2","title":"a","owner":"yan","status":"draft"},{"id":"4","title":"b","owner":"yan","status":"active"},{"id":"6","title":"b","status":"active"}`
	t.Run("all unknown owners are named at once, with the fix", func(t *testing.T) {
		inst := newInstance(t)
		_, err := inst.s.PrepareImport(maya, planFromFiles(tasks, past, ""), ImportOptions{})
		e := refused(t, err, task.CodeInvalidField, `unknown agent "zoe", tasks: 1`,
			`unknown agent "yan", tasks: 2 (first: tasks.json: tasks[1])`, "tasks without one: 1",
			"--map 'zoe=AGENT'", "known agents: bad, code-focused, coder")
		equal(t, "problems", len(e.Fields), 3)
	})
	t.Run("names are mapped, in authors too, and the rest gets the given owner", func(t *testing.T) {
		inst := newInstance(t)
		inst.imported(planFromFiles(tasks, past, ""), ImportOptions{Owner: "reviewer", Map: map[string]string{"zoe": "coder"}})
		equal(t, "mapped", inst.task(1).Owner+inst.task(1).CreatedBy+inst.task(1).Comments[0].Author, "codercodercoder")
		equal(t, "named", inst.task(2).Owner+inst.task(4).Owner+inst.task(6).Owner, "reviewerreviewerreviewer")
		equal(t, "history", inst.task(5).Owner, "retired")
	})
	t.Run("agents in flags must exist", func(t *testing.T) {
		inst := newInstance(t)
		_, err := inst.s.PrepareImport(maya, planFromFiles(tasks, "", ""), ImportOptions{Owner: "nobody", Map: map[string]string{"zoe": "none"}})
		refused(t, err, task.CodeInvalidField, "--owner: unknown agent: nobody", "--map zoe: unknown agent: none")
	})
	t.Run("an agent with an invalid definition accepts only drafts", func(t *testing.T) {
		inst := newInstance(t)
		_, err := inst.s.PrepareImport(maya, planFromFiles(`{"id":"1","title":"a","owner":"bad","status":"active"},{"id":"2","title":"a","owner":"bad","status":"draft"}`, "", ""), ImportOptions{})
		e := refused(t, err, task.CodeInvalidField, "tasks.json: tasks[0].owner", "drafts only")
		equal(t, "problems", len(e.Fields), 1)
	})
}

func TestImportsThatWriteNothing(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	before := inst.export()
	quiet := func(t *testing.T) {
		t.Helper()
		equal(t, "log", inst.lastEvent(), 0)
		equal(t, "instance", inst.export(), before)
	}
	t.Run("a dry run", func(t *testing.T) {
		_, err := inst.s.PrepareImport(maya, planFromFiles(linked, past, `{"coder":["a"]}`), ImportOptions{})
		ok(t, err)
		quiet(t)
	})
	t.Run("an import with a problem", func(t *testing.T) {
		_, err := inst.s.PrepareImport(maya, planFromFiles(linked, "{", ""), ImportOptions{})
		refused(t, err, task.CodeInvalidField, "history.jsonl line 1: is not JSON")
		quiet(t)
	})
	t.Run("an import that fails midway", func(t *testing.T) {
		r, err := inst.s.PrepareImport(maya, planFromFiles(linked, past, ""), ImportOptions{})
		ok(t, err)
		r.plan.Items[2].Task.Summary = strings.Repeat("x", 1<<20) // refused by the schema, after all inserts
		if _, err := inst.s.Import(inst.ctx(), maya, r); err == nil || !strings.Contains(strings.ToLower(err.Error()), "check constraint") {
			t.Fatalf("got %v", err)
		}
		quiet(t)
		inst.checkIntegrity()
		inst.imported(planFromFiles(linked, past, ""), ImportOptions{})
	})
	t.Run("an import without permission", func(t *testing.T) {
		for _, a := range []task.Actor{oleg, rita, vera, coder} {
			_, err := inst.s.PrepareImport(a, planFromFiles("", "", ""), ImportOptions{})
			refused(t, err, task.CodeForbidden)
			_, err = inst.s.Import(inst.ctx(), a, &ReadyImport{planFromFiles("", "", "")})
			refused(t, err, task.CodeForbidden)
		}
	})
}

func TestImportedTasksOfAgentsNeedApproval(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes)
	inst.imported(planFromFiles(`{"id":"1","title":"by a person","owner":"coder","createdBy":"user:maya","status":"active"},
 {"id":"2","title":"by an agent","owner":"coder","createdBy":"planner","status":"active"},
 {"id":"4","title":"started by an agent","owner":"coder","createdBy":"user:maya","consent":"withheld","status":"active"}`, "", ""),
		ImportOptions{})
	for id, want := range map[task.ID]task.Phase{1: task.PhaseQueued, 2: task.PhaseApproval, 4: task.PhaseApproval} {
		run := must(inst.s.RunNow(inst.ctx(), maya, id))
		equal(t, "phase of task "+id.String(), run.Phase, want)
	}
}

func TestTasksOfOtherProgramsAreImported(t *testing.T) {
	t.Parallel()
	for _, from := range []string{exchange.FromBeads, exchange.FromTaskMaster, exchange.FromBacklog} {
		t.Run(from, func(t *testing.T) {
			read := func() *exchange.Plan {
				return must(exchange.Read(from, os.DirFS("../internal/exchange/testdata/"+from), ".", nil))
			}
			inst := newInstance(t)
			_, err := inst.s.PrepareImport(maya, read(), ImportOptions{})
			refused(t, err, task.CodeInvalidField, "--owner AGENT")
			equal(t, "written", inst.lastEvent(), 0)
			p := read()
			got := inst.imported(p, ImportOptions{Owner: "reviewer"})
			equal(t, "tasks", len(got.IDs), len(p.Items))
			equal(t, "kept", got.KeptIDs, false)
			before := task.Time(0)
			for id := task.ID(1); id <= task.ID(len(p.Items)); id++ {
				tk := inst.task(id)
				if tk.CreatedAt < before || tk.CreatedAt == 0 || tk.UpdatedAt == 0 {
					t.Errorf("task %d was created at %s, before a task with a lower ID", id, tk.CreatedAt)
				}
				before = tk.CreatedAt
			}
		})
	}
	t.Run("the only agent gets tasks without an owner", func(t *testing.T) {
		inst := newInstance(t)
		for _, a := range inst.s.agents.Agents() {
			if a.ID != "coder" {
				ok(t, os.Remove(inst.dir+"/"+a.ID+".md"))
			}
		}
		inst.s.agents.Reload()
		inst.imported(exchange.Beads(exchange.Source{Name: "issues.jsonl", Data: []byte(`{"id":"a","title":"t","created_by":"Coder"}`)}),
			ImportOptions{})
		equal(t, "owner", inst.task(1).Owner, "coder")
		equal(t, "creator, an agent found by its name", inst.task(1).CreatedBy, "coder")
	})
}
