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

// said is a message as a service outside got it.
type said struct{ title, text, link string }

// outside is a service outside that the test plays: it answers each message.
type outside struct {
	got    chan said
	answer chan error
	deaf   bool // it hears not that the caller has gone
}

func (o *outside) send(ctx context.Context, title, text, link string) error {
	select {
	case o.got <- said{title, text, link}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if o.deaf {
		return <-o.answer
	}
	select {
	case err := <-o.answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newOutside returns an instance that notifies an external service of
// questions.
func newOutside(t *testing.T, again func(int) time.Duration) (*instance, *outside, *testkit.Buffer) {
	t.Helper()
	o, log := &outside{got: make(chan said), answer: make(chan error)}, &testkit.Buffer{}
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

// heard waits for a message and answers it.
func (o *outside) heard(t *testing.T, answer error) said {
	t.Helper()
	select {
	case s := <-o.got:
		o.answer <- answer
		return s
	case <-time.After(patience):
		t.Fatal("nothing was said")
		return said{}
	}
}

func (inst *instance) emptied() {
	inst.t.Helper()
	testkit.EventuallyWithin(inst.t, patience, "the outbox is empty", func() bool {
		list, next, err := inst.svc.Outgoing(inst.t.Context(), "ops")
		return err == nil && len(list) == 0 && next == 0
	})
}

func TestAQuestionIsToldOutsideWithALinkToIt(t *testing.T) {
	inst, o, _ := newOutside(t, nil)
	tk := inst.ask("North?")
	s := o.heard(t, nil)
	if s.title != "Taskyard: a question from an agent" || !strings.Contains(s.text, "coder asks: North?") ||
		s.link != "https://tasks.example/tasks/"+tk.ID.String() {
		t.Errorf("%+v", s)
	}
	inst.emptied()
}

func TestWhatComesMeanwhileGoesOutAsOneMessage(t *testing.T) {
	inst, o, _ := newOutside(t, nil)
	inst.ask("first?")
	<-o.got
	for range 14 {
		inst.ask("another?")
	}
	o.answer <- nil
	s := o.heard(t, nil)
	if s.title != "Taskyard: 14 things wait for you" || strings.Count(s.text, "another?") != 10 ||
		!strings.HasSuffix(s.text, "\nand 4 more") || s.link != "https://tasks.example/" {
		t.Errorf("%+v", s)
	}
	inst.emptied()
}

func TestAMessageIsTriedAgainAndGivenUpInTheEnd(t *testing.T) {
	inst, o, log := newOutside(t, func(n int) time.Duration {
		if n > 2 {
			return -1
		}
		return time.Millisecond
	})
	inst.ask("North?")
	for range 3 {
		o.heard(t, errors.New("no answer from ***"))
	}
	inst.emptied()
	testkit.EventuallyWithin(inst.t, patience, "the log tells", func() bool { return strings.Contains(log.String(), "dropped=1") })
	if n := strings.Count(log.String(), `msg="failed to send notices" service=ops`); n != 3 {
		t.Errorf("%d lines in\n%s", n, log)
	}
	inst.ask("South?")
	if s := o.heard(t, nil); !strings.Contains(s.text, "South?") {
		t.Errorf("the next one: %+v", s)
	}
	inst.emptied()
}

func TestWhatAStopCutOffIsToldAfterTheNextStart(t *testing.T) {
	inst, o, log := newOutside(t, nil)
	inst.ask("North?")
	<-o.got // and no answer
	inst.end()
	if strings.Contains(log.String(), "failed to send notices") {
		t.Error("the stop counts as a failure")
	}
	inst.start()
	if s := o.heard(t, nil); !strings.Contains(s.text, "North?") {
		t.Errorf("%+v", s)
	}
	inst.emptied()
}

func TestWhatWasTakenDuringAStopIsNotToldTwice(t *testing.T) {
	inst, o, _ := newOutside(t, nil)
	o.deaf = true
	inst.ask("North?")
	<-o.got
	stopped := make(chan struct{})
	go func() { defer close(stopped); inst.end() }()
	<-inst.jobs.ctx.Done()
	o.answer <- nil // it took the message all the same
	<-stopped
	inst.emptied()
}

func TestTriesGoOnForAboutAnHour(t *testing.T) {
	var all time.Duration
	n := 1
	for ; ; n++ {
		d := tryAgain(n)
		if d < 0 {
			break
		}
		all += d
	}
	if n != maxTries || all < 45*time.Minute || all > 2*time.Hour {
		t.Errorf("%d tries in %v", n, all)
	}
}
