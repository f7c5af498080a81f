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

// exported are the files of an export.
type exported struct {
	tasks, history, todos, projects string
	n                               Exported
}

func (y *instance) export() exported {
	y.t.Helper()
	var tasks, history, todos, projects bytes.Buffer
	n, err := y.s.Export(y.ctx(), maya, ExportTo{&tasks, &history, &todos, &projects})
	ok(y.t, err)
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

// imported writes a plan, which must have no problem.
func (y *instance) imported(p *exchange.Plan, opt ImportOptions) Imported {
	y.t.Helper()
	r, err := y.s.PrepareImport(maya, p, opt)
	if err != nil {
		y.t.Fatalf("%v: %v", err, p.Report.Problems)
	}
	got := must(y.s.Import(y.ctx(), maya, r))
	y.whole()
	return got
}

// whole checks all that the command check does.
func (y *instance) whole() {
	y.t.Helper()
	y.chain()
	ok(y.t, y.db.Read(y.ctx(), func(rx *db.Rx) error { return rx.CheckInvariants() }))
	if !dbtest.Postgres() {
		ok(y.t, db.CheckFileIntegrity(y.ctx(), y.db.Path()))
	}
}

// lived is an instance in which most things happened.
func lived(t *testing.T) *instance {
	y := newInstance(t)
	y.imported(planFromFiles(`{"id":"2","title":"Labelled","owner":"coder","status":"active","labels":["web","api"],"blockedBy":["5"]},
 {"id":"5","title":"First","owner":"coder","status":"active"}`, "", `{"coder":["one","two \"quoted\"\n"],"reviewer":["ü"]}`),
		ImportOptions{})
	parent := y.create(maya, "planner", steps("a", "b"), func(in *task.New) {
		in.Description = "<b>&\u2028 text"
		in.Resources = []task.Resource{{Type: "url", Value: "https://example.com/?a=1&b=2", Label: "Link"}, {Type: "file", Value: "/etc/hosts"}}
	})
	sub := y.subtask(planner, parent.ID, 1, "coder")
	y.subtask(maya, sub.ID, y.plan(sub.ID), "reviewer", draft)
	for i := range 250 {
		must(y.s.Comment(y.ctx(), oleg, sub.ID, fmt.Sprint("comment ", i)))
	}
	must(y.s.Ask(y.ctx(), coder, sub.ID, "Which one?", false))
	person := y.create(maya, "coder", draft)
	active := "active"
	must(y.s.UpdateTask(y.ctx(), coder, person.ID, task.Patch{Status: &active}))
	done := y.create(coder, "coder", steps("x"), priority(7))
	must(y.s.Comment(y.ctx(), coder, done.ID, "nearly"))
	y.Forward(1e9)
	must(y.s.CompleteTask(y.ctx(), maya, done.ID, "It works.", 0))
	y.Forward(1e9)
	gone := y.create(maya, "pull", steps("p"))
	y.subtask(maya, gone.ID, 0, "coder")
	must(y.s.CancelTask(y.ctx(), maya, gone.ID, "no"))
	return y
}

// plan gives a task one step and returns its index.
func (y *instance) plan(id task.ID) int {
	must(y.s.ReplaceSteps(y.ctx(), maya, id, []task.Step{{Title: "only"}}))
	return 0
}

func TestAnExportGoesIntoAnEmptyInstanceAndOutAgainUnchanged(t *testing.T) {
	t.Parallel()
	first := lived(t).export()
	y := newInstance(t)
	got := y.imported(first.plan(), ImportOptions{})
	second := y.export()
	equal(t, "ids are kept", got.Kept, true)
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
			t.Errorf("tasks.json lacks %s", words)
		}
	}
	t.Run("and its questions, gates and counters work on", func(t *testing.T) {
		sub := y.task(43)
		equal(t, "waits", sub.WaitingFor, task.WaitsUser)
		must(y.s.Reply(y.ctx(), maya, sub.ID, "That one"))
		next := y.create(maya, "coder")
		equal(t, "next id", next.ID, first.n.NextID)
		if _, err := y.s.UpdateTask(y.ctx(), maya, 46, task.Patch{Priority: new(int)}); !task.IsCode(err, task.CodeArchived) {
			t.Errorf("history was changed: %v", err)
		}
	})
}

func TestHistoryIsExportedOldestFirst(t *testing.T) {
	t.Parallel()
	y := lived(t)
	lines := strings.Split(strings.TrimSpace(y.export().history), "\n")
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
	y := lived(t)
	t.Run("for want of the right", func(t *testing.T) {
		_, err := y.s.Export(y.ctx(), oleg, ExportTo{io.Discard, io.Discard, io.Discard, io.Discard})
		refused(t, err, task.CodeForbidden)
	})
	t.Run("because the disk is full", func(t *testing.T) {
		for room := range 4 {
			to := []io.Writer{io.Discard, io.Discard, io.Discard, io.Discard}
			to[room] = fullDisk{}
			if _, err := y.s.Export(y.ctx(), maya, ExportTo{to[0], to[1], to[2], to[3]}); !errors.Is(err, errFullDisk) {
				t.Errorf("file %d: %v", room, err)
			}
		}
	})
	t.Run("because nobody waits any more", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := y.s.Export(ctx, maya, ExportTo{cancels{cancel}, io.Discard, io.Discard, io.Discard})
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
