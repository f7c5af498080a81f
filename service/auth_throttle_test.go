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

// withAlice returns an instance in which alice has signed in from her address once, and
// bob never.
func withAlice(t *testing.T) *instance {
	t.Helper()
	inst := newInstance(t)
	must(inst.s.FirstAdmin(inst.ctx(), must(inst.s.SetupLink(inst.ctx())), "alice", password))
	must(inst.s.AddUser(inst.ctx(), task.Actor{Name: "user:alice", Role: task.RoleAdmin, UserID: 1}, "bob", password, task.RoleViewer))
	must(inst.s.SignIn(inst.ctx(), "alice", password, task.Actor{Addr: alicesOwn}))
	inst.s.auth.decoy = must(inst.s.hashPassword(password))
	return inst
}

// guess tries a wrong password and reports whether it was checked.
func (inst *instance) guess(name, addr string) bool {
	_, err := inst.s.SignIn(inst.ctx(), name, "wrong wrong wrong", task.Actor{Addr: addr})
	return !task.IsCode(err, task.CodeRateLimited)
}

func TestGuessesElsewhereLockNobodyOut(t *testing.T) {
	t.Parallel()
	elsewhere := func(i int) string { return fmt.Sprintf("198.51.100.%d", i) }
	t.Run("an attacker at one address is throttled, and alice signs in from her own and a new address", func(t *testing.T) {
		t.Parallel()
		inst := withAlice(t)
		checked := 0
		for range 60 {
			if inst.guess("alice", elsewhere(1)) {
				checked++
			}
		}
		equal(t, "checked guesses", checked, 3)
		must(inst.s.SignIn(inst.ctx(), "alice", password, task.Actor{Addr: alicesOwn}))
		must(inst.s.SignIn(inst.ctx(), "alice", password, task.Actor{Addr: "203.0.113.7"}))
	})
	t.Run("an attacker at many addresses is throttled, and alice signs in from hers, also after a restart", func(t *testing.T) {
		t.Parallel()
		inst := withAlice(t)
		checked := 0
		for i := range 100 {
			if inst.guess("alice", elsewhere(i)) {
				checked++
			}
		}
		equal(t, "checked guesses", checked, 20)
		must(inst.s.SignIn(inst.ctx(), "alice", password, task.Actor{Addr: alicesOwn}))
		inst.s.auth.throttle = newThrottle()
		for i := range 100 {
			inst.guess("alice", elsewhere(i))
		}
		must(inst.s.SignIn(inst.ctx(), "alice", password, task.Actor{Addr: alicesOwn}))
	})
	t.Run("the addresses of an IPv6 network count as one", func(t *testing.T) {
		t.Parallel()
		inst := withAlice(t)
		checked := 0
		for i := range 20 {
			if inst.guess("alice", fmt.Sprintf("2001:db8::%x", i+1)) {
				checked++
			}
		}
		equal(t, "checked guesses", checked, 3)
	})
	t.Run("failures for one account do not affect others at the address", func(t *testing.T) {
		t.Parallel()
		inst := withAlice(t)
		for range 120 {
			inst.guess("alice", alicesOwn)
			inst.Forward(5 * time.Second)
		}
		must(inst.s.SignIn(inst.ctx(), "bob", password, task.Actor{Addr: alicesOwn}))
	})
	t.Run("guesses for many accounts from one address are throttled, but not people who signed in from there", func(t *testing.T) {
		t.Parallel()
		inst := withAlice(t)
		checked := 0
		for i := range 60 {
			if inst.guess(fmt.Sprintf("someone%d", i), alicesOwn) {
				checked++
			}
		}
		equal(t, "checked guesses", checked, 20)
		must(inst.s.SignIn(inst.ctx(), "alice", password, task.Actor{Addr: alicesOwn}))
		if _, err := inst.s.SignIn(inst.ctx(), "bob", password, task.Actor{Addr: alicesOwn}); !task.IsCode(err, task.CodeRateLimited) {
			t.Errorf("first sign-in from the address of the guesses: got %v", err)
		}
		inst.Forward(time.Minute)
		must(inst.s.SignIn(inst.ctx(), "bob", password, task.Actor{Addr: alicesOwn}))
	})
	t.Run("a server's sign-in link works whatever was guessed, and its address becomes known", func(t *testing.T) {
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
	k := throttleKey{attemptsByPair, "alice 192.0.2.1"}
	var waits []time.Duration
	for range 14 {
		for w := th.attempt(now, k); w > 0; w = th.attempt(now, k) {
			waits = append(waits, w)
			now = now.Add(w)
		}
	}
	t.Run("the wait doubles, up to about five minutes", func(t *testing.T) {
		equal(t, "first", waits[0], time.Second)
		equal(t, "second", waits[1], 2*time.Second)
		if last := waits[len(waits)-1]; last < 4*time.Minute || last > 5*time.Minute {
			t.Errorf("got last wait %s, want 4 to 5 minutes", last)
		}
	})
	t.Run("after an hour they are forgotten", func(t *testing.T) {
		now = now.Add(time.Hour)
		for range 3 {
			equal(t, "wait", th.attempt(now, k), 0)
		}
		equal(t, "wait after three more", th.attempt(now, k), time.Second)
	})
	t.Run("setting the clock back does not prolong the wait", func(t *testing.T) {
		equal(t, "wait", th.attempt(now.Add(-24*time.Hour), k), time.Second)
	})
}

func TestTheThrottleIsBoundedAndResistsFlooding(t *testing.T) {
	t.Parallel()
	now := task.TimeFromStd(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	th := newThrottle()
	victim := signInKeys("alice", "192.0.2.1", false)
	for range 3 {
		th.attempt(now, victim...)
	}
	for _, k := range signInKeys(strings.Repeat("字", 1<<16), addressNetwork(strings.Repeat("9", 1<<16)), false) {
		if len(k.of) > 4*maxUserName+46 {
			t.Errorf("got a key of %d bytes", len(k.of))
		}
	}
	for i := range 3 * throttleCap {
		th.attempt(now, throttleKey{attemptsAtAccount, fmt.Sprint("someone", i)})
		if len(th.fails) > throttleCap {
			t.Fatalf("got %d keys", len(th.fails))
		}
	}
	if th.attempt(now, victim...) == 0 {
		t.Error("a flood of other names evicted alice's failures")
	}
}
