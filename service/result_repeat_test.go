package service

import (
	"context"
	"errors"
	"testing"

	"taskyard/task"
)

// countCheckRuns counts how often checks of a task were executed.
func (y *instance) countCheckRuns(id task.ID) int {
	y.t.Helper()
	return len(must(y.s.CheckRuns(y.ctx(), maya, id)))
}

func (y *instance) countResults(id task.ID) int {
	y.t.Helper()
	return len(must(y.s.Results(y.ctx(), maya, id)))
}

// completeKeyed completes a task as pull, with an idempotency key.
func (y *instance) completeKeyed(s *Service, id task.ID, key, request string) (*task.Task, *Idempotency, error) {
	ctx, i := y.keyed("pull", key, request)
	tk, err := s.CompleteTask(ctx, pull, id, request, 0)
	return tk, i, err
}

func (y *instance) requestChanges(id task.ID, number int) {
	y.t.Helper()
	r := must(y.s.Result(y.ctx(), maya, id, number))
	must(y.s.RequestChanges(y.ctx(), rita, id, number, r.Digest, "not so"))
}

func TestARepeatedCompletionHandsInOneResult(t *testing.T) {
	t.Parallel()
	y, _ := judged(t)
	tk := y.inWeb("pull")
	first, i, err := y.completeKeyed(y.s, tk.ID, "k", "done")
	ok(t, err)
	equal(t, "the first answer is replayed", i.Replayed, false)
	equal(t, "waits for", first.WaitingFor, task.WaitsReview)
	y.requestChanges(tk.ID, 1)
	last := y.lastEvent()

	t.Run("a repeat after changes were requested gets the first answer", func(t *testing.T) {
		again, i, err := y.completeKeyed(y.s, tk.ID, "k", "done")
		ok(t, err)
		equal(t, "replayed", i.Replayed, true)
		equal(t, "waits for", again.WaitingFor, task.WaitsReview)
	})
	t.Run("also from another server", func(t *testing.T) {
		_, i, err := y.completeKeyed(y.service(func(c *Config) { c.Repositories = y.s.config().Repositories }), tk.ID, "k", "done")
		ok(t, err)
		equal(t, "replayed", i.Replayed, true)
	})
	t.Run("another request under the key is refused", func(t *testing.T) {
		_, _, err := y.completeKeyed(y.s, tk.ID, "k", "another summary")
		refused(t, err, task.CodeIdempotencyReuse)
	})
	equal(t, "results", y.countResults(tk.ID), 1)
	equal(t, "executions of the check", y.countCheckRuns(tk.ID), 1)
	equal(t, "last event", y.lastEvent(), last)
	equal(t, "waits for", y.task(tk.ID).WaitingFor, "")

	t.Run("another key hands in another result", func(t *testing.T) {
		_, i, err := y.completeKeyed(y.s, tk.ID, "k2", "done now")
		ok(t, err)
		equal(t, "replayed", i.Replayed, false)
		equal(t, "results", y.countResults(tk.ID), 2)
	})
}

// accept accepts the newest result of a task as it is.
func (y *instance) accept(who task.Actor, id task.ID) *task.Task {
	y.t.Helper()
	return must(y.s.AcceptResult(y.ctx(), who, id, 0, must(y.s.Result(y.ctx(), maya, id, 0)).Digest, ""))
}

// TestARepeatOfWhatCannotBeCompletedAnyMoreGetsTheFirstAnswer is about tasks that
// are done or wait for their merge when the repeat arrives.
func TestARepeatOfWhatCannotBeCompletedAnyMoreGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(*task.Project){
		"the task is done":             func(p *task.Project) { p.Review = task.Review{} },
		"the task waits for its merge": func(p *task.Project) { p.Merge = &task.Merge{Into: "main"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y, _ := judged(t, with)
			one, two := y.inWeb("pull"), y.inWeb("pull")
			next := y.create(maya, "pull")
			first, _, err := y.completeKeyed(y.s, one.ID, "k1", "done")
			ok(t, err)
			claimed, _, err := y.completeAndSignup(y.s, two.ID, "k2")
			ok(t, err)
			equal(t, "claimed", claimed.Task.ID, next.ID)
			if first.WaitingFor == task.WaitsReview {
				y.accept(rita, one.ID)
				equal(t, "waits for", y.accept(rita, two.ID).WaitingFor, task.WaitsMerge)
			}
			last := y.lastEvent()

			again, i, err := y.completeKeyed(y.s, one.ID, "k1", "done")
			ok(t, err)
			equal(t, "replayed", i.Replayed, true)
			equal(t, "status", again.Status, first.Status)
			equal(t, "waits for", again.WaitingFor, first.WaitingFor)
			both, i, err := y.completeAndSignup(y.s, two.ID, "k2")
			ok(t, err)
			equal(t, "replayed", i.Replayed, true)
			equal(t, "completed", both.Completed.ID, two.ID)
			equal(t, "claimed by the repeat", both.Task.ID, next.ID)
			equal(t, "last event", y.lastEvent(), last)
			if _, _, err = y.completeKeyed(y.s, one.ID, "k3", "done"); err == nil {
				t.Fatal("another call has completed the task again")
			}
		})
	}
}

func (y *instance) completeAndSignup(s *Service, id task.ID, key string) (CompletedAndNext, *Idempotency, error) {
	ctx, i := y.keyed("pull", key, "done")
	out, err := s.CompleteAndSignup(ctx, pull, "pull", id, "done", 0)
	return out, i, err
}

