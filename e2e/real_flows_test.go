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

// realAtOnce bounds the programs of the flows: each starts for seconds, and the
// time limit of one of them is short.
var realAtOnce = make(chan struct{}, 2)

// realFlow starts a test of each real program of this machine, whose models
// play script: read is all that the model of an agent was told so far, results
// are those of its calls.
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
					return saying("ok")
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
				t.Log(srv.told())
			}
			testkit.Eventually(t, "every process is gone", func() bool { return len(srv.processes(nil)) == 0 })
		})
	}
}

func TestRealAgentsContinueWithTheAnswer(t *testing.T) {
	realFlow(t, realSetup{definition: "tools: read\n"}, func(a realAgent, read string, results []string) modeltest.Step {
		switch {
		case strings.Contains(read, "Use the green one."):
			return saying("Painted it green.")
		case len(results) > 0:
			return saying("I wait for the answer.")
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

// runIn finds the run in the answer to a delegation.
var runIn = regexp.MustCompile(`runId\\?": ?\\?"(\d+)`)

func TestRealAgentsContinueAfterALateApproval(t *testing.T) {
	const timeout = 30_000 // milliseconds, of the definition below
	definition := "tools: read, bash, create, edit, fetch, task\ntimeout: 30s\n"
	setup := realSetup{definition: definition, approval: "delegated", builtin: true}
	realFlow(t, setup, func(a realAgent, read string, results []string) modeltest.Step {
		told := strings.Join(results, "\n")
		run := runIn.FindStringSubmatch(told)
		switch {
		case strings.Contains(read, helperPrompt):
			return saying("The answer is 42.")
		case strings.Contains(told, "The answer is 42."):
			return saying("It is 42.")
		case len(results) == 0:
			return a.calls("task", map[string]any{"task": "Find the answer", "agent_type": "helper", "wait_seconds": 1})
		case run == nil:
			return saying("It was told: " + told)
		}
		return a.calls("task_wait", map[string]any{"run_id": run[1], "wait_seconds": 50})
	}, func(t *testing.T, _ realAgent, srv *realServer) {
		id := srv.begin()
		var child []string
		testkit.Eventually(t, "the delegated run waits for approval when its parent's time is over", func() bool {
			child = srv.rows("SELECT c.id FROM runs c JOIN runs p ON p.id = c.parent_run WHERE c.phase = 'approval' AND "+
				"unixepoch('subsec') * 1000 - p.started_at > ?", timeout+1000)
			return len(child) == 1 || srv.rows("SELECT count(*) FROM runs WHERE ended_at IS NOT NULL")[0] != "0"
		})
		if len(child) != 1 {
			t.Fatalf("the runs are %q", srv.rows("SELECT agent, status, phase, reason, summary FROM runs"))
		}
		call[task.Run](t, srv.person, "POST", "/api/runs/"+child[0]+"/approve", map[string]any{"scope": "once"})
		srv.want(srv.ended(id), "completed|ended||It is 42.")
	})
}

func TestRealAgentsQuoteWhatTheFormerOwnerFound(t *testing.T) {
	const found = "The leak is in cache.go."
	realFlow(t, realSetup{definition: "tools: read\n"}, func(a realAgent, read string, results []string) modeltest.Step {
		switch helper := strings.Contains(read, helperPrompt); {
		case helper && len(results) > 0:
			return saying("Fixed it.")
		case helper && strings.Contains(read, found):
			return a.calls("add_comment", map[string]any{"taskId": "1", "content": "coder found: " + found})
		case helper:
			return saying("I was told nothing.")
		case len(results) > 0:
			return saying("Handed over.")
		}
		return a.calls("move_task", map[string]any{"task_id": "1", "current_agent": "coder", "new_agent": "helper", "comment": found})
	}, func(t *testing.T, _ realAgent, srv *realServer) {
		id := srv.begin()
		srv.runsEnded(id, 2)
		if got := srv.rows("SELECT author FROM messages WHERE content = ?", "coder found: "+found); len(got) != 1 || got[0] != "helper" {
			t.Errorf("it is quoted by %q; the runs are %q", got, srv.rows("SELECT agent, status, phase, reason, summary FROM runs"))
		}
	})
}

// TestRealAgentsGiveTheirModelOneForm measures what the table in docs/agents.md
// says: of the two forms of an answer, each program gives its model one.
func TestRealAgentsGiveTheirModelOneForm(t *testing.T) {
	realFlow(t, realSetup{definition: "tools: read\n"}, func(a realAgent, _ string, results []string) modeltest.Step {
		if len(results) > 0 {
			return saying(results[0])
		}
		return a.calls("signup_for_task", map[string]any{"agent_name": "coder"})
	}, func(t *testing.T, a realAgent, srv *realServer) {
		got := srv.execute()
		text := strings.Contains(got, "No idle tasks available in queue for agent: coder")
		structured := strings.Contains(strings.ReplaceAll(got, `\`, ""), `"task":null`)
		if text == structured || structured != a.structured {
			t.Errorf("text %v, structured %v: %s", text, structured, got)
		}
	})
}
