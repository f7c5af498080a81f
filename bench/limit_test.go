package main

import (
	"strings"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/internal/testkit"
)

const few = 40

func newStore(t *testing.T) *store {
	t.Helper()
	s, err := openStore(t.Context(), t.TempDir(), few)
	testkit.NoError(t, err)
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// claims counts the live claims of all owners, as package db sees them.
func claims(t *testing.T, s *store) int {
	t.Helper()
	sum := 0
	err := s.db.Read(t.Context(), func(rx *db.Rx) error {
		for n := range int64(owners) {
			held, err := rx.Claims(owner(n))
			if err != nil {
				return err
			}
			sum += held
		}
		return nil
	})
	testkit.NoError(t, err)
	return sum
}

func events(t *testing.T, s *store) int {
	t.Helper()
	var last int
	err := s.db.Read(t.Context(), func(rx *db.Rx) error {
		id, err := rx.LastEventID()
		last = int(id)
		return err
	})
	testkit.NoError(t, err)
	return last
}

func TestTheLimitDoesTheWorkOfTheStore(t *testing.T) {
	t.Parallel()
	for _, perTx := range []int{1, 64} {
		s := newStore(t)
		n, _, err := s.limit.run(claiming, perTx, time.Minute)
		testkit.NoError(t, err)
		// The lap ends at the first empty queue. The queues differ by at most one
		// task, so that at least these are claimed.
		full := few / owners * owners
		t.Run("it claims what the queues hold, each once", func(t *testing.T) {
			if n < full || n > few || claims(t, s) != n {
				t.Errorf("claimed %d, but %d claims are held", n, claims(t, s))
			}
		})
		t.Run("it writes one event for each claim", func(t *testing.T) {
			if got := events(t, s); got != n {
				t.Errorf("got %d events, want %d", got, n)
			}
		})
		t.Run("rest releases all claims", func(t *testing.T) {
			if err := s.limit.rest(); err != nil || claims(t, s) != 0 {
				t.Errorf("%d claims are still held: %v", claims(t, s), err)
			}
		})
		t.Run("it creates tasks that the store can claim", func(t *testing.T) {
			made, _, err := s.limit.run(creating, perTx, 20*time.Millisecond)
			if err != nil || made == 0 || events(t, s) != n+made {
				t.Fatalf("created %d tasks; got %d events, %d before: %v", made, events(t, s), n, err)
			}
			if err := claim(t.Context(), s.db, 0); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheLimitUsesTheStatementsOfTheStore(t *testing.T) {
	t.Parallel()
	sql, err := recordStatements()
	testkit.NoError(t, err)
	path := newStore(t).db.Path()
	t.Run("a statement with a different number of values is refused", func(t *testing.T) {
		other := sql
		other.tail = "SELECT hash FROM events WHERE ?1 = ?2"
		if _, err := openLimit(path, other); err == nil || !strings.Contains(err.Error(), "takes 2 values, bench/limit.c binds 0") {
			t.Error(err)
		}
	})
	t.Run("broken SQL is refused", func(t *testing.T) {
		other := sql
		other.insert = "INSERT"
		if _, err := openLimit(path, other); err == nil {
			t.Error("opened, want an error")
		}
	})
	t.Run("a missing file is refused", func(t *testing.T) {
		if _, err := openLimit(path+"x", sql); err == nil {
			t.Error("opened, want an error")
		}
	})
	t.Run("a statement that was never executed is named", func(t *testing.T) {
		if _, err := choose([]string{sql.claim}); err == nil || !strings.Contains(err.Error(), "SELECT hash FROM events") {
			t.Error(err)
		}
	})
	t.Run("two statements of the same kind are refused", func(t *testing.T) {
		if _, err := choose([]string{sql.claim, sql.claim + " "}); err == nil {
			t.Error("accepted, want an error")
		}
	})
}

func TestStoreRows(t *testing.T) {
	t.Parallel()
	small, large := newStore(t), newStore(t)
	var out sheet
	testkit.NoError(t, measureStores(t.Context(), &out, []*store{small, large}, 2, 5*time.Millisecond))
	t.Run("each row has rate, p99 and share of the limit, and claims are compared", func(t *testing.T) {
		if len(out.figures) != 4*len(storeRows)+1 {
			t.Errorf("got %d figures", len(out.figures))
		}
	})
	for _, f := range out.figures {
		if f.Value <= 0 || len(f.Rounds) < 2 {
			t.Errorf("%+v", f)
		}
	}
}
