package handlers

import (
	"context"
	"strings"
	"testing"

	"taskyard/task"
)

type runBody struct {
	ID, TaskID       string
	Status           task.RunStatus
	Phase            task.Phase
	RetryOf, Summary string
	Limits           task.Limits
	Approval         *task.Approval
	Held             *task.PendingDecision
	Spec             *task.Spec
	Usage            task.Usage
}

// requestRun requests a run of a new task of an agent and returns the run's path.
func (s *site) requestRun(agent string) (path string, r runBody) {
	s.t.Helper()
	id := s.create(agent, "")
	r = decode[struct{ Run runBody }](s.do("operator", "POST", "/api/tasks/"+id+"/run", "").want(202)).Run
	return "/api/runs/" + r.ID, r
}

func TestAWaitingRunShowsExactlyWhatWillRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	path, made := s.requestRun("reviewer")
	if made.Status != task.RunPending || made.Phase != task.PhaseApproval {
		t.Fatalf("got %+v", made)
	}
	r := decode[runBody](s.do("viewer", "GET", path, "").want(200))
	if r.Spec == nil || !strings.Contains(r.Spec.Prompt, "a task") || r.Spec.SystemPrompt == "" ||
		r.Approval.Version == "" || r.Limits.TimeoutSeconds == 0 {
		t.Fatalf("got %+v", r)
	}
	s.do("reviewer", "POST", path+"/approve", `{"version":"old"}`).problem(409, task.CodeRunChanged)
	s.do("reviewer", "POST", path+"/approve", `{"scope":"ever"}`).field(task.CodeInvalidField, "scope")
	s.do("reviewer", "POST", path+"/approve", `{"limits":{"timeoutSeconds":999999}}`).field(task.CodeInvalidField, "limits.timeoutSeconds")
	s.do("agent", "POST", path+"/approve", "").problem(403, task.CodeForbidden)
	a := decode[runBody](s.do("reviewer", "POST", path+"/approve", `{"version":"`+
		r.Approval.Version+`","limits":{"timeoutSeconds":7}}`).want(200))
	if a.Phase != task.PhaseQueued || a.Approval.Decision != "approved" ||
		a.Approval.By != "user:reviewer" || a.Limits.TimeoutSeconds != 7 || a.Spec != nil {
		t.Fatalf("got %+v", a)
	}
	p := s.do("reviewer", "POST", path+"/approve", "").problem(409, task.CodeRunDecided)
	if !strings.Contains(p.Detail, "approved by reviewer") {
		t.Errorf("the error does not name the decision: %s", p.Detail)
	}
	s.do("reviewer", "POST", path+"/deny", `{"reason":"late"}`).problem(409, task.CodeRunDecided)
}

func TestDecisionsWorkWithoutABody(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, body := range []string{"", "{}"} {
		path, _ := s.requestRun("reviewer")
		s.do("reviewer", "POST", path+"/approve", body).want(200)
		s.do("reviewer", "POST", path+"/retry", body).problem(409, task.CodeRunNotFinal)
		s.do("reviewer", "POST", path+"/cancel", body).want(200)
		s.do("reviewer", "POST", path+"/cancel", body).problem(409, task.CodeRunEnded)
		again := decode[runBody](s.do("reviewer", "POST", path+"/retry", body).want(200))
		if again.RetryOf != strings.TrimPrefix(path, "/api/runs/") || again.Status != task.RunPending {
			t.Errorf("got %+v", again)
		}
	}
}

func TestDenyRequiresAReason(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	path, r := s.requestRun("reviewer")
	s.do("reviewer", "POST", path+"/deny", "").problem(400, task.CodeInvalidJSON)
	s.do("reviewer", "POST", path+"/deny", "{}").field(task.CodeInvalidField, "reason")
	s.do("reviewer", "POST", path+"/deny", `{"reason":" "}`).field(task.CodeInvalidField, "reason")
	s.do("reviewer", "POST", path+"/deny", `{"reason":"too wide"}`).want(200)
	thread := s.do("viewer", "GET", "/api/tasks/"+r.TaskID+"/thread", "").want(200)
	if !strings.Contains(string(thread.Body), "too wide") {
		t.Errorf("the thread does not contain the reason: %s", thread.Body)
	}
}

