package model

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// scripted returns each of its errors, and then replies.
type scripted struct {
	errs  []error
	tries int
}

func (s *scripted) Turn(_ context.Context, _ Request, on func(Delta)) (Reply, error) {
	s.tries++
	on(Delta{Text: "a beginning"})
	if s.tries <= len(s.errs) {
		return Reply{}, s.errs[s.tries-1]
	}
	return Reply{Text: "done"}, nil
}

func TestFailedTurnsAreRetried(t *testing.T) {
	t.Parallel()
	overload := &Error{Kind: KindOverload}
	tests := []struct {
		name       string
		errs       []error
		tries      int
		ok         bool
		least, max time.Duration
	}{
		{
			"after temporary errors, with growing waits",
			[]error{overload, &Error{Kind: KindServer}, &Error{Kind: KindConnection}},
			4, true, 2600 * time.Millisecond, 4400 * time.Millisecond,
		},
		{
			"five times at most",
			[]error{overload, overload, overload, overload, overload},
			5, false, 5600 * time.Millisecond, 9400 * time.Millisecond,
		},
		{
			"no sooner than the provider says",
			[]error{&Error{Kind: KindRate, After: 20 * time.Second}},
			2, true, 20 * time.Second, 22 * time.Second,
		},
		{"not if the provider asks for a long wait", []error{&Error{Kind: KindRate, After: time.Hour}}, 1, false, 0, 0},
		{"not after a refused key", []error{&Error{Kind: KindAuth}}, 1, false, 0, 0},
		{"not after an unknown error", []error{errors.New("strange")}, 1, false, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, begin, reported := &scripted{errs: tt.errs}, time.Now(), 0
				_, err := Retry(s).Turn(t.Context(), hello, func(d Delta) {
					if d.Again != nil {
						reported++
						equal(t, "number of the reported try", d.Again.Attempt, reported+1)
					}
				})
				equal(t, "success", err == nil, tt.ok)
				equal(t, "tries", s.tries, tt.tries)
				equal(t, "reported retries", reported, tt.tries-1)
				if took := time.Since(begin); took < tt.least || took > tt.max {
					t.Errorf("it took %v, want %v to %v", took, tt.least, tt.max)
				}
			})
		})
	}
}

func TestAWaitEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("somebody stopped it")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		begin := time.Now()
		_, err := Retry(&scripted{errs: []error{&Error{Kind: KindRate, After: time.Minute}}}).Turn(ctx, hello, func(Delta) {})
		equal(t, "error", err, stop)
		equal(t, "time", time.Since(begin), time.Second)
	})
}
