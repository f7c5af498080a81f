package handlers

import (
	"context"
	"strings"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

func TestMessagesToARunOverJSON(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.runNew().Run
	at := "/api/runs/" + r.ID.String()
	for _, caller := range []string{"agent", "viewer"} {
		s.do(caller, "POST", at+"/messages", `{"text":"x"}`).problem(403, task.CodeForbidden)
	}
	s.do("operator", "POST", at+"/messages", `{"text":" "}`).problem(422, task.CodeInvalidField)
	s.do("operator", "POST", "/api/runs/99/messages", `{"text":"x"}`).problem(404, task.CodeRunNotFound)
	m := decode[task.RunMessage](s.do("operator", "POST", at+"/messages", `{"text":"use tabs"}`).want(200))
	if m.Text != "use tabs" || m.Delivered() {
		t.Errorf("got message %+v", m)
	}
	s.ok(s.svc.DeliverRunMessage(context.Background(), r.ID, r.Lease, m.ID))
	got := decode[struct{ Said []task.RunMessage }](s.do("viewer", "GET", at, "").want(200))
	if len(got.Said) != 1 || !got.Said[0].Delivered() {
		t.Errorf("got messages %+v", got.Said)
	}
	if err := s.svc.FinishRun(context.Background(), r.ID, r.Lease,
		service.Finished{State: task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}, Summary: "x"}); err != nil {
		t.Fatal(err)
	}
	s.do("operator", "POST", at+"/messages", `{"text":"x"}`).problem(409, task.CodeRunEnded)
}

func TestTheRunPageSendsMessages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.runNew().Run
	page := "/runs/" + r.ID.String()
	body := string(s.do("viewer", "GET", page, "").want(200).Body)
	if strings.Contains(body, "message-form") {
		t.Error("a viewer is shown the form")
	}
	if _, err := s.svc.SendRunMessage(context.Background(), mayaActor, r.ID, "use <tabs>"); err != nil {
		t.Fatal(err)
	}
	body = string(s.do("viewer", "GET", page, "").want(200).Body)
	for _, want := range []string{"Messages to this run", "use &lt;tabs&gt;", "Queued"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
