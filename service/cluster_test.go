package service

import (
	"sync"
	"testing"

	"taskyard/db/dbtest"
	"taskyard/task"
)

// Delegated runs are executed where the parent's files are.
func TestADelegatedRunStaysWithTheServerOfItsParent(t *testing.T) {
	t.Parallel()
	inst := delegating(t)
	ok(t, inst.s.Join(inst.ctx(), task.Server{ID: "a"}))
	_, parent, own := inst.inRun("boss")
	d := inst.delegate(own, task.Delegation{})
	want := ""
	if dbtest.Postgres() {
		want = "a"
	}
	equal(t, "server of the parent", inst.run(parent.Run.ID).Server, want)
	equal(t, "server of the delegated run", inst.run(d.RunID).Server, want)
	if dbtest.Postgres() {
		other := inst.service()
		ok(t, other.Join(inst.ctx(), task.Server{ID: "b"}))
		st, _, err := other.NextRun(inst.ctx(), nil)
		if err != nil || st != nil {
			t.Errorf("another server started %+v, %v", st, err)
		}
	}
	equal(t, "the run that it starts", inst.start().Run.ID, d.RunID)
}

// Servers that start at the same time on one database agree on the form key.
func TestServersShareTheFormKey(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	if !dbtest.Postgres() {
		if key, err := inst.s.FormKey(t.Context()); key != nil || err != nil {
			t.Errorf("single server: got key %q, %v", key, err)
		}
		return
	}
	keys := make([]string, 4)
	var all sync.WaitGroup
	for i := range keys {
		s := inst.service()
		all.Go(func() {
			key, err := s.FormKey(t.Context())
			if err != nil {
				t.Error(err)
			}
			keys[i] = string(key)
		})
	}
	all.Wait()
	for _, key := range keys {
		if len(key) < 32 || key != keys[0] {
			t.Errorf("got keys %q", keys)
		}
	}
}

// A stopping server knows the servers that joined since its last heartbeat.
func TestAStoppingServerKnowsTheOthers(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	ok(t, inst.s.Join(t.Context(), task.Server{ID: "first"}))
	equal(t, "others, alone", inst.s.BeginStop(t.Context()), false)
	ok(t, inst.service().Join(t.Context(), task.Server{ID: "second"}))
	equal(t, "others", inst.s.BeginStop(t.Context()), dbtest.Postgres())
	equal(t, "stopping", inst.s.Stopping(), true)
}
