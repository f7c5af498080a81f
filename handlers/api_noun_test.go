package handlers

import (
	"strings"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

func finishedWell(summary string) service.Finished {
	return service.Finished{
		State:   task.State{Status: task.RunCompleted, Phase: task.PhaseEnded},
		Summary: summary, Usage: task.Usage{TokensIn: 5},
	}
}

func TestThreads(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	path := "/api/tasks/" + s.create("coder", `"start":false`)
	if a := s.do("viewer", "GET", path+"/comments", "").want(200); string(a.Body) != `{"comments":[]}` {
		t.Errorf("got %s", a.Body)
	}
	first := decode[task.Message](s.do("operator", "POST", path+"/comments", `{"content":" hello "}`).want(201))
	if first.Content != "hello" || first.Author != "user:operator" || first.Kind != task.KindComment {
		t.Errorf("got %+v", first)
	}
	asked := decode[task.Message](s.do("agent", "POST", path+"/notify", `{"message":"which?","needsReply":true}`).want(201))
	if tk := decode[task.Task](s.do("viewer", "GET", path, "")); tk.WaitingFor != task.WaitsUser {
		t.Errorf("got waiting for %q", tk.WaitingFor)
	}
	s.do("agent", "POST", path+"/notify", `{"message":"which?","needsReply":true}`).problem(409, task.CodeQuestionOpen)
	s.do("operator", "POST", path+"/reply", `{"content":"that","questionId":"`+first.ID.String()+`"}`).problem(409, task.CodeNoQuestion)
	s.do("operator", "POST", path+"/reply", `{"content":"that","questionId":"`+asked.ID.String()+`"}`).want(201)
	s.do("operator", "POST", path+"/reply", `{"content":"that"}`).problem(409, task.CodeNoQuestion)
	s.do("operator", "POST", path+"/comments", `{"content":"  "}`).field(task.CodeInvalidField, "content")
	c := decode[struct {
		Comments []task.Comment
		Next     string
	}](s.do("viewer", "GET", path+"/comments?limit=2", "").want(200))
	if len(c.Comments) != 2 || c.Next == "" {
		t.Errorf("got %+v", c)
	}
	th := decode[struct{ Messages []task.Message }](s.do("viewer", "GET", path+"/thread?after="+c.Next, "").want(200))
	if len(th.Messages) != 1 || th.Messages[0].Kind != task.KindAnswer {
		t.Errorf("got %+v", th)
	}
	ev := decode[struct{ Events []task.Event }](s.do("viewer", "GET", path+"/events", "").want(200))
	if len(ev.Events) < 4 || ev.Events[0].Kind != task.EvTaskCreated {
		t.Errorf("got %+v", ev)
	}
	s.do("viewer", "GET", "/api/tasks/77/thread", "").problem(404, task.CodeTaskNotFound)
}

func TestAgentDefinitions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("pull", "")
	list := decode[struct {
		Agents []struct {
			ID, Status string
			Load       AgentLoad
			Problems   []task.Problem
		}
	}](s.do("viewer", "GET", "/api/agents", "").want(200)).Agents
	seen := map[string]string{}
	for _, a := range list {
		seen[a.ID] = a.Status
		if a.ID == "pull" && a.Load.Queued != 1 {
			t.Errorf("got load %+v", a.Load)
		}
		if a.ID == "bad" && len(a.Problems) == 0 {
			t.Error("no problems are reported")
		}
	}
	if seen["coder"] != "valid" || seen["bad"] != "invalid" {
		t.Errorf("got %v", seen)
	}
	get := s.do("viewer", "GET", "/api/agents/coder", "").want(200)
	one := decode[struct{ Definition, FileHash string }](get)
	if one.Definition != siteAgents["coder"] || get.Header.Get("ETag") != `"`+one.FileHash+`"` {
		t.Errorf("got %s", get.Body)
	}
	text := `"---\ndescription: new\ntools: read\n---\nNew.\n"`
	s.do("operator", "PUT", "/api/agents/coder", `{"text":`+text+`}`).problem(403, task.CodeForbidden)
	s.do("admin", "PUT", "/api/agents/coder", `{"text":`+text+`}`, "If-Match", `"old"`).problem(409, task.CodeStaleAgent)
	s.do("admin", "PUT", "/api/agents/coder", `{"text":`+text+`}`, "If-Match", get.Header.Get("ETag")).want(200)
	weak := "W/" + s.do("admin", "GET", "/api/agents/coder", "").Header.Get("ETag") // as from a compressing proxy
	s.do("admin", "PUT", "/api/agents/coder", `{"text":`+text+`}`, "If-Match", weak).want(200)
	s.do("admin", "PUT", "/api/agents/fresh", `{"text":"nothing"}`).field(task.CodeInvalidField, "text")
	s.do("admin", "PUT", "/api/agents/fresh", `{"text":"nothing","force":true}`).want(200)
	s.do("admin", "PUT", "/api/agents/..", `{"text":`+text+`}`).field(task.CodeInvalidField, "id")
	s.do("admin", "PUT", "/api/agents/A%20b", `{"text":`+text+`}`).field(task.CodeInvalidField, "id")
	s.do("admin", "DELETE", "/api/agents/pull", "").problem(409, task.CodeAgentBusy)
	if a := s.do("admin", "DELETE", "/api/agents/fresh", "").want(204); len(a.Body) != 0 {
		t.Errorf("got %s", a.Body)
	}
	s.do("admin", "DELETE", "/api/agents/fresh", "").problem(404, task.CodeAgentNotFound)
}

