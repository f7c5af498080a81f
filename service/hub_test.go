package service

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"taskyard/task"
)

func TestHub(t *testing.T) {
	t.Parallel()
	t.Run("no topic is lost, however late it is read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHub()
			sub := h.Subscribe()
			got := map[string]bool{}
			read := make(chan struct{})
			go func() {
				defer close(read)
				for range sub.C {
					time.Sleep(time.Second) // fake time: a slow reader
					for _, topic := range sub.Drain() {
						got[topic] = true
					}
					if got["end"] {
						return
					}
				}
			}()
			var wg sync.WaitGroup
			for w := range 8 {
				wg.Go(func() {
					for i := range 100 {
						h.Publish([]string{strconv.Itoa(w*100 + i)})
						time.Sleep(time.Duration(i) * time.Millisecond)
					}
				})
			}
			wg.Wait()
			h.Publish([]string{"end"})
			<-read
			if len(got) != 801 {
				t.Fatalf("got %d topics, want 801", len(got))
			}
		})
	})
	t.Run("a subscriber that never reads does not block", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHub()
			sub := h.Subscribe("a")
			for range 10_000 {
				h.Publish([]string{"a", "b"})
			}
			synctest.Wait()
			equal(t, "signals", len(sub.C), 1)
			if got := sub.Drain(); !slices.Equal(got, []string{"a"}) {
				t.Fatalf("got %v", got)
			}
		})
	})
	t.Run("only subscribed topics signal", func(t *testing.T) {
		h := newHub()
		sub := h.Subscribe("task:1", "queues")
		h.Publish([]string{"task:2"})
		equal(t, "signals", len(sub.C), 0)
		h.Publish([]string{"task:2", "task:1"})
		equal(t, "signals", len(sub.C), 1)
	})
	t.Run("a closed subscription gets no more topics", func(t *testing.T) {
		h := newHub()
		sub := h.Subscribe()
		sub.Close()
		sub.Close()
		h.Publish([]string{"a"})
		equal(t, "signals", len(sub.C), 0)
		equal(t, "subscribers", h.Subscribers(), 0)
	})
	t.Run("Close ends all subscriptions, including later ones", func(t *testing.T) {
		h := newHub()
		subs := []*Subscription{h.Subscribe(), h.Subscribe("a")}
		h.Close()
		h.Close()
		for _, s := range append(subs, h.Subscribe()) {
			<-s.Done()
			s.Close()
		}
		h.Publish([]string{"a"})
	})
}

func TestAPageFromBeforeARestartIsOutdated(t *testing.T) {
	t.Parallel()
	before, after := newHub(), newHub()
	before.Publish([]string{"task:1"})
	if known := before.Generation(); after.Generation() == known || after.Generation() == known-1 {
		t.Errorf("the hub counts from %d again after a restart", known)
	}
}

func TestAChangeIsSignaledAfterTheCommit(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart)
	sub := inst.s.Hub().Subscribe("task:"+tk.ID.String(), "queue:coder")
	defer sub.Close()
	must(inst.s.Comment(inst.ctx(), maya, tk.ID, "news"))
	<-sub.C
	got := sub.Drain()
	slices.Sort(got)
	if !slices.Equal(got, []string{"queue:coder", "task:" + tk.ID.String()}) {
		t.Fatalf("got %v", got)
	}
	t.Run("a refused change does not signal", func(t *testing.T) {
		_, err := inst.s.Comment(inst.ctx(), maya, tk.ID, " ")
		refused(t, err, task.CodeInvalidField)
		_, err = inst.s.Reply(inst.ctx(), maya, tk.ID, "x")
		refused(t, err, task.CodeNoQuestion)
		equal(t, "signals", len(sub.C), 0)
	})
	t.Run("a run that may start signals the dispatcher", func(t *testing.T) {
		for len(inst.s.Startable()) > 0 {
			<-inst.s.Startable()
		}
		must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
		<-inst.s.Startable()
	})
}

func TestLeasesInRealTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inst := newInstance(t, func(c *Config) { c.Lease = 10 * time.Minute })
		inst.Forward(time.Since(inst.Now()))
		tk := inst.create(maya, "coder", noStart)
		claim := inst.signup(coder).Claim
		beat := func() error {
			inst.Forward(time.Since(inst.Now()))
			_, err := inst.s.Heartbeat(inst.ctx(), coder, tk.ID, claim.ID)
			return err
		}
		for range 6 { // an hour of work, one heartbeat every nine minutes
			time.Sleep(9 * time.Minute)
			ok(t, beat())
			equal(t, "released", must(inst.s.ReleaseExpired(inst.ctx())), 0)
		}
		time.Sleep(10 * time.Minute)
		refused(t, beat(), task.CodeStaleClaim)
		equal(t, "released", must(inst.s.ReleaseExpired(inst.ctx())), 1)
		ok(t, inst.db.Close())
	})
}