func TestRunsAreListedWithTheirTranscript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	path, r := s.requestRun("coder")
	s.do("operator", "POST", "/api/tasks/"+r.TaskID+"/run", "").problem(409, task.CodeRunOpen)
	ctx, start := context.Background(), s.startRun()
	if inFlight := decode[struct{ InFlight []string }](s.do("viewer", "GET", "/api/tasks", "")).InFlight; len(inFlight) != 1 ||
		inFlight[0] != r.TaskID {
		t.Errorf("got inFlight %v", inFlight)
	}
	s.ok(s.svc.RunWorking(ctx, start.Run.ID, start.Run.Lease, 1, "", ""))
	done := finishedWell("all good")
	s.ok(s.svc.FinishRun(ctx, start.Run.ID, start.Run.Lease, done))
	if r := decode[runBody](s.do("viewer", "GET", path, "").want(200)); r.Status != task.RunCompleted ||
		r.Summary != "all good" || r.Usage.TokensIn != 5 {
		t.Errorf("got %+v", r)
	}
	type lines struct {
		Messages []task.Message
		Next     string
	}
	first := decode[lines](s.do("viewer", "GET", path+"/messages?limit=2", "").want(200))
	rest := decode[lines](s.do("viewer", "GET", path+"/messages?limit=2&after="+first.Next, "").want(200))
	if len(first.Messages) != 2 || len(rest.Messages) != 1 || rest.Messages[0].Content != "all good" || rest.Next != "" {
		t.Errorf("%+v %+v", first, rest)
	}
	s.requestRun("coder")
	s.requestRun("reviewer")
	for query, want := range map[string]int{
		"": 3, "?agent=coder": 2, "?status=completed": 1,
		"?task=" + r.TaskID: 1, "?limit=1": 1, "?before=2": 1, "?agent=ghost": 0,
	} {
		if n := len(decode[struct{ Runs []any }](s.do("viewer", "GET", "/api/runs"+query, "").want(200)).Runs); n != want {
			t.Errorf("%s: got %d runs, want %d", query, n, want)
		}
	}
	if n := len(decode[struct{ Runs []any }](s.do("viewer", "GET", "/api/tasks/"+r.TaskID+"/runs", "").want(200)).Runs); n != 1 {
		t.Errorf("got %d runs of the task", n)
	}
	s.do("viewer", "GET", "/api/runs?task=77", "").problem(404, task.CodeTaskNotFound)
	s.do("viewer", "GET", "/api/runs?status=odd", "").field(task.CodeInvalidField, "status")
}

func TestMoveReassignAndCompleteAndSignup(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 3 {
		s.create("pull", "")
	}
	s.do("pull", "POST", "/api/tasks/1/move", `{"currentAgent":"pull","newAgent":"coder","comment":"c"}`).problem(409, task.CodeNotWorking)
	s.claim("pull", "pull")
	s.do("pull", "POST", "/api/tasks/1/move",
		`{"currentAgent":"pull","newAgent":"coder","comment":" "}`).field(task.CodeInvalidField, "comment")
	s.do("pull", "POST", "/api/tasks/1/move",
		`{"currentAgent":"pull","newAgent":"ghost","comment":"c"}`).field(task.CodeUnknownAgent, "newAgent")
	moved := decode[struct{ Task task.Task }](s.do("pull", "POST", "/api/tasks/1/move",
		`{"currentAgent":"pull","newAgent":"coder","comment":"yours"}`).want(200)).Task
	if moved.Owner != "coder" || moved.Claim != nil || moved.Comments[len(moved.Comments)-1].Content != "yours" {
		t.Errorf("got %+v", moved)
	}
	s.claim("pull", "pull")
	next := decode[struct{ Completed, Task *task.Task }](s.do("pull", "POST",
		"/api/agents/pull/complete-and-signup", `{"taskId":2,"summary":"s","claim":1}`).want(200))
	if next.Completed.Status != task.Done || next.Task == nil || next.Task.ID != 3 {
		t.Errorf("got %+v", next)
	}
	s.do("pull", "POST", "/api/tasks/3/heartbeat", `{"claim":7}`).problem(409, task.CodeStaleClaim)
	s.do("operator", "POST", "/api/agents/pull/reassign",
		`{"taskIds":["3","1"],"newAgent":"coder","comment":"c"}`).problem(409, task.CodeNotAssigned)
	all := decode[struct{ Tasks []task.Task }](s.do("operator", "POST", "/api/agents/pull/reassign",
		`{"taskIds":["3"],"newAgent":"coder","comment":"c"}`).want(200)).Tasks
	if len(all) != 1 || all[0].Owner != "coder" {
		t.Errorf("got %+v", all)
	}
	queue := decode[struct{ Tasks []task.Task }](s.do("viewer", "GET", "/api/agents/coder/queue", "").want(200)).Tasks
	if len(queue) != 2 || queue[0].ID != 1 {
		t.Errorf("got %+v", queue)
	}
	s.do("viewer", "GET", "/api/agents/ghost/queue", "").problem(404, task.CodeAgentNotFound)
}
