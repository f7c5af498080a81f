package handlers

import (
	"net/http"
	"strings"
	"testing"

	"taskyard/task"
)

type pausesBody struct {
	Pauses []struct{ Agent, By, Reason, Since string }
	Runs   []string `json:"stopped"`
}

func TestPauseAndResumeOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("coder", `"start":false`)
	got := decode[pausesBody](s.do("operator", "POST", "/api/pause", `{"agent":"coder","reason":"a bad key"}`).want(200))
	if len(got.Pauses) != 1 || got.Pauses[0].Agent != "coder" || got.Pauses[0].By != "user:operator" ||
		got.Pauses[0].Since != "2026-03-02T09:00:00.000Z" {
		t.Fatalf("got %+v", got)
	}
	t.Run("the signup of a paused agent says who paused it, when and why, and when to retry", func(t *testing.T) {
		for path, body := range map[string]string{"signup": "", "complete-and-signup": `{"taskId":99}`} {
			a := s.do("agent", "POST", "/api/agents/coder/"+path, body)
			if path == "complete-and-signup" {
				a.problem(404, task.CodeTaskNotFound) // the pause does not hide other errors
				continue
			}
			p := a.problem(409, task.CodePaused)
			for _, w := range []string{"agent coder has been paused by operator since 2026-03-02 09:00 UTC", "a bad key"} {
				if !strings.Contains(p.Detail, w) {
					t.Errorf("%q does not contain %q", p.Detail, w)
				}
			}
			if a.Header.Get("Retry-After") != "60" {
				t.Errorf("got Retry-After %q", a.Header.Get("Retry-After"))
			}
		}
	})
	t.Run("a completion is accepted, and the response says why no task follows", func(t *testing.T) {
		k := s.create("coder", "")
		got := decode[struct {
			Task   *task.Task `json:"task"`
			Paused string     `json:"paused"`
		}](s.do("agent", "POST", "/api/agents/coder/complete-and-signup", `{"taskId":`+strings.TrimPrefix(k, "/api/tasks/")+`}`).want(200))
		if got.Task != nil || !strings.HasPrefix(got.Paused, "agent coder has been paused by operator") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("agents can read what is paused", func(t *testing.T) {
		if got := decode[pausesBody](s.do("agent", "GET", "/api/pauses", "").want(200)); len(got.Pauses) != 1 ||
			got.Pauses[0].Reason != "a bad key" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("pausing twice, or resuming without a pause, is a conflict", func(t *testing.T) {
		s.do("operator", "POST", "/api/pause", `{"agent":"coder","reason":"x"}`).problem(409, task.CodePaused)
		for _, body := range []string{"", "{}", `{"agent":"reviewer"}`} {
			s.do("operator", "POST", "/api/resume", body).problem(409, task.CodeNotPaused)
		}
	})
	t.Run("everything stops at once, and a resume needs no body", func(t *testing.T) {
		got := decode[pausesBody](s.do("reviewer", "POST", "/api/stop-everything", `{"reason":"a leak"}`).want(200))
		if len(got.Pauses) != 2 || got.Pauses[0].Agent != "" || got.Runs == nil {
			t.Errorf("got %+v", got)
		}
		got = decode[pausesBody](s.do("operator", "POST", "/api/resume", "").want(200))
		if len(got.Pauses) != 1 {
			t.Errorf("got %+v", got)
		}
		s.do("operator", "POST", "/api/resume", `{"agent":"coder","reason":"new key"}`).want(200)
		s.claim("agent", "coder")
	})
	t.Run("errors name the invalid field", func(t *testing.T) {
		for path, fields := range map[string]map[string]string{
			"/api/pause": {
				`{}`: "reason", `{"reason":" "}`: "reason", `{"reason":5}`: "reason",
				`{"reason":"x","agents":"coder"}`: "agents", `{"reason":"` + strings.Repeat("x", 64<<10+1) + `"}`: "reason",
			},
			"/api/stop-everything": {`{}`: "reason", `{"reason":""}`: "reason", `{"reason":"x","agent":"coder"}`: "agent"},
			"/api/resume":          {`{"agent":7}`: "agent", `{"why":"x"}`: "why"},
		} {
			for body, field := range fields {
				s.do("operator", "POST", path, body).field(task.CodeInvalidField, field)
			}
		}
		s.do("operator", "POST", "/api/pause", `{"agent":"../coder","reason":"x"}`).field(task.CodeUnknownAgent, "agent")
		if got := decode[pausesBody](s.do("viewer", "GET", "/api/pauses", "").want(200)); len(got.Pauses) != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestTheInboxOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.create("coder", `"start":false`)
	notice := decode[struct{ ID string }](s.do("agent", "POST", "/api/tasks/"+id+"/notify", `{"message":"half done"}`).want(201)).ID
	question := decode[struct{ ID string }](s.do("agent", "POST", "/api/tasks/"+id+
		"/notify", `{"message":"left?","needsReply":true}`).want(201)).ID
	_, run := s.requestRun("reviewer")
	type item struct{ TaskID, Title, Owner, MessageID, Author, Text string }
	type inbox struct {
		Questions, Notices, Stuck, BlockerCanceled []item
		Approvals                                  []runBody
		Totals                                     task.InboxTotals
	}
	got := decode[inbox](s.do("viewer", "GET", "/api/inbox", "").want(200))
	if len(got.Questions) != 1 || got.Questions[0] != (item{id, "a task", "coder", question, "coder", "left?"}) ||
		len(got.Notices) != 1 || got.Notices[0].MessageID != notice {
		t.Errorf("got %+v", got)
	}
	if len(got.Approvals) != 1 || got.Approvals[0].ID != run.ID || got.Stuck == nil || got.BlockerCanceled == nil || got.Totals.All() != 3 {
		t.Errorf("got %+v", got)
	}
	at := "/api/inbox/notices/" + notice + "/acknowledge"
	s.do("agent", "POST", at, "").problem(http.StatusForbidden, task.CodeForbidden)
	for _, body := range []string{"", "{}"} {
		s.do("operator", "POST", at, body).want(200)
	}
	s.do("operator", "POST", "/api/inbox/notices/"+question+"/acknowledge", "").problem(404, task.CodeNotFound)
	s.do("operator", "POST", "/api/inbox/notices/0/acknowledge", "").want(422)
	if n := decode[inbox](s.do("agent", "GET", "/api/inbox", "").want(200)).Totals.Notices; n != 0 {
		t.Errorf("got %d remaining notices", n)
	}
}
