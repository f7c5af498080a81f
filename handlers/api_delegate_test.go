package handlers

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

// defineBoss defines an agent boss that may delegate, and its token.
func (s *site) defineBoss() {
	s.t.Helper()
	text, err := json.Marshal(object{"text": "---\ndescription: asks\ntools: read, task\nrunner: script\n---\nAsk.\n"})
	s.ok(err)
	s.do("admin", "PUT", "/api/agents/boss", string(text)).want(200)
	s.host.Mint("boss", service.NewToken{Agent: "boss"})
}

type delegatedBody struct {
	RunID, TaskID, Summary, Error string
	Status                        task.RunStatus
	Phase                         task.Phase
	Success                       bool
}

func TestDelegationOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.do("operator", "POST", "/api/delegate", `{"task":"Read it","agentType":"coder"}`).want(202)
	t.Run("the response has exactly its fields", func(t *testing.T) {
		want := []string{
			"artifacts", "error", "filesModified", "phase", "runId", "status",
			"success", "summary", "taskId", "tokensUsed", "toolCalls",
		}
		if got := slices.Sorted(maps.Keys(decode[object](a))); !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
	d := decode[delegatedBody](a)
	t.Run("202 while the run has not ended, then 200", func(t *testing.T) {
		s.do("operator", "GET", "/api/delegate/"+d.RunID, "").want(202)
		s.endRun(s.startRun(), "It says hello.")
		got := decode[delegatedBody](s.do("operator", "GET", "/api/delegate/"+d.RunID+"?waitSeconds=50", "").want(200))
		if !got.Success || got.Summary != "It says hello." || got.Status != task.RunCompleted {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("the run shows the delegation", func(t *testing.T) {
		if r := decode[object](s.do("viewer", "GET", "/api/runs/"+d.RunID, "").want(200)); r["cause"] != "delegate" || r["depth"] != 1.0 {
			t.Errorf("got %v", r)
		}
	})
	t.Run("200 if the run ends within the wait, which may exceed the server's timeouts", func(t *testing.T) {
		short := newSite(t, func(o setup) {
			o.HTTP.ReadTimeout, o.HTTP.WriteTimeout = time.Second, time.Second
		})
		sub := short.svc.Hub().Subscribe("runs")
		defer sub.Close()
		got := make(chan answer, 1)
		go func() {
			got <- short.do("operator", "POST", "/api/delegate", `{"task":"Read it","agentType":"coder","waitSeconds":50}`)
		}()
		<-sub.C
		st := short.startRun()
		<-time.After(1500 * time.Millisecond) // longer than those timeouts
		short.endRun(st, "At last.")
		if d := decode[delegatedBody]((<-got).want(200)); d.Summary != "At last." {
			t.Errorf("got %+v", d)
		}
	})
	t.Run("description is an alias of task", func(t *testing.T) {
		s.do("operator", "POST", "/api/delegate", `{"description":"Read it","agentType":"coder"}`).want(202)
		s.do("operator", "POST", "/api/delegate",
			`{"description":"Read it","task":"Read","agentType":"coder"}`).field(task.CodeInvalidField, "description")
	})
	t.Run("stop cancels the run, once", func(t *testing.T) {
		d := decode[delegatedBody](s.do("operator", "POST", "/api/delegate", `{"task":"Read it","agentType":"coder"}`).want(202))
		got := decode[delegatedBody](s.do("operator", "POST", "/api/delegate/"+d.RunID+"/stop", `{"reason":"enough"}`).want(200))
		if got.Status != task.RunCanceled || !strings.HasSuffix(got.Error, "stopped by operator: enough") {
			t.Errorf("got %+v", got)
		}
		s.do("operator", "POST", "/api/delegate/"+d.RunID+"/stop", "").problem(409, task.CodeRunEnded)
	})
	t.Run("list returns the agents", func(t *testing.T) {
		list := decode[struct{ Agents []task.AgentType }](s.do("operator", "POST", "/api/delegate", `{"agentType":"list"}`).want(200)).Agents
		i := slices.IndexFunc(list, func(a task.AgentType) bool { return a.ID == "pull" })
		if i < 0 || list[i].Startable || list[i].Reason == "" || len(list[i].Tools) != 1 || list[i].Description != "claims itself" {
			t.Errorf("got %+v", list)
		}
	})
	t.Run("the same key delegates once", func(t *testing.T) {
		body := `{"task":"Once","agentType":"coder"}`
		one := decode[delegatedBody](s.do("operator", "POST", "/api/delegate", body, "Idempotency-Key", "d").want(202))
		a := s.do("operator", "POST", "/api/delegate", body, "Idempotency-Key", "d").want(202)
		if two := decode[delegatedBody](a); two.RunID != one.RunID || a.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("got %+v, %+v", one, two)
		}
	})
}

func TestInvalidDelegationsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.defineBoss()
	id := s.create("boss", `"start":false,"steps":[{"title":"a"}]`)
	for _, c := range []struct {
		name, body, field string
		code              task.Code
	}{
		{"nothing", `{}`, "task", task.CodeInvalidField},
		{"an unknown agent", `{"task":"x","agentType":"ghost"}`, "agentType", task.CodeUnknownAgent},
		{"an invalid agent", `{"task":"x","agentType":"bad"}`, "agentType", task.CodeInvalidAgent},
		{"an unknown complexity", `{"task":"x","agentType":"coder","estimatedComplexity":"huge"}`, "estimatedComplexity", task.CodeInvalidField},
		{"an unknown model", `{"task":"x","agentType":"coder","model":"gamma"}`, "model", task.CodeInvalidField},
		{"a step out of range", `{"task":"x","agentType":"coder","taskId":` + id + `,"stepIndex":1}`, "stepIndex", task.CodeInvalidField},
		{"a resource out of range", `{"task":"x","agentType":"coder","taskId":` + id +
			`,"resources":[0]}`, "resources[0]", task.CodeInvalidField},
		{"a step without a task", `{"task":"x","agentType":"coder","stepIndex":0}`, "stepIndex", task.CodeInvalidField},
		{"an unknown tool", `{"task":"x","agentType":"coder","tools":["sword"]}`, "tools", task.CodeInvalidField},
		{"a wider tool", `{"task":"x","agentType":"coder","tools":["bash"]}`, "tools", task.CodeInvalidField},
		{"wider limits", `{"task":"x","agentType":"coder","limits":{"timeoutSeconds":99999}}`, "limits.timeoutSeconds", task.CodeInvalidField},
		{"a long wait", `{"task":"x","agentType":"coder","waitSeconds":51}`, "waitSeconds", task.CodeInvalidField},
		{"an invalid ID", `{"task":"x","agentType":"coder","taskId":"7a"}`, "taskId", task.CodeInvalidField},
		{"a misspelled field", `{"task":"x","agent_type":"coder"}`, "agent_type", task.CodeInvalidField},
	} {
		t.Run(c.name, func(t *testing.T) { s.do("boss", "POST", "/api/delegate", c.body).field(c.code, c.field) })
	}
	s.do("boss", "POST", "/api/delegate", `{"task":"x","agentType":"pull"}`).problem(409, task.CodePullOnly)
	s.do("boss", "POST", "/api/delegate", `{"task":"x","agentType":"coder","taskId":999}`).problem(404, task.CodeTaskNotFound)
	s.do("agent", "POST", "/api/delegate", `{"task":"x","agentType":"reviewer"}`).problem(403, task.CodeForbidden)
	s.do("viewer", "POST", "/api/delegate", `{"task":"x","agentType":"reviewer"}`).problem(403, task.CodeForbidden)
	s.do("viewer", "GET", "/api/delegate/77", "").problem(404, task.CodeRunNotFound)
	s.do("viewer", "GET", "/api/delegate/1?waitSeconds=51", "").field(task.CodeInvalidField, "waitSeconds")
	t.Run("too many within an hour", func(t *testing.T) {
		for range 60 {
			s.do("boss", "POST", "/api/delegate", `{"task":"x","agentType":"coder"}`).want(202)
		}
		a := s.do("boss", "POST", "/api/delegate", `{"task":"x","agentType":"coder"}`)
		a.problem(429, task.CodeRateLimited)
		if got := a.Header.Get("Retry-After"); got != "3600" {
			t.Errorf("got Retry-After %q", got)
		}
	})
}