func TestUsersAndTokens(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	add := `{"name":"maya","password":"correct horse battery","role":"admin"}`
	a := s.do("admin", "POST", "/api/users", add, "Idempotency-Key", "k").want(201)
	if strings.Contains(string(a.Body), "correct") || strings.Contains(string(a.Body), "argon") {
		t.Errorf("the response contains the password: %s", a.Body)
	}
	s.do("admin", "POST", "/api/users", add).problem(409, task.CodeNameTaken)
	s.do("admin", "POST", "/api/users", `{"name":"bo","password":"short","role":"viewer"}`).field(task.CodeInvalidField, "password")
	s.do("admin", "POST", "/api/users", `{"name":"bo","password":"correct horse battery","role":"king"}`).field(task.CodeInvalidField, "role")
	path := a.Header.Get("Location")
	s.do("admin", "PATCH", path, `{"role":"viewer"}`).problem(409, task.CodeLastAdmin)
	s.do("admin", "PATCH", path, `{"name":"x"}`).field(task.CodeInvalidField, "name")
	s.do("admin", "PATCH", "/api/users/77", `{"role":"viewer"}`).problem(404, task.CodeNotFound)
	if n := len(decode[struct{ Users []task.User }](s.do("admin", "GET", "/api/users", "").want(200)).Users); n != 1 {
		t.Errorf("got %d users", n)
	}
	made := decode[struct{ ID, Secret, Hint, Scope string }](s.do("admin", "POST",
		"/api/tokens", `{"name":"ci","agent":"coder","days":3}`).want(201))
	if !strings.HasPrefix(made.Secret, "ty_") || made.Scope != "agent:coder" {
		t.Errorf("got %+v", made)
	}
	s.do("admin", "POST", "/api/tokens", `{"name":"ci","scope":"king"}`).field(task.CodeInvalidField, "scope")
	s.do("admin", "POST", "/api/tokens", `{"name":"ci","agent":"ghost"}`).field(task.CodeUnknownAgent, "agent")
	list := s.do("admin", "GET", "/api/tokens", "").want(200)
	if strings.Contains(string(list.Body), made.Secret) || !strings.Contains(string(list.Body), made.Hint) {
		t.Errorf("got %s", list.Body)
	}
	s.host.SetToken("ci", made.Secret)
	s.do("ci", "GET", "/api/tasks", "").want(200)
	s.do("admin", "DELETE", "/api/tokens/"+made.ID, "").want(204)
	s.do("ci", "GET", "/api/tasks", "").problem(401, task.CodeUnauthorized)
}

func TestStatsCountByHourAndDay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("pull", "")
	s.do("operator", "POST", "/api/tasks/1/complete", "").want(200)
	for range 2 {
		path, _ := s.requestRun("coder")
		s.do("operator", "POST", path+"/cancel", "").want(200)
		s.Forward(time.Hour)
	}
	s.ok(s.svc.RollUp(t.Context()))
	type stats struct {
		Open, Active, Done24h int
		Agents                []agentCounts
		Runs                  []struct {
			From   task.Time
			Status string
			Runs   int
		}
		Times            []task.InsightTime
		ByAgent, ByModel []task.StatRow
		Total            task.StatRow
	}
	hours := decode[stats](s.do("viewer", "GET", "/api/stats", "").want(200))
	if hours.Open != 2 || hours.Done24h != 1 || len(hours.Runs) != 2 || hours.Runs[0].Runs != 1 {
		t.Errorf("got %+v", hours)
	}
	days := decode[stats](s.do("viewer", "GET", "/api/stats?by=day", "").want(200))
	if len(days.Runs) != 1 || days.Runs[0].Runs != 2 || days.Runs[0].From.String() != "2026-03-02T00:00:00.000Z" {
		t.Errorf("got %+v", days)
	}
	if len(hours.Times) != 25 || len(days.Times) != 31 || hours.Total.Runs() != 2 || len(hours.ByModel) != 1 {
		t.Errorf("got %d hours, %d days, total %+v, by model %+v", len(hours.Times), len(days.Times), hours.Total, hours.ByModel)
	}
	if last := hours.Times[24]; last.Depth == nil || last.Depth.Queued+last.Depth.Working != hours.Active {
		t.Errorf("current queue: got %+v", last.Depth)
	}
	if none := decode[stats](s.do("viewer", "GET", "/api/stats?agent=nobody", "").want(200)); none.Total != (task.StatRow{}) ||
		len(none.ByAgent) != 0 {
		t.Errorf("unknown agent: got %+v", none)
	}
	if old := decode[stats](s.do("viewer", "GET", "/api/stats?since=1970-01-02T00:00:00Z&by=day", "").want(200)); len(old.Times) != 401 {
		t.Errorf("got %d days", len(old.Times))
	}
	s.do("viewer", "GET", "/api/stats?by=week", "").field(task.CodeInvalidField, "by")
	s.do("viewer", "GET", "/api/stats?since=yesterday", "").field(task.CodeInvalidField, "since")
}
