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

// The length of a chunked body is unknown in advance, and some clients and proxies
// send all bodies so. Once read, a large body is no longer needed.
func TestAWaitingCallReservesOnlyTheMemoryOfItsBody(t *testing.T) {
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
		t.Fatal("waiting calls occupy the memory of all callers")
	}
	s.srv.gate.all.Release(gateBytes)
	for _, agent := range []string{"coder", "reviewer", "pull", "pull"} {
		s.create(agent, `"start":false`)
	}
	for range 4 {
		(<-got).want(200)
	}
}

// The text of a delegated task may contain the name of a tool that reads lists.
func TestAWaitingMCPCallReservesNoMemoryForLists(t *testing.T) {
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
		t.Error("a waiting call occupies the memory of all callers")
	} else {
		s.srv.gate.all.Release(gateBytes)
	}
	close(end)
	(<-got).want(200)
}
