package service

import (
	"sync"
	"sync/atomic"
	"testing"

	"taskyard/db/dbtest"
	"taskyard/task"
)

// Each of several servers writes a setup link to its log. The newest link of each
// server is valid until one is used.
func TestSetupLinksOfSeveralServers(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	link := func(server string) string {
		ok(t, inst.s.Join(inst.ctx(), task.Server{ID: server}))
		return must(inst.s.SetupLink(inst.ctx()))
	}
	ofA, replaced, ofB := link("a"), link("b"), link("b")
	valid := map[string]bool{ofA: dbtest.Postgres(), replaced: false, ofB: true}
	for link, want := range valid {
		equal(t, "valid", inst.s.SetupValid(inst.ctx(), link) == nil, want)
	}
	must(inst.s.FirstAdmin(inst.ctx(), ofB, "maya", "correct horse battery"))
	for link := range valid {
		equal(t, "code", task.IsCode(inst.s.SetupValid(inst.ctx(), link), task.CodeSetupDone), true)
	}
}

func TestConcurrentGuessesAreThrottled(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	must(inst.s.FirstAdmin(inst.ctx(), must(inst.s.SetupLink(inst.ctx())), "maya", "correct horse battery"))
	guess := func(n int, password string) (checked int64) {
		var all sync.WaitGroup
		var count atomic.Int64
		start := make(chan struct{})
		for range n {
			all.Go(func() {
				<-start
				if _, err := inst.s.SignIn(inst.ctx(), "maya", password, task.Actor{Addr: "192.0.2.1"}); !task.IsCode(err, task.CodeRateLimited) {
					count.Add(1)
				}
			})
		}
		close(start)
		all.Wait()
		return count.Load()
	}
	t.Run("of many wrong passwords three are checked", func(t *testing.T) {
		equal(t, "checked", guess(12, "wrong wrong wrong"), 3)
	})
	t.Run("the right password after the wait clears the account, and is not a failure of the address", func(t *testing.T) {
		inst.Forward(task.MaxWait * 10)
		must(inst.s.SignIn(inst.ctx(), "maya", "correct horse battery", task.Actor{Addr: "192.0.2.1"}))
		for range 30 {
			must(inst.s.SignIn(inst.ctx(), "maya", "correct horse battery", task.Actor{Addr: "192.0.2.1"}))
		}
	})
}
