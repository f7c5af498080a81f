package service

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"go.uber.org/goleak"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// Long sequences find more than many short ones; the command line may request more,
// for instance with -rapid.checks=1000. Passwords are cheap to hash.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "25", "rapid.steps": "60", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	argonParams = &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	goleak.VerifyTestMain(m)
}

// instance is a service with a real database and a real agents folder.
type instance struct {
	t   testing.TB
	s   *Service
	db  *db.DB
	dir string // of the agents
	*testkit.Clock
}

// The callers of the tests.
var (
	maya = task.Actor{Name: "user:maya", Role: task.RoleAdmin, UserID: 1}
	oleg = task.Actor{Name: "user:oleg", Role: task.RoleOperator, UserID: 2}
	rita = task.Actor{Name: "user:rita", Role: task.RoleReviewer, UserID: 3}
	vera = task.Actor{Name: "user:vera", Role: task.RoleViewer, UserID: 4}
	nina = task.Actor{Name: "user:nina", Role: task.RoleReviewer, UserID: 9}

	coder    = agentActor("coder")
	reviewer = agentActor("reviewer")
	planner  = agentActor("planner")
	pull     = agentActor("pull")
)

func agentActor(id string) task.Actor { return task.Actor{Name: id, Role: task.RoleAgent} }

var definitions = map[string]string{
	"coder":    definition("tools: read, edit", "runner: script"),
	"reviewer": definition("tools: read", "runner: script", "max_parallel: 2"),
	"planner":  definition("tools: read, task", "runner: script"),
	"pull":     definition("tools: read", "runner: none", "max_claims: 2"),
	"mute":     definition("tools: read", "runner: none", "capabilities: []"),
	"bad":      "---\nname: bad\n---\nno description, no tools\n",
}

func definition(lines ...string) string {
	return "---\ndescription: for tests\n" + strings.Join(lines, "\n") + "\n---\nDo what the task says.\n"
}

// newInstance returns an instance in which nothing runs by itself: wakes are disabled
// unless a test enables them.
func newInstance(t testing.TB, with ...func(*Config)) *instance {
	t.Helper()
	inst := &instance{t: t, Clock: testkit.NewClock(), dir: t.TempDir()}
	d := dbtest.New(t, func(o *db.Options) { o.Now = inst.Now })
	inst.db = d
	t.Cleanup(func() { everyChangeIsLogged(t, d) })
	testkit.WriteAgents(t, inst.dir, definitions)
	ok(t, inst.db.Write(inst.ctx(), func(tx *db.Tx) error {
		for _, name := range []string{"box", "other"} { // tokens 1 and 2, for the workers
			if _, err := tx.InsertToken(task.Token{Name: name, Scope: task.ScopeWorker, CreatedBy: maya.Name}, []byte(name)); err != nil {
				return err
			}
		}
		return nil
	}))
	inst.s = inst.service(with...)
	return inst
}

// voters adds maya, rita and nina as people whom policies can name.
func (inst *instance) voters() {
	inst.t.Helper()
	ok(inst.t, inst.db.Write(inst.ctx(), func(tx *db.Tx) error {
		for _, a := range []task.Actor{maya, rita, nina} {
			if _, err := tx.InsertUser(strings.TrimPrefix(a.Name, "user:"), a.Role, "none"); err != nil {
				return err
			}
		}
		return nil
	}))
}

// everyChangeIsLogged fails the test if an open task changed without a line in the
// log, which lists need in order to notice changes.
func everyChangeIsLogged(t testing.TB, d *db.DB) {
	var id task.ID
	err := dbtest.Raw(t, d).QueryRowContext(context.Background(), "SELECT id FROM tasks t WHERE archived_at IS NULL AND "+
		"NOT EXISTS (SELECT 1 FROM events WHERE task_id = t.id AND (at >= t.updated_at OR kind = 'task.imported'))").Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("task %d changed without an event (%v)", id, err)
	}
}

// service returns another service on the same database and folder.
func (inst *instance) service(with ...func(*Config)) *Service {
	inst.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	cfg := Config{
		Rules: testkit.Rules(), Now: inst.Now, Log: quiet, CheapPasswords: true,
		Backoff: func(n int) time.Duration { return 30 * time.Second << n },
	}
	for _, w := range with {
		w(&cfg)
	}
	return New(inst.db, testkit.OpenAgents(inst.t, inst.dir, nil), cfg)
}

func wakes(c *Config)     { c.Wakes = true }
func noApprove(c *Config) { c.Policy = task.ApproveNever }

// write writes a definition file.
func (inst *instance) write(id, text string) {
	inst.t.Helper()
	testkit.WriteAgents(inst.t, inst.dir, map[string]string{id: text})
}

func (inst *instance) define(id, text string) {
	inst.t.Helper()
	inst.write(id, text)
	inst.s.agents.Reload()
}

func (inst *instance) ctx() context.Context { return context.Background() }

