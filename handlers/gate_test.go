package handlers

import (
	"io"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
)

// The length of a body that is sent in pieces is not told, and some clients and
// proxies send all of them so.
func TestACallThatWaitsHoldsNoMoreMemoryThanItsBodyNeeds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	waiting := 0
	got := make(chan answer, 4)
	for _, caller := range []string{"agent", "reviewer-agent", "pull", "pull"} {
		agent := map[string]string{"agent": "coder", "reviewer-agent": "reviewer", "pull": "pull"}[caller]
		req := s.request(caller, "POST", "/api/agents/"+agent+"/signup", "", "Content-Type", "application/json")
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(`{"waitSeconds":50}`)), -1
		go func() { got <- s.send(req) }()
		waiting++
		testkit.EventuallyWithin(t, 20*time.Second, "the signup waits", func() bool { return s.svc.WaitingSignups() == waiting })
	}
	if !s.srv.gate.all.TryAcquire(gateBytes) {
		t.Fatal("the memory of all callers is held by calls that wait")
	}
	s.srv.gate.all.Release(gateBytes)
	for _, agent := range []string{"coder", "reviewer", "pull", "pull"} {
		s.create(agent, `"start":false`)
	}
	for range 4 {
		(<-got).want(200)
	}
}
