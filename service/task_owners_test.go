package service

import (
	"path/filepath"
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// unchanged checks that act writes nothing and uses no ID.
func (inst *instance) unchanged(t *testing.T, act func()) {
	t.Helper()
	before := inst.create(maya, "coder", noStart)
	last := inst.lastEvent()
	act()
	equal(t, "last event", inst.lastEvent(), last)
	after := inst.create(maya, "coder", noStart)
	equal(t, "next ID", after.ID, before.ID+1)
}

func TestOwnersAreKnownAgents(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart, steps("one"))
	must(inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Status: ptr("working")}))
	for _, owner := range []string{"zoe", "../coder", "Coder", "user:maya", " coder"} {
		for name, call := range map[string]func() error{
			"create": func() error {
				_, err := inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: owner})
				return err
			},
			"create as a draft": func() error {
				_, err := inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: owner, Status: task.Draft})
				return err
			},
			"subtask": func() error {
				_, err := inst.s.CreateSubtask(inst.ctx(), maya, tk.ID, 0, task.New{Title: "x", Owner: owner})
				return err
			},
			"owner change": func() error {
				_, err := inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Owner: &owner, Title: ptr("not written")})
				return err
			},
			"move": func() error {
				_, err := inst.s.MoveTask(inst.ctx(), maya, Move{TaskID: tk.ID, CurrentAgent: "coder", NewAgent: owner, Comment: "please"})
				return err
			},
			"reassign": func() error {
				_, err := inst.s.Reassign(inst.ctx(), maya, "coder", []task.ID{tk.ID}, owner, "please")
				return err
			},
		} {
			t.Run(name+" with the owner "+owner+" writes nothing and uses no ID", func(t *testing.T) {
				inst.unchanged(t, func() {
					refused(t, call(), task.CodeUnknownAgent, "unknown agent: "+owner, "known agents:", "coder, ", "reviewer")
				})
				equal(t, "owner", inst.task(tk.ID).Owner, "coder")
				equal(t, "title", inst.task(tk.ID).Title, tk.Title)
			})
		}
	}
}

func TestAnInvalidAgentOwnsOnlyDrafts(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	t.Run("a draft is accepted", func(t *testing.T) { inst.create(maya, "bad", draft) })
	t.Run("an active task is refused", func(t *testing.T) {
		inst.unchanged(t, func() {
			_, err := inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: "bad"})
			refused(t, err, task.CodeInvalidAgent, "bad", "drafts only")
		})
	})
	t.Run("its draft cannot be started", func(t *testing.T) {
		tk := inst.create(maya, "bad", draft)
		inst.unchanged(t, func() {
			_, err := inst.patchStatus(tk.ID, "active")
			refused(t, err, task.CodeInvalidAgent, "bad")
		})
		equal(t, "status", inst.task(tk.ID).Status, task.Draft)
	})
	t.Run("an active task cannot move to it", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart)
		_, err := inst.s.Reassign(inst.ctx(), maya, "coder", []task.ID{tk.ID}, "bad", "x")
		refused(t, err, task.CodeInvalidAgent)
		_, err = inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Owner: ptr("bad")})
		refused(t, err, task.CodeInvalidAgent)
	})
	t.Run("a draft may be given to it", func(t *testing.T) {
		tk := inst.create(maya, "coder", draft)
		tk = must(inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Owner: ptr("bad")}))
		equal(t, "owner", tk.Owner, "bad")
	})
	t.Run("a definition that becomes invalid stays in use in its last valid version", func(t *testing.T) {
		inst.define("coder", "---\nname: coder\n---\nbroken\n")
		inst.create(maya, "coder", noStart)
	})
}

func TestRefusedFieldsWriteNothing(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	long := make([]byte, task.MaxText+1)
	for i := range long {
		long[i] = 'a'
	}
	many := make([]task.Step, task.MaxSteps+1)
	for i := range many {
		many[i].Title = "s"
	}
	files := make([]task.Resource, task.MaxResources+1)
	for i := range files {
		files[i] = task.Resource{Type: "file", Value: "/a"}
	}
	runes := func(n int) string {
		s := make([]rune, n)
		for i := range s {
			s[i] = 'ß'
		}
		return string(s)
	}
	good := task.New{Title: "x", Owner: "coder", NoStart: true}
	for name, c := range map[string]struct {
		field string
		set   func(*task.New)
	}{
		"a blank title":             {"title", func(in *task.New) { in.Title = "  " }},
		"a title of 201 characters": {"title", func(in *task.New) { in.Title = runes(201) }},
		"a title with a NUL":        {"title", func(in *task.New) { in.Title = "a\x00b" }},
		"a title that is not UTF-8": {"title", func(in *task.New) { in.Title = "a\xffb" }},
		"a description over 64 KiB": {"description", func(in *task.New) { in.Description = string(long) }},
		"201 steps":                 {"steps", func(in *task.New) { in.Steps = many }},
		"a step of 61 characters":   {"steps[0].title", func(in *task.New) { in.Steps = []task.Step{{Title: runes(61)}} }},
		"a step with a taskId":      {"steps[0].taskId", func(in *task.New) { in.Steps = []task.Step{{Title: "s", TaskID: 1}} }},
		"101 resources":             {"resources", func(in *task.New) { in.Resources = files }},
		"a javascript URL": {
			"resources[0].value",
			func(in *task.New) { in.Resources = []task.Resource{{Type: "url", Value: "javascript:x"}} },
		},
		"a relative file": {
			"resources[0].value",
			func(in *task.New) { in.Resources = []task.Resource{{Type: "file", Value: "a/b"}} },
		},
		"a resource of another type": {"resources[0].type", func(in *task.New) { in.Resources = []task.Resource{{Type: "dir", Value: "/a"}} }},
		"a priority out of bounds":   {"priority", func(in *task.New) { in.Priority = task.MaxPriority + 1 }},
		"a task created as done":     {"status", func(in *task.New) { in.Status = task.Done }},
		"no owner":                   {"owner", func(in *task.New) { in.Owner = "" }},
	} {
		t.Run(name+" is refused with its field", func(t *testing.T) {
			in := good
			c.set(&in)
			inst.unchanged(t, func() {
				_, err := inst.s.CreateTask(inst.ctx(), maya, in)
				refused(t, err, task.CodeInvalidField, c.field)
			})
		})
	}
	t.Run("a title may have 200 two-byte characters, a step 60", func(t *testing.T) {
		inst.create(maya, "coder", noStart, title(runes(200)), steps(runes(60)))
	})
	t.Run("all invalid fields are reported at once", func(t *testing.T) {
		_, err := inst.s.CreateTask(inst.ctx(), maya, task.New{Owner: "coder", Priority: task.MaxPriority + 1, Steps: []task.Step{{}}})
		refused(t, err, task.CodeInvalidField, "title", "priority", "steps[0].title")
	})
}

func TestIDsAreNeverReused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "taskyard.db")
	inst := newInstance(t)
	var last task.ID
	for range 3 {
		inst.db = dbtest.Open(t, path, func(o *db.Options) { o.Now = inst.Now })
		inst.s = inst.service()
		first := inst.create(maya, "coder", noStart)
		equal(t, "first ID after the start", first.ID, last+1)
		second := inst.create(maya, "coder", noStart)
		equal(t, "second ID", second.ID, last+2)
		must(inst.s.CompleteTask(inst.ctx(), maya, first.ID, "", 0))
		must(inst.s.CancelTask(inst.ctx(), maya, second.ID, ""))
		last = second.ID
		ok(t, inst.db.Close())
	}
}

func ptr[T any](v T) *T { return &v }
