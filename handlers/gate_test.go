package handlers

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// The length of a body that is sent in pieces is not told, and some clients and
// proxies send all of them so. A large one is not needed any more once it is read.
func TestACallThatWaitsHoldsNoMoreMemoryThanItsBodyNeeds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	waiting := 0
	got := make(chan answer, 4)
	for _, caller := range []string{"agent", "reviewer-agent", "pull", "pull"} {
		agent := map[string]string{"agent": "coder", "reviewer-agent": "reviewer", "pull": "pull"}[caller]
		body := `{"waitSeconds":50}`
		if waiting%2 == 1 {
			body += strings.Repeat(" ", maxBody-len(body))
		}
		req := s.request(caller, "POST", "/api/agents/"+agent+"/signup", body, "Content-Type", "application/json")
		if waiting < 2 {
			req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), -1
		}
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

// The name of a tool that reads lists may be in the text of a task that is delegated.
func TestAnMCPCallThatWaitsHoldsNoShareOfAList(t *testing.T) {
	t.Parallel()
	waits, end := make(chan bool), make(chan bool)
	s := newSite(t, func(o setup) {
		o.MCP = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			task.BeginWait(r.Context())
			waits <- true
			<-end
		})
	})
	got := make(chan answer, 1)
	go func() {
		got <- s.do("agent", "POST", "/mcp", `{"method":"tools/call","params":{"description":"Call get_task first."}}`)
	}()
	<-waits
	if !s.srv.gate.all.TryAcquire(gateBytes) {
		t.Error("the memory of all callers is held by a call that waits")
	} else {
		s.srv.gate.all.Release(gateBytes)
	}
	close(end)
	(<-got).want(200)
}
