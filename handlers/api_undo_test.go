package handlers

import (
	"context"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

func TestADecisionIsUndoneOverTheAPI(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	path, made := s.requestRun("reviewer")
	s.do("reviewer", "POST", path+"/undo", "").problem(409, task.CodeRunDecided)
	for _, bad := range []string{"-1", "61", "1e9", `"5"`} {
		s.do("reviewer", "POST", path+"/approve", `{"undoSeconds":`+bad+`}`).problem(422, task.CodeInvalidField)
		s.do("reviewer", "POST", path+"/deny", `{"reason":"no","undoSeconds":`+bad+`}`).problem(422, task.CodeInvalidField)
	}
	for act, body := range map[string]string{"approve": `{"undoSeconds":5}`, "deny": `{"reason":"no","undoSeconds":5}`} {
		r := decode[runBody](s.do("reviewer", "POST", path+"/"+act, body).want(200))
		if r.Phase != task.PhaseApproval || r.Held == nil || !strings.HasPrefix(r.Held.Decision, act) && r.Held.Decision != "denied" {
			t.Fatalf("got %+v", r)
		}
		s.do("admin", "POST", path+"/approve", "").problem(409, task.CodeRunDecided)
		s.do("admin", "POST", path+"/undo", "").problem(403, task.CodeForbidden)
		if r := decode[runBody](s.do("reviewer", "POST", path+"/undo", "{}").want(200)); r.Held != nil || r.Phase != task.PhaseApproval {
			t.Fatalf("got %+v", r)
		}
	}
	s.do("reviewer", "POST", path+"/deny", `{"reason":"no","undoSeconds":5}`).want(200)
	s.Forward(5 * time.Second)
	s.do("reviewer", "POST", path+"/undo", "").problem(409, task.CodeRunDecided)
	if _, _, err := s.svc.NextRun(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if r := decode[runBody](s.do("viewer", "GET", path, "").want(200)); r.Phase != task.PhaseDenied ||
		r.Held != nil || r.TaskID != made.TaskID {
		t.Fatalf("got %+v", r)
	}
}