// must returns the value of a call that must succeed. Like template.Must, it panics
// otherwise; testing then prints the test and the line.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// refused checks the code of an error and that its message contains words.
func refused(t testing.TB, err error, code task.Code, words ...string) *task.Error {
	t.Helper()
	var e *task.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want code %s", err, code)
	}
	if e.Code != code {
		t.Fatalf("got code %s (%s), want %s", e.Code, e.Message, code)
	}
	text := e.Message
	for _, f := range e.AllFields() {
		text += " " + f.Field + ": " + f.Message
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Fatalf("got message %q, want one that contains %q", text, w)
		}
	}
	return e
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// create creates a task by an actor for an owner.
func (inst *instance) create(a task.Actor, owner string, with ...func(*task.New)) *task.Task {
	inst.t.Helper()
	in := task.New{Title: "A task of " + owner, Owner: owner}
	for _, w := range with {
		w(&in)
	}
	return must(inst.s.CreateTask(inst.ctx(), a, in))
}

func draft(in *task.New)             { in.Status = task.Draft }
func noStart(in *task.New)           { in.NoStart = true }
func priority(n int) func(*task.New) { return func(in *task.New) { in.Priority = n } }
func title(s string) func(*task.New) { return func(in *task.New) { in.Title = s } }
func steps(s ...string) func(*task.New) {
	return func(in *task.New) {
		for _, title := range s {
			in.Steps = append(in.Steps, task.Step{Title: title})
		}
	}
}

func (inst *instance) subtask(a task.Actor, parent task.ID, at int, owner string, with ...func(*task.New)) *task.Task {
	inst.t.Helper()
	in := task.New{Title: "A part", Owner: owner}
	for _, w := range with {
		w(&in)
	}
	return must(inst.s.CreateSubtask(inst.ctx(), a, parent, at, in))
}

func (inst *instance) task(id task.ID) *task.Task {
	inst.t.Helper()
	return must(inst.s.Task(inst.ctx(), maya, id))
}

func (inst *instance) run(id task.ID) *task.Run {
	inst.t.Helper()
	return must(inst.s.Run(inst.ctx(), maya, id))
}

func (inst *instance) runs(id task.ID) []*task.Run {
	inst.t.Helper()
	return must(inst.s.Runs(inst.ctx(), maya, task.RunFilter{TaskID: id, Limit: 100}))
}

// openRun returns the task's waiting or running run, or nil.
func (inst *instance) openRun(id task.ID) *task.Run {
	inst.t.Helper()
	for _, r := range inst.runs(id) {
		if !r.Status.Final() {
			return r
		}
	}
	return nil
}

func (inst *instance) signup(a task.Actor) *task.Task {
	inst.t.Helper()
	list := must(inst.s.Signup(inst.ctx(), a, a.Name, 1))
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// start starts the next run, which must exist, and marks it as working.
func (inst *instance) start() *Start {
	inst.t.Helper()
	st, _, err := inst.s.NextRun(inst.ctx(), nil)
	ok(inst.t, err)
	if st == nil {
		inst.t.Fatal("no run started")
	}
	ok(inst.t, inst.s.RunWorking(inst.ctx(), st.Run.ID, st.Run.Lease, 1, "1", "boot"))
	return st
}

// runTask makes maya start a run of a task, which must be next, and marks it as working.
func (inst *instance) runTask(id task.ID) *Start {
	inst.t.Helper()
	r := must(inst.s.RunNow(inst.ctx(), maya, id))
	st := inst.start()
	equal(inst.t, "the run that starts", st.Run.ID, r.ID)
	return st
}

// nothingStarts checks that no run can be started now.
func (inst *instance) nothingStarts() {
	inst.t.Helper()
	st, _, err := inst.s.NextRun(inst.ctx(), nil)
	ok(inst.t, err)
	if st != nil {
		inst.t.Fatalf("got run %d of task %d, want none", st.Run.ID, st.Run.TaskID)
	}
}

func (inst *instance) finish(st *Start, f Finished) {
	inst.t.Helper()
	ok(inst.t, inst.s.FinishRun(inst.ctx(), st.Run.ID, st.Run.Lease, f))
}

func completed(summary string) Finished {
	return Finished{State: task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}, Summary: summary}
}

func failure(p task.Phase) Finished {
	return Finished{State: task.State{Status: task.RunFailed, Phase: p}, Reason: "it broke"}
}

// actor returns the caller with the token of a started run.
func (inst *instance) actor(st *Start) task.Actor {
	inst.t.Helper()
	return must(inst.s.Authenticate(inst.ctx(), st.Token, "127.0.0.1"))
}

// kinds returns the kinds of a task's events in order.
func (inst *instance) kinds(id task.ID) []string {
	inst.t.Helper()
	var out []string
	for _, e := range must(inst.s.Events(inst.ctx(), maya, task.EventFilter{TaskID: id, Limit: 500})) {
		out = append(out, e.Kind)
	}
	return out
}

// lastEvent returns the ID of the newest line. If it is unchanged, nothing was written.
func (inst *instance) lastEvent() task.ID {
	inst.t.Helper()
	return must(inst.s.LastEvent(inst.ctx()))
}

// checkChain checks the hash chain of the log.
func (inst *instance) checkChain() {
	inst.t.Helper()
	ok(inst.t, inst.db.Read(inst.ctx(), func(rx *db.Rx) error { _, err := rx.CheckChain(); return err }))
}
