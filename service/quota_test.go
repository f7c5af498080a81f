package service

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"taskyard/task"
)

// withToken returns the caller with a token ID.
func withToken(a task.Actor, n task.ID) task.Actor {
	a.TokenID = n
	return a
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	start := task.TimeFromStd(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	token, other := withToken(pull, 7), withToken(pull, 8)
	refusal := func(t *testing.T, err error, words ...string) *task.Error {
		t.Helper()
		var e *task.Error
		if !errors.As(err, &e) || e.Code != task.CodeQuotaExceeded || e.Kind != task.TooMany || e.Retry < 1 {
			t.Fatalf("got %#v", err)
		}
		for _, w := range words {
			if !strings.Contains(e.Message, w) {
				t.Errorf("%q does not contain %q", e.Message, w)
			}
		}
		return e
	}
	for of := range quotaKinds {
		lim := quotaLimits[of]
		t.Run(lim.name+" of one token are limited independently of others", func(t *testing.T) {
			t.Parallel()
			now := start
			var q quotas
			back, err := q.take(token, of, lim.max, now)
			ok(t, err)
			_, err = q.take(token, of, 1, now)
			e := refusal(t, err, lim.name, fmt.Sprintf("%.0f", lim.max), "one token")
			_, err = q.take(other, of, lim.max, now)
			ok(t, err)
			equal(t, "counted refusals", q.refused[of].Load(), 1)
			if lim.per == 0 {
				back()
				back() // counts once
			} else {
				now = now.Add(time.Duration(e.Retry) * time.Second)
			}
			_, err = q.take(token, of, 1, now)
			ok(t, err)
		})
	}
	t.Run("the tokens and sessions of one person count together", func(t *testing.T) {
		t.Parallel()
		var q quotas
		_, err := q.take(withToken(maya, 1), quotaComments, 400, start)
		ok(t, err)
		_, err = q.take(withToken(maya, 2), quotaComments, 300, start)
		refusal(t, err, "one person")
		_, err = q.take(maya, quotaComments, 200, start)
		ok(t, err)
	})
	t.Run("internal calls are not counted", func(t *testing.T) {
		t.Parallel()
		var q quotas
		_, err := q.take(task.SystemActor, quotaComments, 1e9, start)
		ok(t, err)
		equal(t, "counters", len(q.used), 0)
	})
	t.Run("concurrent callers never get more than the limit", func(t *testing.T) {
		t.Parallel()
		var q quotas
		var all sync.WaitGroup
		var got [40]int
		for i := range got {
			all.Go(func() {
				for range 50 {
					if _, err := q.take(token, quotaStreams, 1, start); err == nil {
						got[i]++
					}
				}
			})
		}
		all.Wait()
		sum := 0
		for _, n := range got {
			sum += n
		}
		equal(t, "streams", sum, int(quotaLimits[quotaStreams].max))
	})
	t.Run("counters of idle tokens are dropped", func(t *testing.T) {
		t.Parallel()
		var q quotas
		for i := range task.ID(3 * quotaCap) {
			if _, err := q.take(withToken(pull, i+1), quotaComments, 1, start.Add(time.Duration(i)*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		if len(q.used) > quotaCap {
			t.Errorf("got %d counters", len(q.used))
		}
	})
}

func TestUseCasesEnforceQuotas(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "pull")
	mine := inst.create(maya, "coder")
	flood, calm := oleg, rita // tokens must be stored, people need not be
	until := func(t *testing.T, act func() error) int {
		t.Helper()
		for n := 0; ; n++ {
			if err := act(); task.IsCode(err, task.CodeQuotaExceeded) {
				return n
			} else if err != nil || n > 5000 {
				t.Fatalf("after %d: got %v", n, err)
			}
		}
	}
	t.Run("comments", func(t *testing.T) {
		comment := func() error { return onlyErr(inst.s.Comment(inst.ctx(), flood, tk.ID, "again")) }
		equal(t, "comments", until(t, comment), 600)
		must(inst.s.Comment(inst.ctx(), calm, mine.ID, "once"))
		inst.Forward(time.Second)
		equal(t, "comments a second later", until(t, comment), 10)
	})
	t.Run("notices", func(t *testing.T) {
		equal(t, "notices", until(t, func() error { return onlyErr(inst.s.Notify(inst.ctx(), flood, tk.ID, "look")) }), 120)
		must(inst.s.Notify(inst.ctx(), calm, mine.ID, "look"))
	})
	t.Run("a request with invalid fields does not count", func(t *testing.T) {
		for range 300 {
			if err := onlyErr(inst.s.Notify(inst.ctx(), calm, mine.ID, "")); !task.IsCode(err, task.CodeInvalidField) {
				t.Fatal(err)
			}
		}
		must(inst.s.Notify(inst.ctx(), calm, mine.ID, "once more"))
	})
}
