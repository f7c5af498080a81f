package handlers

import (
	"strings"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

// TestEventsAboutPeopleAreForAdmins signs a person in, has a sign-in fail, creates a
// token and has a request refused, and then reads the log as every role on every
// surface that shows it.
func TestEventsAboutPeopleAreForAdmins(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	if _, err := s.svc.AddUser(ctx, task.SystemActor, "maya", "correct horse battery", task.RoleViewer); err != nil {
		t.Fatal(err)
	}
	_, _ = s.svc.SignIn(ctx, "maya", "wrong", task.Actor{Addr: "203.0.113.9"})
	if _, err := s.svc.SignIn(ctx, "maya", "correct horse battery", task.Actor{Addr: "203.0.113.9"}); err != nil {
		t.Fatal(err)
	}
	s.host.Mint("extra", service.NewToken{Scope: "read"})
	s.do("viewer", "POST", "/api/tasks", fine).problem(403, task.CodeForbidden)
	s.create("pull", "")
	secret := []string{"203.0.113.9", `"user.`, `"token.`, `"access.`}
	for _, role := range siteRoles {
		if role == "nobody" || role == "worker" {
			continue
		}
		t.Run(role, func(t *testing.T) {
			page := string(s.do(role, "GET", "/api/events?limit=500", "").want(200).Body)
			one := string(s.do(role, "GET", "/api/tasks/1/events?limit=500", "").want(200).Body)
			st := s.follow(t, role, "/api/events?after=0")
			var live strings.Builder
			for !strings.Contains(live.String(), task.EvTaskCreated) {
				live.WriteString(st.next("data: "))
			}
			for _, word := range secret {
				if got := strings.Contains(page, word); got != (role == "admin") {
					t.Errorf("the log contains %s: %v", word, got)
				}
				if got := strings.Contains(live.String(), word); got != (role == "admin") {
					t.Errorf("the stream contains %s: %v", word, got)
				}
				if strings.Contains(one, word) {
					t.Errorf("the log of a task contains %s", word)
				}
			}
			if !strings.Contains(page, task.EvTaskCreated) || !strings.Contains(one, task.EvTaskCreated) {
				t.Error("the events of tasks are missing")
			}
		})
	}
	t.Run("a page of the log is full although lines are omitted", func(t *testing.T) {
		a := decode[struct{ Events []task.Event }](s.do("viewer", "GET", "/api/events?limit=1", "").want(200))
		if len(a.Events) != 1 {
			t.Errorf("got %d events", len(a.Events))
		}
	})
	t.Run("an unknown kind is for admins", func(t *testing.T) {
		for _, r := range []task.Role{task.RoleAgent, task.RoleViewer, task.RoleOperator, task.RoleReviewer, task.RoleNone, "new"} {
			if task.EventNouns(r) == nil {
				t.Errorf("%q may read everything", r)
			}
		}
	})
}