// TestARepeatedSignupAfterACompletionThatNobodyHeard is about a server that ended
// when it had handed in the result and claimed nothing yet.
func TestARepeatedSignupAfterACompletionThatNobodyHeard(t *testing.T) {
	t.Parallel()
	y, git, tk := newHeldTask(t)
	next := y.create(maya, "pull")
	running := y.cutOff(git, tk.ID, func(ctx context.Context) error {
		_, err := y.s.CompleteAndSignup(ctx, pull, "pull", tk.ID, "done", 0)
		return err
	})
	close(git.let)
	<-running.done
	equal(t, "the next is free", y.task(next.ID).Claim == nil, true)
	y.requestChanges(tk.ID, 1)

	out, _, err := y.completeAndSignup(y.service(func(c *Config) { c.Repositories = git }), tk.ID, "k")
	ok(t, err)
	equal(t, "the completion that was answered", out.Completed.WaitingFor, task.WaitsReview)
	equal(t, "claimed", out.Task != nil, true)
	equal(t, "executions of the check", y.countCheckRuns(tk.ID), 1)
	equal(t, "results", y.countResults(tk.ID), 1)
}

func TestARepeatWaitsForTheChecksOfTheFirst(t *testing.T) {
	t.Parallel()
	y, git, tk := newHeldTask(t)
	call := func() chan error {
		out := make(chan error, 1)
		go func() {
			tk, _, err := y.completeKeyed(y.s, tk.ID, "k", "done")
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
	equal(t, "executions of the check", y.countCheckRuns(tk.ID), 1)
	equal(t, "results", y.countResults(tk.ID), 1)
}

// TestARepeatOnAnotherServerHandsInNothing is about servers which do not know of
// each other's checks.
func TestARepeatOnAnotherServerHandsInNothing(t *testing.T) {
	t.Parallel()
	one := &heldGit{began: make(chan struct{}, 9), let: make(chan struct{})}
	two := &heldGit{began: make(chan struct{}, 9), let: make(chan struct{})}
	y := newInstance(t, func(c *Config) { c.Repositories = one })
	other := y.service(func(c *Config) { c.Repositories = two })
	tk := heldProject(y)
	errs := make(chan error, 1)
	go func() {
		_, _, err := y.completeKeyed(y.s, tk.ID, "k", "done")
		errs <- err
	}()
	<-one.began
	replayed := make(chan bool, 1)
	go func() {
		_, i, err := y.completeKeyed(other, tk.ID, "k", "done")
		replayed <- i.Replayed
		errs <- err
	}()
	<-two.began
	close(one.let)
	ok(t, <-errs)
	y.requestChanges(tk.ID, 1)
	close(two.let)
	equal(t, "the repeat is replayed", <-replayed, true)
	ok(t, <-errs)
	equal(t, "results", y.countResults(tk.ID), 1)
	equal(t, "waits for", y.task(tk.ID).WaitingFor, "")
}

func TestAKeyThatHasJoinedACompletionGetsItsAnswer(t *testing.T) {
	t.Parallel()
	y, git, tk := newHeldTask(t)
	running := y.cutOff(git, tk.ID, func(ctx context.Context) error {
		_, err := y.s.CompleteTask(ctx, pull, tk.ID, "done", 0)
		return err
	})
	close(git.let)
	<-running.done
	for _, replayed := range []bool{false, true} {
		got, i, err := y.completeKeyed(y.s, tk.ID, "k2", "done")
		ok(t, err)
		equal(t, "waits for", got.WaitingFor, task.WaitsReview)
		equal(t, "replayed", i.Replayed, replayed)
		if !replayed {
			y.requestChanges(tk.ID, 1)
		}
	}
	_, i, err := y.completeKeyed(y.s, tk.ID, "k", "done")
	ok(t, err)
	equal(t, "the first key is replayed", i.Replayed, true)
	equal(t, "results", y.countResults(tk.ID), 1)
}

// cutOff makes a call with the key k whose connection ends while its checks run,
// and returns what continues.
func (y *instance) cutOff(git *heldGit, id task.ID, call func(context.Context) error) *submission {
	y.t.Helper()
	ctx, _ := y.keyed("pull", "k", "done")
	ctx, cut := context.WithCancel(ctx)
	first := make(chan error, 1)
	go func() { first <- call(ctx) }()
	<-git.began
	cut()
	if err := <-first; !errors.Is(err, context.Canceled) {
		y.t.Fatalf("the call that was cut: %v", err)
	}
	return y.s.submissions.find(id, pull, "", "done", y.s.Now())
}

func TestARepeatedRunOfACheckExecutesItOnce(t *testing.T) {
	t.Parallel()
	y, _ := judged(t)
	tk := y.inWeb("pull")
	again := func(key, request string) (task.CheckRun, *Idempotency, error) {
		ctx, i := y.keyed("user:oleg", key, request)
		run, err := y.s.RunCheck(ctx, oleg, tk.ID, "test")
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
	equal(t, "executions", y.countCheckRuns(tk.ID), 1)
	_, i, err = again("k2", "run")
	ok(t, err)
	equal(t, "another key is replayed", i.Replayed, false)
	equal(t, "executions", y.countCheckRuns(tk.ID), 2)
}
