package jobs

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/service"
	"taskyard/task"
)

// sentMessage is a message as the external service received it.
type sentMessage struct{ title, text, link string }

// receiver is an external service that the test controls.
type receiver struct {
	got           chan sentMessage
	answer        chan error
	ignoresCancel bool // keeps waiting for an answer after a request is canceled
}

func (o *receiver) send(ctx context.Context, title, text, link string) error {
	select {
	case o.got <- sentMessage{title, text, link}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if o.ignoresCancel {
		return <-o.answer
	}
	select {
	case err := <-o.answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newReceiver returns an instance that notifies an external service of
// questions.
func newReceiver(t *testing.T, again func(int) time.Duration) (*instance, *receiver, *testkit.Buffer) {
	t.Helper()
	o, log := &receiver{got: make(chan sentMessage), answer: make(chan error)}, &testkit.Buffer{}
	inst := newInstance(t, setup{
		cfg: func(c *service.Config) {
			c.Notify = []service.NotifyTarget{{Name: "ops", Kinds: []task.OutKind{task.OutQuestion}}}
		},
		jobs: func(opt *Options) {
			opt.PublicURL, opt.TryAgain = "https://tasks.example/", again
			opt.Notify = []Outlet{{Name: "ops", Send: o.send}}
			opt.Log = slog.New(slog.NewTextHandler(log, nil))
		},
	})
	return inst, o, log
}

func (inst *instance) ask(text string) *task.Task {
	inst.t.Helper()
	tk, err := inst.svc.CreateTask(inst.t.Context(), maya, task.New{Title: "Choose", Owner: "coder", NoStart: true})
	if err != nil {
		inst.t.Fatal(err)
	}
	if _, err := inst.svc.Ask(inst.t.Context(), task.Actor{Name: "coder", Role: task.RoleAgent}, tk.ID, text, false); err != nil {
		inst.t.Fatal(err)
	}
	return tk
}

// receive waits for a message and responds to it.
func (o *receiver) receive(t *testing.T, answer error) sentMessage {
	t.Helper()
	select {
	case s := <-o.got:
		o.answer <- answer
		return s
	case <-time.After(patience):
		t.Fatal("no message was sent")
		return sentMessage{}
	}
}

func (inst *instance) awaitEmptyOutbox() {
	inst.t.Helper()
	testkit.EventuallyWithin(inst.t, patience, "the outbox is empty", func() bool {
		list, next, err := inst.svc.Outgoing(inst.t.Context(), "ops")
		return err == nil && len(list) == 0 && next == 0
	})
}

func TestANotificationOfAQuestionLinksToItsTask(t *testing.T) {
	t.Parallel()
	inst, o, _ := newReceiver(t, nil)
	tk := inst.ask("North?")
	s := o.receive(t, nil)
	if s.title != "Taskyard: a question from an agent" || !strings.Contains(s.text, "coder asks: North?") ||
		s.link != "https://tasks.example/tasks/"+tk.ID.String() {
		t.Errorf("got %+v", s)
	}
	inst.awaitEmptyOutbox()
}

func TestQueuedNoticesAreSentAsOneMessage(t *testing.T) {
	t.Parallel()
	inst, o, _ := newReceiver(t, nil)
	inst.ask("first?")
	<-o.got
	for range 14 {
		inst.ask("another?")
	}
	o.answer <- nil
	s := o.receive(t, nil)
	if s.title != "Taskyard: 14 things wait for you" || strings.Count(s.text, "another?") != 10 ||
		!strings.HasSuffix(s.text, "\nand 4 more") || s.link != "https://tasks.example/" {
		t.Errorf("got %+v", s)
	}
	inst.awaitEmptyOutbox()
}

func TestAMessageIsRetriedAndFinallyDropped(t *testing.T) {
	t.Parallel()
	inst, o, log := newReceiver(t, func(n int) time.Duration {
		if n > 2 {
			return -1
		}
		return time.Millisecond
	})
	inst.ask("North?")
	for range 3 {
		o.receive(t, errors.New("no response from ***"))
	}
	inst.awaitEmptyOutbox()
	testkit.EventuallyWithin(inst.t, patience, "the drop is logged", func() bool { return strings.Contains(log.String(), "dropped=1") })
	if n := strings.Count(log.String(), `msg="failed to send notices" service=ops`); n != 3 {
		t.Errorf("got %d lines in\n%s", n, log)
	}
	inst.ask("South?")
	if s := o.receive(t, nil); !strings.Contains(s.text, "South?") {
		t.Errorf("next message: got %+v", s)
	}
	inst.awaitEmptyOutbox()
}

func TestAMessageInterruptedByAStopIsSentAfterTheNextStart(t *testing.T) {
	t.Parallel()
	inst, o, log := newReceiver(t, nil)
	inst.ask("North?")
	<-o.got // without a response
	inst.end()
	if strings.Contains(log.String(), "failed to send notices") {
		t.Error("the stop was logged as a failure")
	}
	inst.start()
	if s := o.receive(t, nil); !strings.Contains(s.text, "North?") {
		t.Errorf("got %+v", s)
	}
	inst.awaitEmptyOutbox()
}

func TestAMessageAcceptedDuringAStopIsNotSentTwice(t *testing.T) {
	t.Parallel()
	inst, o, _ := newReceiver(t, nil)
	o.ignoresCancel = true
	inst.ask("North?")
	<-o.got
	stopped := make(chan struct{})
	go func() { defer close(stopped); inst.end() }()
	<-inst.jobs.ctx.Done()
	o.answer <- nil // the message was accepted anyway
	<-stopped
	inst.awaitEmptyOutbox()
}

func TestRetriesContinueForAboutAnHour(t *testing.T) {
	t.Parallel()
	var all time.Duration
	n := 1
	for ; ; n++ {
		d := retryDelay(n)
		if d < 0 {
			break
		}
		all += d
	}
	if n != maxTries || all < 45*time.Minute || all > 2*time.Hour {
		t.Errorf("got %d attempts in %v", n, all)
	}
}
