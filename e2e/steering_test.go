package e2e

import (
	"strings"
	"sync/atomic"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

func TestAPersonSteersABuiltinRun(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"openai", "anthropic"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			said := make(chan struct{})
			first := oneCall("create", `{"path":"a.txt","content":"x"}`)
			first.Wait = said
			m := modeltest.New(t, first, modeltest.Step{Text: "With tabs."}, modeltest.Step{Text: "Tabs were used."})
			s, person := newBuiltinServer(t, api, m)
			tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Write", "owner": "coder"})
			testkit.Eventually(t, "the model gets a request", func() bool { return len(m.Turns()) == 1 })
			call[task.RunMessage](t, person, "POST", "/api/runs/1/messages", map[string]any{"text": "use tabs"})
			close(said)
			r := waitForRun(t, s, person, tk.ID)
			asked := m.Requests()
			if r.Status != task.RunCompleted || strings.Contains(string(asked[0].Body), "use tabs") ||
				!strings.Contains(string(asked[1].Body), `a person who follows this run:\n\nuse tabs`) {
				t.Errorf("got run %s, the model got %s", r.State(), asked[1].Body)
			}
			if got := s.rows("SELECT type, content FROM messages WHERE role = 'user' AND type = 'message'"); len(got) != 1 ||
				got[0] != "message|use tabs" {
				t.Errorf("got the transcript %q", got)
			}
		})
	}
}

func TestMessagesSurviveTheServer(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	var n atomic.Int32
	m := modeltest.NewFunc(t, func(modeltest.Request) modeltest.Step {
		if n.Add(1) == 1 {
			return modeltest.Step{Wait: hang}
		}
		return modeltest.Step{Text: "Done after all."}
	})
	s, person := newBuiltinServer(t, "anthropic", m)
	call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Survive", "owner": "coder"})
	testkit.Eventually(t, "the model gets a request", func() bool { return len(m.Turns()) == 1 })
	call[task.RunMessage](t, person, "POST", "/api/runs/1/messages", map[string]any{"text": "use tabs"})
	s.kill()
	s.start()
	testkit.Eventually(t, "the retry has ended", func() bool {
		return s.rows("SELECT count(*) FROM runs WHERE ended_at IS NOT NULL")[0] == "2"
	})
	if got := s.rows("SELECT content FROM messages WHERE kind = 'comment'"); len(got) != 1 || got[0] != "use tabs" {
		t.Errorf("got the comments %q", got)
	}
	if asked := m.Requests(); !strings.Contains(string(asked[1].Body), "use tabs") {
		t.Errorf("the model of the retry got %s", asked[1].Body)
	}
}

func TestAPersonSteersRealAgents(t *testing.T) {
	t.Parallel()
	steer := func(t *testing.T, srv *realServer, first string) string {
		t.Helper()
		id := srv.begin()
		testkit.Eventually(t, "the agent works", func() bool { return len(srv.model.Turns()) > 0 })
		call[task.RunMessage](t, srv.person, "POST", "/api/runs/1/messages", map[string]any{"text": "use tabs"})
		srv.awaitFile(first)
		return srv.ended(id)
	}
	wantDelivered := func(t *testing.T, srv *realServer) {
		t.Helper()
		all := srv.model.Requests()
		if last := string(all[len(all)-1].Body); !strings.Contains(last, "use tabs") {
			t.Errorf("the model last got %s", last)
		}
		if got := srv.rows("SELECT delivered_at IS NOT NULL FROM run_messages"); len(got) != 1 || got[0] != "1" {
			t.Errorf("got delivered %q", got)
		}
	}
	t.Run("Claude Code, before the next call of its model", func(t *testing.T) {
		t.Parallel()
		srv := newClaudeServer(t, realSetup{}, bashStep("sleep 8; echo x > begun"), textStep("With tabs."))
		srv.want(steer(t, srv, "begun"), "completed|ended||With tabs.")
		wantDelivered(t, srv)
	})
	t.Run("Codex, at the end of its turn", func(t *testing.T) {
		t.Parallel()
		srv := newCodexServer(t, realSetup{}, execStep("sleep 8; echo x > begun"), textStep("Done."), textStep("With tabs."))
		srv.want(steer(t, srv, "begun"), "completed|ended||With tabs.")
		wantDelivered(t, srv)
	})
}
