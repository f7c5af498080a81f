package service

import (
	"context"
	"errors"
	"testing"

	"taskyard/task"
)

// countCheckRuns counts how often checks of a task were executed.
func (inst *instance) countCheckRuns(id task.ID) int {
	inst.t.Helper()
	return len(must(inst.s.CheckRuns(inst.ctx(), maya, id)))
}

func (inst *instance) countResults(id task.ID) int {
	inst.t.Helper()
	return len(must(inst.s.Results(inst.ctx(), maya, id)))
}

// completeKeyed completes a task as pull, with an idempotency key.
func (inst *instance) completeKeyed(s *Service, id task.ID, key, request string) (*task.Task, *Idempotency, error) {
	ctx, i := inst.keyed("pull", key, request)
	tk, err := s.CompleteTask(ctx, pull, id, request, 0)
	return tk, i, err
}

func (inst *instance) requestChanges(id task.ID, number int) {
	inst.t.Helper()
	r := must(inst.s.Result(inst.ctx(), maya, id, number))
	must(inst.s.RequestChanges(inst.ctx(), rita, id, number, r.Digest, "not so"))
}

func TestARepeatedCompletionSubmitsOneResult(t *testing.T) {
	t.Parallel()
	inst, _ := judged(t)
	tk := inst.inWeb("pull")
	first, i, err := inst.completeKeyed(inst.s, tk.ID, "k", "done")
	ok(t, err)
	equal(t, "the first answer is replayed", i.Replayed, false)
	equal(t, "waiting for", first.WaitingFor, task.WaitsReview)
	inst.requestChanges(tk.ID, 1)
	last := inst.lastEvent()

	t.Run("a repeat after a request for changes gets the first response", func(t *testing.T) {
		again, i, err := inst.completeKeyed(inst.s, tk.ID, "k", "done")
		ok(t, err)
		equal(t, "replayed", i.Replayed, true)
		equal(t, "waiting for", again.WaitingFor, task.WaitsReview)
	})
	t.Run("also from another server", func(t *testing.T) {
		_, i, err := inst.completeKeyed(inst.service(func(c *Config) { c.Repositories = inst.s.config().Repositories }), tk.ID, "k", "done")
		ok(t, err)
		equal(t, "replayed", i.Replayed, true)
	})
	t.Run("another request with the key is refused", func(t *testing.T) {
		_, _, err := inst.completeKeyed(inst.s, tk.ID, "k", "another summary")
		refused(t, err, task.CodeIdempotencyReuse)
	})
	equal(t, "results", inst.countResults(tk.ID), 1)
	equal(t, "executions of the check", inst.countCheckRuns(tk.ID), 1)
	equal(t, "last event", inst.lastEvent(), last)
	equal(t, "waiting for", inst.task(tk.ID).WaitingFor, "")

	t.Run("another key submits another result", func(t *testing.T) {
		_, i, err := inst.completeKeyed(inst.s, tk.ID, "k2", "done now")
		ok(t, err)
		equal(t, "replayed", i.Replayed, false)
		equal(t, "results", inst.countResults(tk.ID), 2)
	})
}

// accept accepts the newest result of a task.
func (inst *instance) accept(who task.Actor, id task.ID) *task.Task {
	inst.t.Helper()
	return must(inst.s.AcceptResult(inst.ctx(), who, id, 0, must(inst.s.Result(inst.ctx(), maya, id, 0)).Digest, ""))
}

