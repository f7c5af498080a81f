package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/internal/exchange"
	"taskyard/task"
)

// exported contains the files of an export.
type exported struct {
	tasks, history, todos, projects string
	n                               Exported
}

func (inst *instance) export() exported {
	inst.t.Helper()
	var tasks, history, todos, projects bytes.Buffer
	n, err := inst.s.Export(inst.ctx(), maya, ExportTo{&tasks, &history, &todos, &projects})
	ok(inst.t, err)
	return exported{tasks.String(), history.String(), todos.String(), projects.String(), n}
}

func (e exported) plan() *exchange.Plan {
	src := func(name, s string) *exchange.Source { return &exchange.Source{Name: name, Data: []byte(s)} }
	p := exchange.Taskyard(*src("tasks.json", e.tasks), src("history.jsonl", e.history), src("todos.json", e.todos))
	if e.projects != "" {
		p.ReadProjects(*src("projects.json", e.projects))
	}
	return p
}

// imported imports a plan, which must have no problems.
func (inst *instance) imported(p *exchange.Plan, opt ImportOptions) Imported {
	inst.t.Helper()
	r, err := inst.s.PrepareImport(maya, p, opt)
	if err != nil {
		inst.t.Fatalf("%v: %v", err, p.Report.Problems)
	}
	got := must(inst.s.Import(inst.ctx(), maya, r))
	inst.checkIntegrity()
	return got
}

// checkIntegrity runs all checks of the command check.
func (inst *instance) checkIntegrity() {
	inst.t.Helper()
	inst.checkChain()
	ok(inst.t, inst.db.Read(inst.ctx(), func(rx *db.Rx) error { return rx.CheckInvariants() }))
	if !dbtest.Postgres() {
		ok(inst.t, db.CheckFileIntegrity(inst.ctx(), inst.db.Path()))
	}
}

// newUsedInstance returns an instance in which most things have happened.
func newUsedInstance(t *testing.T) *instance {
	inst := newInstance(t)
	inst.imported(planFromFiles(`{"id":"2","title":"Labelled","owner":"coder","status":"active","labels":["web","api"],"blockedBy":["5"]},
 {"id":"5","title":"First","owner":"coder","status":"active"}`, "", `{"coder":["one","two \"quoted\"\n"],"reviewer":["ü"]}`),
		ImportOptions{})
	parent := inst.create(maya, "planner", steps("a", "b"), func(in *task.New) {
		in.Description = "<b>&\u2028 text"
		in.Resources = []task.Resource{{Type: "url", Value: "https://example.com/?a=1&b=2", Label: "Link"}, {Type: "file", Value: "/etc/hosts"}}
	})
	sub := inst.subtask(planner, parent.ID, 1, "coder")
	inst.subtask(maya, sub.ID, inst.plan(sub.ID), "reviewer", draft)
	for i := range 250 {
		must(inst.s.Comment(inst.ctx(), oleg, sub.ID, fmt.Sprint("comment ", i)))
	}
	must(inst.s.Ask(inst.ctx(), coder, sub.ID, "Which one?", false))
	person := inst.create(maya, "coder", draft)
	active := "active"
	must(inst.s.UpdateTask(inst.ctx(), coder, person.ID, task.Patch{Status: &active}))
	done := inst.create(coder, "coder", steps("x"), priority(7))
	must(inst.s.Comment(inst.ctx(), coder, done.ID, "nearly"))
	inst.Forward(1e9)
	must(inst.s.CompleteTask(inst.ctx(), maya, done.ID, "It works.", 0))
	inst.Forward(1e9)
	gone := inst.create(maya, "pull", steps("p"))
	inst.subtask(maya, gone.ID, 0, "coder")
	must(inst.s.CancelTask(inst.ctx(), maya, gone.ID, "no"))
	return inst
}

