package handlers

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"taskyard/task"
)

// pendingPermission starts the run of a new task and has it request permission for a
// tool call.
func (s *site) pendingPermission(tool, input string) *task.Permission {
	s.t.Helper()
	run := s.runNew().Run
	p, err := s.svc.AskPermission(context.Background(), run.ID, run.Lease, task.Permission{Tool: tool, Input: json.RawMessage(input)})
	s.ok(err)
	return p
}

func TestPermissionsOverJSON(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.pendingPermission("bash", `{"command":"rm -r build"}`)
	run := "/api/runs/" + p.Run.String()
	at := run + "/permissions/1/"
	type body struct {
		Phase      task.Phase
		Permission *task.Permission
	}
	t.Run("a run shows its request", func(t *testing.T) {
		r := decode[body](s.do("viewer", "GET", run, "").want(200))
		if r.Phase != task.PhasePermission || r.Permission.Tool != "bash" ||
			string(r.Permission.Input) != `{"command":"rm -r build"}` || r.Permission.ExpiresAt == 0 {
			t.Fatalf("got %+v", r)
		}
		s.do("viewer", "GET", "/api/inbox", "").want(200)
	})
	t.Run("only reviewers decide", func(t *testing.T) {
		for _, caller := range []string{"agent", "viewer", "operator"} {
			s.do(caller, "POST", at+"allow", "").problem(403, task.CodeForbidden)
			s.do(caller, "POST", at+"deny", `{"reason":"no"}`).problem(403, task.CodeForbidden)
		}
	})
	t.Run("bad input is refused", func(t *testing.T) {
		s.do("reviewer", "POST", at+"allow", `{"scope":"task"}`).field(task.CodeInvalidField, "scope")
		s.do("reviewer", "POST", at+"deny", `{"reason":" "}`).field(task.CodeInvalidField, "reason")
		s.do("reviewer", "POST", at+"deny", "").problem(400, task.CodeInvalidJSON)
		s.do("reviewer", "POST", run+"/permissions/2/allow", "").problem(404, task.CodeNotFound)
		s.do("reviewer", "POST", "/api/runs/999/permissions/1/allow", "").problem(404, task.CodeRunNotFound)
		for _, n := range []string{"0", "x", "-1", "99999999999999999999"} {
			s.do("reviewer", "POST", run+"/permissions/"+n+"/allow", "").problem(422, task.CodeInvalidField)
		}
	})
	t.Run("a permission is granted once, and a repeat reports the outcome", func(t *testing.T) {
		r := decode[body](s.do("reviewer", "POST", at+"allow", "").want(200))
		if r.Phase != task.PhaseWorking || r.Permission.Decision != task.PermissionAllowed ||
			r.Permission.Scope != task.ScopeOnce || r.Permission.By != "user:reviewer" {
			t.Fatalf("got %+v", r)
		}
		if p := s.do("reviewer", "POST", at+"deny", `{"reason":"no"}`).problem(409,
			task.CodeRunDecided); !strings.Contains(p.Detail, "allowed by reviewer") {
			t.Error(p.Detail)
		}
		if r := decode[body](s.do("viewer", "GET", run, "").want(200)); r.Permission != nil {
			t.Errorf("the request is still pending: %+v", r.Permission)
		}
	})
}

func TestPermissionsOnPages(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	p := inst.pendingPermission("bash", `{"command":"echo \u202e<b>x</b>\u200b"}`)
	page := "/approvals/" + p.Run.String()
	t.Run("it is shown verbatim among the approvals", func(t *testing.T) {
		for _, at := range []string{"/approvals", page} {
			b.get(at).is(200).shows("1 waiting", "Call bash", "Allow once", "Allow for this run",
				`\u202e`, "Fix the build", "time limits on hold").hides("<b>x</b>")
		}
		b.get("/").shows("Permissions", "asks to call bash", page)
		b.get("/runs/"+p.Run.String()).shows("This run asks to call", "Asks permission")
	})
	t.Run("a denial needs a reason", func(t *testing.T) {
		b.post("/runs/"+p.Run.String()+"/permissions/1/deny", "reason", " ").is(422).shows("Is required")
	})
	t.Run("the decision redirects back and is on the page", func(t *testing.T) {
		b.post("/runs/"+p.Run.String()+"/permissions/1/deny", "reason",
			"use read").redirectsTo("/approvals").shows("was denied", "No approvals waiting")
		b.get(page).shows("Denied by maya", "use read")
		b.post("/runs/"+p.Run.String()+"/permissions/1/allow", "scope", "run").is(409).shows("already denied")
	})
	t.Run("a permission for the run", func(t *testing.T) {
		b.post("/runs/" + p.Run.String() + "/cancel")
		q := inst.pendingPermission("edit", `{}`)
		b.post("/runs/"+q.Run.String()+"/permissions/1/allow", "scope", "run").redirectsTo("/approvals").shows("may call edit until it ends")
		b.get("/approvals/"+q.Run.String()).shows("Allowed by maya", "until the run ends")
		b.get("/runs/" + q.Run.String()).shows("edit may be called until this run ends, by maya")
	})
	t.Run("an unknown one is not found", func(t *testing.T) {
		b.post("/runs/"+p.Run.String()+"/permissions/x/allow", "scope", "run").is(404)
	})
}

func TestUsageOverJSON(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.pendingPermission("bash", `{}`)
	if _, err := s.svc.CancelRun(context.Background(), mayaActor, p.Run, ""); err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"", "day", "agent", "model", "project", "task"} {
		q := "?"
		if by != "" {
			q = "?by=" + by
		}
		r := decode[task.UsageReport](s.do("viewer", "GET", "/api/usage"+q, "").want(200))
		if len(r.Rows) != 1 || r.Rows[0].Runs != 1 || r.Budgets == nil {
			t.Errorf("by %q: got %+v", by, r)
		}
	}
	s.do("viewer", "GET", "/api/usage?by=moon", "").field(task.CodeInvalidField, "by")
	s.do("viewer", "GET", "/api/usage?from=yesterday", "").problem(422, task.CodeInvalidField)
	s.do("viewer", "GET", "/api/usage?from=2020-01-01T00:00:00Z", "").field(task.CodeInvalidField, "from")
	s.do("", "GET", "/api/usage", "").problem(401, task.CodeUnauthorized)
}
