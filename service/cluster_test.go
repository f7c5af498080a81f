package service

import (
	"sync"
	"testing"

	"taskyard/db/dbtest"
)

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
