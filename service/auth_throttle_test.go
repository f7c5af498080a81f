package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

const (
	password  = "correct horse battery"
	alicesOwn = "192.0.2.1"
)

// withAlice is an instance in which alice has signed in from her address once, and
// bob has never.
func withAlice(t *testing.T) *instance {
	t.Helper()
	inst := newInstance(t)
	must(inst.s.FirstAdmin(inst.ctx(), must(inst.s.SetupLink(inst.ctx())), "alice", password))
	must(inst.s.AddUser(inst.ctx(), task.Actor{Name: "user:alice", Role: task.RoleAdmin, UserID: 1}, "bob", password, task.RoleViewer))
	must(inst.s.SignIn(inst.ctx(), "alice", password, task.Actor{Addr: alicesOwn}))
	inst.s.auth.decoy = must(inst.s.hashPassword(password))
	return inst
}

// guess tries a wrong password and reports whether it was looked at.
func (inst *instance) guess(name, addr string) bool {
	_, err := inst.s.SignIn(inst.ctx(), name, "wrong wrong wrong", task.Actor{Addr: addr})
	return !task.IsCode(err, task.CodeRateLimited)
}

func TestGuessesElsewhereKeepNobodyOut(t *testing.T) {
	t.Parallel()
	elsewhere := func(i int) string { return fmt.Sprintf("198.51.100.%d", i) }
	t.Run("an attacker at one address is slowed, and alice signs in from hers and from a new one", func(t *testing.T) {
		t.Parallel()
		inst := withAlice(t)
		looked := 0
		for range 60 {
			if inst.guess("alice", elsewhere(1)) {
				looked++
			}
		}
		equal(t, "guesses that were looked at", looked, 3)
		must(inst.s.SignIn(inst.ctx(), "alice", password, task.Actor{Addr: alicesOwn}))
		must(inst.s.SignIn(inst.ctx(), "alice", password, task.Actor{Addr: "203.0.113.7"}))
	})
	t.Run("an attacker at many addresses is slowed, and alice signs in from hers, also after a restart", func(t *testing.T) {
		t.Parallel()
		inst := withAlice(t)
		looked := 0
		for i := range 100 {
			if inst.guess("alice", elsewhere(i)) {
				looked++
			}
		}
		equal(t, "guesses that were looked at", looked, 20)
		must(inst.s.SignIn(inst.ctx(), "alice", password, task.Actor{Addr: alicesOwn}))
		inst.s.auth.throttle = newThrottle()
		for i := range 100 {
			inst.guess("alice", elsewhere(i))
		}
		must(inst.s.SignIn(inst.ctx(), "alice", password, task.Actor{Addr: alicesOwn}))
	})
	t.Run("the addresses of an IPv6 network are one", func(t *testing.T) {
		t.Parallel()
		inst := withAlice(t)
		looked := 0
		for i := range 20 {
			if inst.guess("alice", fmt.Sprintf("2001:db8::%x", i+1)) {
				looked++
			}
		}
		equal(t, "guesses that were looked at", looked, 3)
	})
	t.Run("failures at one account leave the others of the address alone", func(t *testing.T) {
		t.Parallel()
		inst := withAlice(t)
		for range 120 {
			inst.guess("alice", alicesOwn)
			inst.Forward(5 * time.Second)
		}
		must(inst.s.SignIn(inst.ctx(), "bob", password, task.Actor{Addr: alicesOwn}))
	})
	t.Run("guesses at many accounts from one address are slowed, and who signed in from there is not", func(t *testing.T) {
		t.Parallel()
		inst := withAlice(t)
		looked := 0
		for i := range 60 {
			if inst.guess(fmt.Sprintf("someone%d", i), alicesOwn) {
				looked++
			}
		}
		equal(t, "guesses that were looked at", looked, 20)
		must(inst.s.SignIn(inst.ctx(), "alice", password, task.Actor{Addr: alicesOwn}))
		if _, err := inst.s.SignIn(inst.ctx(), "bob", password, task.Actor{Addr: alicesOwn}); !task.IsCode(err, task.CodeRateLimited) {
			t.Errorf("a first sign-in from the address of the guesses: %v", err)
		}
		inst.Forward(time.Minute)
		must(inst.s.SignIn(inst.ctx(), "bob", password, task.Actor{Addr: alicesOwn}))
	})
	t.Run("a link of the server signs in whatever was guessed, and its address counts as known", func(t *testing.T) {
		t.Parallel()
		inst := withAlice(t)
		for i := range 60 {
			inst.guess("alice", elsewhere(i))
		}
		link := must(inst.s.SignInLink(inst.ctx(), 1))
		must(inst.s.UseSignInLink(inst.ctx(), link, task.Actor{Addr: "203.0.113.7"}))
		must(inst.s.SignIn(inst.ctx(), "alice", password, task.Actor{Addr: "203.0.113.7"}))
	})
}

func TestFailuresDecay(t *testing.T) {
	t.Parallel()
	now := task.TimeFromStd(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	th := newThrottle()
	k := throttleKey{triesOfPair, "alice 192.0.2.1"}
	var waits []time.Duration
	for range 14 {
		for w := th.try(now, k); w > 0; w = th.try(now, k) {
			waits = append(waits, w)
			now = now.Add(w)
		}
	}
	t.Run("the wait doubles, up to about five minutes", func(t *testing.T) {
		equal(t, "first", waits[0], time.Second)
		equal(t, "second", waits[1], 2*time.Second)
		if last := waits[len(waits)-1]; last < 4*time.Minute || last > 5*time.Minute {
			t.Errorf("the last wait is %s, want 4 to 5 minutes", last)
		}
	})
	t.Run("after an hour nothing is left of them", func(t *testing.T) {
		now = now.Add(time.Hour)
		for range 3 {
			equal(t, "wait", th.try(now, k), 0)
		}
		equal(t, "wait after three more", th.try(now, k), time.Second)
	})
	t.Run("a clock that is set back does not prolong it", func(t *testing.T) {
		equal(t, "wait", th.try(now.Add(-24*time.Hour), k), time.Second)
	})
}

func TestTheThrottleIsBoundedAndNotWashedAway(t *testing.T) {
	t.Parallel()
	now := task.TimeFromStd(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	th := newThrottle()
	victim := signInKeys("alice", "192.0.2.1", false)
	for range 3 {
		th.try(now, victim...)
	}
	for _, k := range signInKeys(strings.Repeat("字", 1<<16), network(strings.Repeat("9", 1<<16)), false) {
		if len(k.of) > 4*maxUserName+46 {
			t.Errorf("a key of %d bytes is kept", len(k.of))
		}
	}
	for i := range 3 * throttleCap {
		th.try(now, throttleKey{triesAtAccount, fmt.Sprint("someone", i)})
		if len(th.fails) > throttleCap {
			t.Fatalf("%d keys are kept", len(th.fails))
		}
	}
	if th.try(now, victim...) == 0 {
		t.Error("a flood of other names washed away what was known of alice")
	}
}