// TestARepeatedCompletionOfAFinishedTaskGetsTheFirstResponse covers tasks that are
// done or wait for their merge when the repeat arrives.
func TestARepeatedCompletionOfAFinishedTaskGetsTheFirstResponse(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(*task.Project){
		"the task is done":             func(p *task.Project) { p.Review = task.Review{} },
		"the task waits for its merge": func(p *task.Project) { p.Merge = &task.Merge{Into: "main"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inst, _ := judged(t, with)
			one, two := inst.inWeb("pull"), inst.inWeb("pull")
			next := inst.create(maya, "pull")
			first, _, err := inst.completeKeyed(inst.s, one.ID, "k1", "done")
			ok(t, err)
			claimed, _, err := inst.completeAndSignup(inst.s, two.ID, "k2")
			ok(t, err)
			equal(t, "claimed", claimed.Task.ID, next.ID)
			if first.WaitingFor == task.WaitsReview {
				inst.accept(rita, one.ID)
				equal(t, "waiting for", inst.accept(rita, two.ID).WaitingFor, task.WaitsMerge)
			}
			last := inst.lastEvent()

			again, i, err := inst.completeKeyed(inst.s, one.ID, "k1", "done")
			ok(t, err)
			equal(t, "replayed", i.Replayed, true)
			equal(t, "status", again.Status, first.Status)
			equal(t, "waiting for", again.WaitingFor, first.WaitingFor)
			both, i, err := inst.completeAndSignup(inst.s, two.ID, "k2")
			ok(t, err)
			equal(t, "replayed", i.Replayed, true)
			equal(t, "completed", both.Completed.ID, two.ID)
			equal(t, "claimed by the repeat", both.Task.ID, next.ID)
			equal(t, "last event", inst.lastEvent(), last)
			if _, _, err = inst.completeKeyed(inst.s, one.ID, "k3", "done"); err == nil {
				t.Fatal("another call completed the task again")
			}
		})
	}
}

func (inst *instance) completeAndSignup(s *Service, id task.ID, key string) (CompletedAndNext, *Idempotency, error) {
	ctx, i := inst.keyed("pull", key, "done")
	out, err := s.CompleteAndSignup(ctx, pull, "pull", id, "done", 0)
	return out, i, err
}

// TestARepeatedSignupAfterALostCompletionResponse covers a server that stopped after
// it submitted the result and before it claimed a task.
func TestARepeatedSignupAfterALostCompletionResponse(t *testing.T) {
	t.Parallel()
	inst, git, tk := newHeldTask(t)
	next := inst.create(maya, "pull")
	running := inst.interruptCall(git, tk.ID, func(ctx context.Context) error {
		_, err := inst.s.CompleteAndSignup(ctx, pull, "pull", tk.ID, "done", 0)
		return err
	})
	close(git.let)
	<-running.done
	equal(t, "the next is unclaimed", inst.task(next.ID).Claim == nil, true)
	inst.requestChanges(tk.ID, 1)

	out, _, err := inst.completeAndSignup(inst.service(func(c *Config) { c.Repositories = git }), tk.ID, "k")
	ok(t, err)
	equal(t, "the returned completion", out.Completed.WaitingFor, task.WaitsReview)
	equal(t, "claimed", out.Task != nil, true)
	equal(t, "executions of the check", inst.countCheckRuns(tk.ID), 1)
	equal(t, "results", inst.countResults(tk.ID), 1)
}

func TestARepeatedCompletionWaitsForTheFirstOnesChecks(t *testing.T) {
	t.Parallel()
	inst, git, tk := newHeldTask(t)
	call := func() chan error {
		out := make(chan error, 1)
		go func() {
			tk, _, err := inst.completeKeyed(inst.s, tk.ID, "k", "done")
			if err == nil && tk.WaitingFor != task.WaitsReview {
				err = errors.New("the answer is not that of the first")
			}
			out <- err
		}()
		return out
	}
	first := call()
	<-git.began
	repeat := call()
	close(git.let)
	ok(t, <-first)
	ok(t, <-repeat)
	equal(t, "executions of the check", inst.countCheckRuns(tk.ID), 1)
	equal(t, "results", inst.countResults(tk.ID), 1)
}

