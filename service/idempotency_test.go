package service

import (
	"context"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/task"
)

func (y *instance) keyed(caller, key, request string) (context.Context, *Idempotency) {
	i := &Idempotency{Caller: caller, Key: key, Request: []byte(request)}
	return WithIdempotency(y.ctx(), i), i
}

func TestIdempotency(t *testing.T) {
	y := newInstance(t, wakes)
	in := task.New{Title: "Once", Owner: "coder", Steps: []task.Step{{Title: "a"}}}
	ctx, _ := y.keyed("user:maya", "k1", "create")
	first := must(y.s.CreateTask(ctx, maya, in))
	last := y.lastEvent()
	t.Run("a repeat gets the same answer and has no second effect", func(t *testing.T) {
		ctx, i := y.keyed("user:maya", "k1", "create")
		again := must(y.s.CreateTask(ctx, maya, in))
		equal(t, "replayed", i.Replayed, true)
		equal(t, "id", again.ID, first.ID)
		equal(t, "steps", again.Steps[0].Title, "a")
		equal(t, "created at", again.CreatedAt, first.CreatedAt)
		equal(t, "last event", y.lastEvent(), last)
	})
	t.Run("also when the task changed meanwhile", func(t *testing.T) {
		must(y.s.UpdateTask(y.ctx(), maya, first.ID, task.Patch{Title: ptr("Changed")}))
		ctx, _ := y.keyed("user:maya", "k1", "create")
		equal(t, "title", must(y.s.CreateTask(ctx, maya, in)).Title, "Once")
	})
	t.Run("another request under the key is refused", func(t *testing.T) {
		ctx, _ := y.keyed("user:maya", "k1", "another")
		_, err := y.s.CreateTask(ctx, maya, in)
		e := refused(t, err, task.CodeIdempotencyReuse)
		equal(t, "kind", e.Kind, task.Invalid)
	})
	t.Run("the key of another caller is another key", func(t *testing.T) {
		ctx, i := y.keyed("user:oleg", "k1", "create")
		other := must(y.s.CreateTask(ctx, oleg, in))
		equal(t, "replayed", i.Replayed, false)
		if other.ID == first.ID {
			t.Fatal("oleg got maya's task")
		}
	})
	t.Run("errors are not remembered", func(t *testing.T) {
		tk := y.create(maya, "coder", draft)
		ctx, _ := y.keyed("user:maya", "k2", "complete")
		_, err := y.s.CompleteTask(ctx, maya, tk.ID, "", 0)
		refused(t, err, task.CodeTransition)
		must(y.patchStatus(tk.ID, "active"))
		ctx, i := y.keyed("user:maya", "k2", "complete")
		equal(t, "status", must(y.s.CompleteTask(ctx, maya, tk.ID, "", 0)).Status, task.Done)
		equal(t, "replayed", i.Replayed, false)
	})
	t.Run("an empty signup is an answer, too", func(t *testing.T) {
		ctx, _ := y.keyed("pull", "k3", "signup")
		equal(t, "tasks", len(must(y.s.Signup(ctx, pull, "pull", 1))), 0)
		y.create(maya, "pull")
		ctx, _ = y.keyed("pull", "k3", "signup")
		equal(t, "tasks", len(must(y.s.Signup(ctx, pull, "pull", 1))), 0)
	})
	t.Run("a day later the key is new", func(t *testing.T) {
		y.Forward(24 * time.Hour)
		ctx, i := y.keyed("user:maya", "k1", "create")
		later := must(y.s.CreateTask(ctx, maya, in))
		equal(t, "replayed", i.Replayed, false)
		if later.ID == first.ID {
			t.Fatal("the old answer was given")
		}
		ok(t, y.s.Sweep(y.ctx()))
	})
	t.Run("a token's secret is never remembered", func(t *testing.T) {
		ctx, _ := y.keyed("user:maya", "k4", "token")
		a := must(y.s.CreateToken(ctx, maya, NewToken{Name: "x", Scope: "read"}))
		ctx, _ = y.keyed("user:maya", "k4", "token")
		if b, err := y.s.CreateToken(ctx, maya, NewToken{Name: "x", Scope: "read"}); !task.IsCode(err, task.CodeNameTaken) ||
			b.Secret == a.Secret {
			t.Fatalf("asked again: %v", err)
		}
	})
}

// together has the writes of acts share one batch of the writer.
func (y *instance) together(acts ...func()) {
	y.t.Helper()
	entered, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- y.db.Write(y.ctx(), func(*db.Tx) error {
			close(entered)
			<-release
			return nil
		})
	}()
	<-entered
	over := make(chan struct{})
	for i, act := range acts {
		go func() { act(); over <- struct{}{} }()
		for deadline := time.Now().Add(10 * time.Second); y.db.Metrics().Queued <= i; {
			if time.Now().After(deadline) {
				y.t.Fatal("the write was not queued")
			}
		}
	}
	close(release)
	ok(y.t, <-done)
	for range acts {
		<-over
	}
}

func TestDeletingAnAgentInABatchThatBreaks(t *testing.T) {
	y := newInstance(t)
	var gone, broken error
	y.together(
		func() { gone = y.s.DeleteAgent(y.ctx(), maya, "reviewer") },
		func() {
			broken = y.db.Write(y.ctx(), func(tx *db.Tx) error {
				if err := tx.SetSetting("x", "y"); err != nil {
					return err
				}
				return task.Errorf(task.Conflict, task.CodeInternal, "after a write")
			})
		},
	)
	refused(t, broken, task.CodeInternal)
	ok(t, gone)
	equal(t, "known", y.s.KnowsAgent("reviewer"), false)
	e := last(must(y.s.Events(y.ctx(), maya, task.EventFilter{Limit: 10})))
	equal(t, "event", e.Kind, task.EvAgentDeleted)
}

func TestAnAgentWithOpenTasksStays(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder", draft)
	refused(t, y.s.DeleteAgent(y.ctx(), maya, "coder"), task.CodeAgentBusy, "1 open task")
	must(y.s.CancelTask(y.ctx(), maya, tk.ID, ""))
	ok(t, y.s.DeleteAgent(y.ctx(), maya, "coder"))
	refused(t, y.s.DeleteAgent(y.ctx(), maya, "coder"), task.CodeAgentNotFound)
}
