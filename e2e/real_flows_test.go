package e2e

import (
	"regexp"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

const helperPrompt = "You help the coder."

// realAtOnce limits how many real programs run at a time: each takes seconds to
// start, and one of the tests has a short time limit.
var realAtOnce = make(chan struct{}, 2)

// realFlow starts a test of each real program on this machine, whose models follow
// script: read is everything that the model of an agent has received so far, results
// are the results of its calls.
func realFlow(t *testing.T, o realSetup, script func(a realAgent, read string, results []string) modeltest.Step,
	test func(t *testing.T, a realAgent, srv *realServer),
) {
	t.Parallel()
	o.helper = helperPrompt
	for _, a := range realAgents {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			realAtOnce <- struct{}{}
			t.Cleanup(func() { <-realAtOnce })
			m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
				if !offersTaskyard(r) && !strings.Contains(r.System, helperPrompt) {
					return textStep("ok")
				}
				read, results := r.System, []string(nil)
				for _, m := range r.Messages {
					read += m.Text
					for _, result := range m.Results {
						results = append(results, result.Text)
					}
				}
				return script(a, read, results)
			})
			srv := a.server(t, m, o)
			test(t, a, srv)
			if t.Failed() {
				t.Log(srv.transcript())
			}
			testkit.Eventually(t, "every process has ended", func() bool { return len(srv.processes(nil)) == 0 })
		})
	}
}

func TestRealAgentsContinueWithTheAnswer(t *testing.T) {
	realFlow(t, realSetup{definition: "tools: read\n"}, func(a realAgent, read string, results []string) modeltest.Step {
		switch {
		case strings.Contains(read, "Use the green one."):
			return textStep("Painted it green.")
		case len(results) > 0:
			return textStep("I wait for the answer.")
		}
		return a.calls("notify_user", map[string]any{"taskId": "1", "message": "Which color?", "needs_reply": true})
	}, func(t *testing.T, _ realAgent, srv *realServer) {
		id := srv.begin()
		srv.want(srv.ended(id), "completed|ended||I wait for the answer.")
		call[task.Message](t, srv.person, "POST", "/api/tasks/"+id.String()+"/reply", map[string]any{"content": "Use the green one."})
		srv.runsEnded(id, 2)
		srv.want(srv.rows("SELECT status, phase, reason, summary FROM runs ORDER BY id DESC")[0], "completed|ended||Painted it green.")
	})
}

// runIn matches the run in the response to a delegation.
var runIn = regexp.MustCompile(`runId\\?": ?\\?"(\d+)`)

func TestRealAgentsContinueAfterALateApproval(t *testing.T) {
	const timeout = 30_000 // milliseconds, of the definition below
	definition := "tools: read, bash, create, edit, fetch, task\ntimeout: 30s\n"
	setup := realSetup{definition: definition, approval: "delegated", builtin: true}
	realFlow(t, setup, func(a realAgent, read string, results []string) modeltest.Step {
		result := strings.Join(results, "\n")
		run := runIn.FindStringSubmatch(result)
		switch {
		case strings.Contains(read, helperPrompt):
			return textStep("The answer is 42.")
		case strings.Contains(result, "The answer is 42."):
			return textStep("It is 42.")
		case len(results) == 0:
			return a.calls("task", map[string]any{"task": "Find the answer", "agent_type": "helper", "wait_seconds": 1})
		case run == nil:
			return textStep("It was told: " + result)
		}
		return a.calls("task_wait", map[string]any{"run_id": run[1], "wait_seconds": 50})
	}, func(t *testing.T, _ realAgent, srv *realServer) {
		id := srv.begin()
		var child []string
		testkit.Eventually(t, "the delegated run waits for approval after the time of its parent is over", func() bool {
			child = srv.rows("SELECT c.id FROM runs c JOIN runs p ON p.id = c.parent_run WHERE c.phase = 'approval' AND "+
				"unixepoch('subsec') * 1000 - p.started_at > ?", timeout+1000)
			return len(child) == 1 || srv.rows("SELECT count(*) FROM runs WHERE ended_at IS NOT NULL")[0] != "0"
		})
		if len(child) != 1 {
			t.Fatalf("got the runs %q", srv.rows("SELECT agent, status, phase, reason, summary FROM runs"))
		}
		call[task.Run](t, srv.person, "POST", "/api/runs/"+child[0]+"/approve", map[string]any{"scope": "once"})
		srv.want(srv.ended(id), "completed|ended||It is 42.")
	})
}

func TestRealAgentsGetTheCommentsOfTheFormerOwner(t *testing.T) {
	const found = "The leak is in cache.go."
	realFlow(t, realSetup{definition: "tools: read\n"}, func(a realAgent, read string, results []string) modeltest.Step {
		switch helper := strings.Contains(read, helperPrompt); {
		case helper && len(results) > 0:
			return textStep("Fixed it.")
		case helper && strings.Contains(read, found):
			return a.calls("add_comment", map[string]any{"taskId": "1", "content": "coder found: " + found})
		case helper:
			return textStep("I was told nothing.")
		case len(results) > 0:
			return textStep("Handed over.")
		}
		return a.calls("move_task", map[string]any{"task_id": "1", "current_agent": "coder", "new_agent": "helper", "comment": found})
	}, func(t *testing.T, _ realAgent, srv *realServer) {
		id := srv.begin()
		srv.runsEnded(id, 2)
		if got := srv.rows("SELECT author FROM messages WHERE content = ?", "coder found: "+found); len(got) != 1 || got[0] != "helper" {
			t.Errorf("got the authors %q; runs %q", got, srv.rows("SELECT agent, status, phase, reason, summary FROM runs"))
		}
	})
}

// TestRealAgentsGiveTheirModelOneForm checks the table in docs/agents.md: each
// program gives its model one of the two forms of an answer.
func TestRealAgentsGiveTheirModelOneForm(t *testing.T) {
	realFlow(t, realSetup{definition: "tools: read\n"}, func(a realAgent, _ string, results []string) modeltest.Step {
		if len(results) > 0 {
			return textStep(results[0])
		}
		return a.calls("signup_for_task", map[string]any{"agent_name": "coder"})
	}, func(t *testing.T, a realAgent, srv *realServer) {
		got := srv.execute()
		text := strings.Contains(got, "No idle tasks available in queue for agent: coder")
		structured := strings.Contains(strings.ReplaceAll(got, `\`, ""), `"task":null`)
		if text == structured || structured != a.structured {
			t.Errorf("got text %v, structured %v: %s", text, structured, got)
		}
	})
}
