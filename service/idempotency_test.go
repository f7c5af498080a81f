package service

import (
	"context"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/task"
)

func (inst *instance) keyed(caller, key, request string) (context.Context, *Idempotency) {
	i := &Idempotency{Caller: caller, Key: key, Request: []byte(request)}
	return WithIdempotency(inst.ctx(), i), i
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes)
	in := task.New{Title: "Once", Owner: "coder", Steps: []task.Step{{Title: "a"}}}
	ctx, _ := inst.keyed("user:maya", "k1", "create")
	first := must(inst.s.CreateTask(ctx, maya, in))
	last := inst.lastEvent()
	t.Run("a repeat gets the same response and has no second effect", func(t *testing.T) {
		ctx, i := inst.keyed("user:maya", "k1", "create")
		again := must(inst.s.CreateTask(ctx, maya, in))
		equal(t, "replayed", i.Replayed, true)
		equal(t, "id", again.ID, first.ID)
		equal(t, "steps", again.Steps[0].Title, "a")
		equal(t, "created at", again.CreatedAt, first.CreatedAt)
		equal(t, "last event", inst.lastEvent(), last)
	})
	t.Run("also if the task changed meanwhile", func(t *testing.T) {
		must(inst.s.UpdateTask(inst.ctx(), maya, first.ID, task.Patch{Title: ptr("Changed")}))
		ctx, _ := inst.keyed("user:maya", "k1", "create")
		equal(t, "title", must(inst.s.CreateTask(ctx, maya, in)).Title, "Once")
	})
	t.Run("another request with the key is refused", func(t *testing.T) {
		ctx, _ := inst.keyed("user:maya", "k1", "another")
		_, err := inst.s.CreateTask(ctx, maya, in)
		e := refused(t, err, task.CodeIdempotencyReuse)
		equal(t, "kind", e.Kind, task.Invalid)
	})
	t.Run("the same key of another caller is independent", func(t *testing.T) {
		ctx, i := inst.keyed("user:oleg", "k1", "create")
		other := must(inst.s.CreateTask(ctx, oleg, in))
		equal(t, "replayed", i.Replayed, false)
		if other.ID == first.ID {
			t.Fatal("oleg got maya's task")
		}
	})
	t.Run("errors are not stored", func(t *testing.T) {
		tk := inst.create(maya, "coder", draft)
		ctx, _ := inst.keyed("user:maya", "k2", "complete")
		_, err := inst.s.CompleteTask(ctx, maya, tk.ID, "", 0)
		refused(t, err, task.CodeTransition)
		must(inst.patchStatus(tk.ID, "active"))
		ctx, i := inst.keyed("user:maya", "k2", "complete")
		equal(t, "status", must(inst.s.CompleteTask(ctx, maya, tk.ID, "", 0)).Status, task.Done)
		equal(t, "replayed", i.Replayed, false)
	})
	t.Run("an empty signup is stored too", func(t *testing.T) {
		ctx, _ := inst.keyed("pull", "k3", "signup")
		equal(t, "tasks", len(must(inst.s.Signup(ctx, pull, "pull", 1))), 0)
		inst.create(maya, "pull")
		ctx, _ = inst.keyed("pull", "k3", "signup")
		equal(t, "tasks", len(must(inst.s.Signup(ctx, pull, "pull", 1))), 0)
	})
	t.Run("after a day the key can be used again", func(t *testing.T) {
		inst.Forward(24 * time.Hour)
		ctx, i := inst.keyed("user:maya", "k1", "create")
		later := must(inst.s.CreateTask(ctx, maya, in))
		equal(t, "replayed", i.Replayed, false)
		if later.ID == first.ID {
			t.Fatal("got the old response")
		}
		ok(t, inst.s.Sweep(inst.ctx()))
	})
	t.Run("a token's secret is never stored", func(t *testing.T) {
		ctx, _ := inst.keyed("user:maya", "k4", "token")
		a := must(inst.s.CreateToken(ctx, maya, NewToken{Name: "x", Scope: "read"}))
		ctx, _ = inst.keyed("user:maya", "k4", "token")
		if b, err := inst.s.CreateToken(ctx, maya, NewToken{Name: "x", Scope: "read"}); !task.IsCode(err, task.CodeNameTaken) ||
			b.Secret == a.Secret {
			t.Fatalf("repeat: got %v", err)
		}
	})
}

// together runs acts so that their writes share a batch.
func (inst *instance) together(acts ...func()) {
	inst.t.Helper()
	entered, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- inst.db.Write(inst.ctx(), func(*db.Tx) error {
			close(entered)
			<-release
			return nil
		})
	}()
	<-entered
	over := make(chan struct{})
	for i, act := range acts {
		go func() { act(); over <- struct{}{} }()
		for deadline := time.Now().Add(10 * time.Second); inst.db.Metrics().Queued <= i; {
			if time.Now().After(deadline) {
				inst.t.Fatal("the write was not queued")
			}
		}
	}
	close(release)
	ok(inst.t, <-done)
	for range acts {
		<-over
	}
}

func TestDeletingAnAgentInAFailedBatch(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	var gone, broken error
	inst.together(
		func() { gone = inst.s.DeleteAgent(inst.ctx(), maya, "reviewer") },
		func() {
			broken = inst.db.Write(inst.ctx(), func(tx *db.Tx) error {
				if err := tx.SetSetting("x", "y"); err != nil {
					return err
				}
				return task.Errorf(task.Conflict, task.CodeInternal, "after a write")
			})
		},
	)
	refused(t, broken, task.CodeInternal)
	ok(t, gone)
	equal(t, "known", inst.s.KnowsAgent("reviewer"), false)
	e := last(must(inst.s.Events(inst.ctx(), maya, task.EventFilter{Limit: 10})))
	equal(t, "event", e.Kind, task.EvAgentDeleted)
}

func TestAnAgentWithOpenTasksCannotBeDeleted(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", draft)
	refused(t, inst.s.DeleteAgent(inst.ctx(), maya, "coder"), task.CodeAgentBusy, "1 open task")
	must(inst.s.CancelTask(inst.ctx(), maya, tk.ID, ""))
	ok(t, inst.s.DeleteAgent(inst.ctx(), maya, "coder"))
	refused(t, inst.s.DeleteAgent(inst.ctx(), maya, "coder"), task.CodeAgentNotFound)
}