// plan gives a task one step and returns its index.
func (inst *instance) plan(id task.ID) int {
	must(inst.s.ReplaceSteps(inst.ctx(), maya, id, []task.Step{{Title: "only"}}))
	return 0
}

func TestAnExportSurvivesARoundTrip(t *testing.T) {
	t.Parallel()
	first := newUsedInstance(t).export()
	inst := newInstance(t)
	got := inst.imported(first.plan(), ImportOptions{})
	second := inst.export()
	equal(t, "IDs are kept", got.KeptIDs, true)
	equal(t, "tasks.json", second.tasks, first.tasks)
	equal(t, "history.jsonl", second.history, first.history)
	equal(t, "todos.json", second.todos, first.todos)
	equal(t, "counts", second.n, first.n)
	equal(t, "open", first.n.Open, 6)
	equal(t, "archived", first.n.Archived, 3)
	for _, words := range []string{
		`"labels":["api","web"]`, `"blockedBy":["5"]`, `"waitingFor":"user"`,
		`"consent":"withheld"`, `"content":"comment 249"`, "<b>&",
	} {
		if !strings.Contains(first.tasks, words) {
			t.Errorf("tasks.json does not contain %s", words)
		}
	}
	t.Run("its questions, gates and counters keep working", func(t *testing.T) {
		sub := inst.task(43)
		equal(t, "waits", sub.WaitingFor, task.WaitsUser)
		must(inst.s.Reply(inst.ctx(), maya, sub.ID, "That one"))
		next := inst.create(maya, "coder")
		equal(t, "next ID", next.ID, first.n.NextID)
		if _, err := inst.s.UpdateTask(inst.ctx(), maya, 46, task.Patch{Priority: new(int)}); !task.IsCode(err, task.CodeArchived) {
			t.Errorf("history was changed: %v", err)
		}
	})
}

func TestHistoryIsExportedOldestFirst(t *testing.T) {
	t.Parallel()
	inst := newUsedInstance(t)
	lines := strings.Split(strings.TrimSpace(inst.export().history), "\n")
	equal(t, "lines", len(lines), 3)
	if !strings.Contains(lines[0], `"summary":"It works."`) || !strings.Contains(lines[0], `"content":"nearly"`) ||
		!strings.Contains(lines[2], `"status":"canceled"`) {
		t.Errorf("got %s", lines)
	}
}

func TestAnEmptyInstanceIsExported(t *testing.T) {
	t.Parallel()
	e := newInstance(t).export()
	equal(t, "tasks.json", e.tasks, "{\"tasks\":[\n],\"nextId\":1}\n")
	equal(t, "history.jsonl", e.history, "")
	equal(t, "todos.json", e.todos, "{}\n")
	equal(t, "problems", len(e.plan().Report.Problems), 0)
}

func TestExportsThatFail(t *testing.T) {
	t.Parallel()
	inst := newUsedInstance(t)
	t.Run("without permission", func(t *testing.T) {
		_, err := inst.s.Export(inst.ctx(), oleg, ExportTo{io.Discard, io.Discard, io.Discard, io.Discard})
		refused(t, err, task.CodeForbidden)
	})
	t.Run("on a full disk", func(t *testing.T) {
		for room := range 4 {
			to := []io.Writer{io.Discard, io.Discard, io.Discard, io.Discard}
			to[room] = fullDisk{}
			if _, err := inst.s.Export(inst.ctx(), maya, ExportTo{to[0], to[1], to[2], to[3]}); !errors.Is(err, errFullDisk) {
				t.Errorf("file %d: got %v", room, err)
			}
		}
	})
	t.Run("after the caller disconnected", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := inst.s.Export(ctx, maya, ExportTo{cancels{cancel}, io.Discard, io.Discard, io.Discard})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

var errFullDisk = errors.New("the disk is full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFullDisk }

type cancels struct{ cancel func() }

func (c cancels) Write(b []byte) (int, error) { c.cancel(); return len(b), nil }
