package service

import (
	"sync"
	"testing"

	"taskyard/db/dbtest"
	"taskyard/task"
)

// What a run delegates is executed where its files are.
func TestADelegatedRunStaysWithTheServerOfItsParent(t *testing.T) {
	t.Parallel()
	y := delegating(t)
	ok(t, y.s.Join(y.ctx(), task.Server{ID: "a"}))
	_, parent, own := y.inRun("boss")
	d := y.delegate(own, task.Delegation{})
	want := ""
	if dbtest.Postgres() {
		want = "a"
	}
	equal(t, "server of the parent", y.run(parent.Run.ID).Server, want)
	equal(t, "server of what it delegated", y.run(d.RunID).Server, want)
	if dbtest.Postgres() {
		other := y.service()
		ok(t, other.Join(y.ctx(), task.Server{ID: "b"}))
		st, _, err := other.NextRun(y.ctx(), nil)
		if err != nil || st != nil {
			t.Errorf("another server starts %+v, %v", st, err)
		}
	}
	equal(t, "what it starts", y.start().Run.ID, d.RunID)
}

// Servers that start at the same time on one database agree on the key of forms.
func TestServersKnowEachOthersForms(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	if !dbtest.Postgres() {
		if key, err := y.s.FormKey(t.Context()); key != nil || err != nil {
			t.Errorf("a server that is alone has the key %q, %v", key, err)
		}
		return
	}
	keys := make([]string, 4)
	var all sync.WaitGroup
	for i := range keys {
		s := y.service()
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
			t.Errorf("the keys are %q", keys)
		}
	}
}

// A server that stops knows those that came since its last heartbeat.
func TestAServerThatStopsKnowsTheOthers(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	ok(t, y.s.Join(t.Context(), task.Server{ID: "first"}))
	equal(t, "others, alone", y.s.BeginStop(t.Context()), false)
	ok(t, y.service().Join(t.Context(), task.Server{ID: "second"}))
	equal(t, "others", y.s.BeginStop(t.Context()), dbtest.Postgres())
	equal(t, "it stops", y.s.Stopping(), true)
}
