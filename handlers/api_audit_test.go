package handlers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

// auditLog returns the whole log as the caller sees it.
func (s *site) auditLog(caller string) []task.Event {
	s.t.Helper()
	var page struct {
		Events []task.Event `json:"events"`
	}
	body := s.do(caller, "GET", "/api/events?limit=500", "").want(200).Body
	s.ok(json.Unmarshal(body, &page))
	return page.Events
}

// lastEvent returns the newest line of a kind.
func (s *site) lastEvent(caller, kind string) task.Event {
	s.t.Helper()
	var found task.Event
	for _, e := range s.auditLog(caller) {
		if e.Kind == kind {
			found = e
		}
	}
	if found.ID == 0 {
		s.t.Fatalf("%s is not in the log", kind)
	}
	return found
}

func TestEventsNameTokenAndRequestAndShowTheAddressToAdmins(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.host.Mint("ci", service.NewToken{Name: "nightly", Scope: "operate"})
	answer := s.do("ci", "POST", "/api/tasks", fine).want(201)
	e := s.lastEvent("admin", task.EvTaskCreated)
	if e.TokenID != id || e.RequestID != answer.Header.Get("X-Request-Id") || e.Address != "127.0.0.1" {
		t.Errorf("got token %d, request %q, address %q; want %d, %q, 127.0.0.1", e.TokenID,
			e.RequestID, e.Address, id, answer.Header.Get("X-Request-Id"))
	}
	for _, caller := range []string{"viewer", "operator", "reviewer", "agent"} {
		if e := s.lastEvent(caller, task.EvTaskCreated); e.Address != "" || e.TokenID != id {
			t.Errorf("%s sees token %d and address %q", caller, e.TokenID, e.Address)
		}
	}
}

func TestRefusalsAreCountedAndSampled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("pull", "")
	for range 5 {
		s.do("viewer", "POST", "/api/tasks", fine).want(403)          // the role lacks the permission
		s.do("agent", "POST", "/api/tasks/1/complete", "").want(403)  // the task belongs to another agent
		s.host.SetToken("guess", "ty_"+strings.Repeat("guess", 8))    // not a valid token
		s.do("guess", "GET", "/api/tasks", "").want(401)              //
		s.do("viewer", "POST", "/api/tasks/1/complete", "").want(403) // another route
	}
	got := map[string]int{}
	for _, e := range s.auditLog("admin") {
		if e.Kind != task.EvRefused {
			continue
		}
		var why struct{ What, Reason, Hint string }
		s.ok(json.Unmarshal(e.Changes, &why))
		got[fmt.Sprintf("%s: %s %s%s", e.Actor, why.Reason, why.What, why.Hint)]++
		if e.RequestID == "" || e.Address != "127.0.0.1" {
			t.Errorf("got a refusal without request or address: %+v", e)
		}
		if strings.Contains(string(e.Changes), "guessguess") {
			t.Errorf("got more of a secret than its first characters: %s", e.Changes)
		}
	}
	want := []string{
		"user:viewer: permission POST /api/tasks", "user:viewer: permission POST /api/tasks/:id/complete",
		"coder: relation POST /api/tasks/:id/complete", "system: token tokenty_guessg",
	}
	for _, w := range want {
		if got[w] != 1 {
			t.Errorf("%s: logged %d times, want once", w, got[w])
		}
	}
	if len(got) != len(want) {
		t.Errorf("got log %v", got)
	}
	metrics := string(s.do("viewer", "GET", "/metrics", "").want(200).Body)
	for _, m := range []string{`{reason="permission"} 10`, `{reason="relation"} 5`, `{reason="token"} 5`} {
		if !strings.Contains(metrics, "taskyard_refusals_total"+m) {
			t.Errorf("metric %s is missing", m)
		}
	}
}

// An unlimited number of callers and actions does not fill the log.
func TestLoggedRefusalsAreBoundedPerMinute(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 80 {
		s.svc.Refused(t.Context(), task.Actor{Name: fmt.Sprintf("agent%d", i), Role: task.RoleAgent}, "tool x",
			task.Actor{}.CheckPerm(task.Admin))
	}
	n := 0
	for _, e := range s.auditLog("admin") {
		if e.Kind == task.EvRefused {
			n++
		}
	}
	if n != 60 || s.svc.Refusals()["permission"] != 80 {
		t.Errorf("got %d logged, %v counted; want 60 and 80", n, s.svc.Refusals())
	}
}

func TestTokenNamesAreUniqueWhileValid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const body = `{"name":"nightly","scope":"read"}`
	var made struct{ ID task.ID }
	if err := json.Unmarshal(s.do("admin", "POST", "/api/tokens", `{"name":"Nightly","scope":"read","days":1}`).want(201).Body,
		&made); err != nil {
		t.Fatal(err)
	}
	s.do("admin", "POST", "/api/tokens", body).problem(409, task.CodeNameTaken)
	s.Forward(25 * 3600e9) // the first token has expired
	s.do("admin", "POST", "/api/tokens", body).want(201)
	s.do("admin", "POST", "/api/tokens", body).problem(409, task.CodeNameTaken)
	list, err := s.svc.Tokens(t.Context(), task.Actor{Role: task.RoleAdmin})
	s.ok(err)
	for _, tok := range list {
		if tok.ID == made.ID && tok.RevokedAt == 0 {
			t.Error("the expired token whose name is used again was not revoked")
		}
	}
}