// TestARepeatedCompletionOnAnotherServerSubmitsNothing covers servers that do not know
// about each other's checks.
func TestARepeatedCompletionOnAnotherServerSubmitsNothing(t *testing.T) {
	t.Parallel()
	one := &heldGit{began: make(chan struct{}, 9), let: make(chan struct{})}
	two := &heldGit{began: make(chan struct{}, 9), let: make(chan struct{})}
	inst := newInstance(t, func(c *Config) { c.Repositories = one })
	other := inst.service(func(c *Config) { c.Repositories = two })
	tk := heldProject(inst)
	errs := make(chan error, 1)
	go func() {
		_, _, err := inst.completeKeyed(inst.s, tk.ID, "k", "done")
		errs <- err
	}()
	<-one.began
	replayed := make(chan bool, 1)
	go func() {
		_, i, err := inst.completeKeyed(other, tk.ID, "k", "done")
		replayed <- i.Replayed
		errs <- err
	}()
	<-two.began
	close(one.let)
	ok(t, <-errs)
	inst.requestChanges(tk.ID, 1)
	close(two.let)
	equal(t, "the repeat is replayed", <-replayed, true)
	ok(t, <-errs)
	equal(t, "results", inst.countResults(tk.ID), 1)
	equal(t, "waiting for", inst.task(tk.ID).WaitingFor, "")
}

func TestAKeyThatJoinedACompletionGetsItsResponse(t *testing.T) {
	t.Parallel()
	inst, git, tk := newHeldTask(t)
	running := inst.interruptCall(git, tk.ID, func(ctx context.Context) error {
		_, err := inst.s.CompleteTask(ctx, pull, tk.ID, "done", 0)
		return err
	})
	close(git.let)
	<-running.done
	for _, replayed := range []bool{false, true} {
		got, i, err := inst.completeKeyed(inst.s, tk.ID, "k2", "done")
		ok(t, err)
		equal(t, "waiting for", got.WaitingFor, task.WaitsReview)
		equal(t, "replayed", i.Replayed, replayed)
		if !replayed {
			inst.requestChanges(tk.ID, 1)
		}
	}
	_, i, err := inst.completeKeyed(inst.s, tk.ID, "k", "done")
	ok(t, err)
	equal(t, "the first key is replayed", i.Replayed, true)
	equal(t, "results", inst.countResults(tk.ID), 1)
}

// interruptCall makes a call with key k whose connection ends during its checks, and
// returns the submission that continues.
func (inst *instance) interruptCall(git *heldGit, id task.ID, call func(context.Context) error) *submission {
	inst.t.Helper()
	ctx, _ := inst.keyed("pull", "k", "done")
	ctx, cut := context.WithCancel(ctx)
	first := make(chan error, 1)
	go func() { first <- call(ctx) }()
	<-git.began
	cut()
	if err := <-first; !errors.Is(err, context.Canceled) {
		inst.t.Fatalf("interrupted call: got %v", err)
	}
	return inst.s.submissions.find(id, pull, "", "done", inst.s.Now())
}

func TestARepeatedCheckRunExecutesTheCheckOnce(t *testing.T) {
	t.Parallel()
	inst, _ := judged(t)
	tk := inst.inWeb("pull")
	again := func(key, request string) (task.CheckRun, *Idempotency, error) {
		ctx, i := inst.keyed("user:oleg", key, request)
		run, err := inst.s.RunCheck(ctx, oleg, tk.ID, "test")
		return run, i, err
	}
	first, i, err := again("k", "run")
	ok(t, err)
	equal(t, "the first answer is replayed", i.Replayed, false)
	run, i, err := again("k", "run")
	ok(t, err)
	equal(t, "replayed", i.Replayed, true)
	equal(t, "execution", run.ID, first.ID)
	equal(t, "log", run.Log, first.Log)
	_, _, err = again("k", "another")
	refused(t, err, task.CodeIdempotencyReuse)
	equal(t, "executions", inst.countCheckRuns(tk.ID), 1)
	_, i, err = again("k2", "run")
	ok(t, err)
	equal(t, "another key is replayed", i.Replayed, false)
	equal(t, "executions", inst.countCheckRuns(tk.ID), 2)
}
