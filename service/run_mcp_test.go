package service

import (
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestARunReportsThatItsProgramNeverReachedMCP(t *testing.T) {
	t.Parallel()
	given := script(Runner{RunnerTraits: task.RunnerTraits{MCP: true}})
	for _, tt := range []struct {
		name    string
		with    []func(*Config)
		reaches bool
		end     Finished
		want    bool
	}{
		{"a run that never reached it", []func(*Config){given}, false, completed("done"), true},
		{"a failed run too", []func(*Config){given}, false, failure(task.PhaseError), true},
		{"not a run that reached it", []func(*Config){given}, true, completed("done"), false},
		{"not a run whose credentials were refused", []func(*Config){given}, false, failure(task.PhaseAuth), false},
		{"not a run without an MCP server", nil, false, completed("done"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inst := newInstance(t, tt.with...)
			_, st, own := inst.inRun("coder")
			if tt.reaches {
				inst.s.ReachedMCP(inst.ctx(), own)
			}
			inst.finish(st, tt.end)
			text := ""
			for _, m := range must(inst.s.Transcript(inst.ctx(), maya, st.Run.ID, 0, 100)) {
				text += m.Content
			}
			equal(t, "warning", strings.Contains(text, "never reached Taskyard's MCP server"), tt.want)
			equal(t, "remembered", reached(inst.s, st.Run.ID), false)
		})
	}
}

// Programs reach the servers through a proxy, which may send their calls to a server
// other than the one that executes them.
func TestARunReachesMCPOnAnyServer(t *testing.T) {
	t.Parallel()
	srv := newTwoServers(t, script(Runner{RunnerTraits: task.RunnerTraits{MCP: true}}))
	_, st, own := srv.inRun("coder")
	srv.b.ReachedMCP(srv.ctx(), own)
	testkit.Eventually(t, "the server that executes the run knows", func() bool { return reached(srv.s, st.Run.ID) })
	srv.finish(st, completed("done"))
	for _, m := range must(srv.s.Transcript(srv.ctx(), maya, st.Run.ID, 0, 100)) {
		equal(t, "warning", strings.Contains(m.Content, "never reached Taskyard's MCP server"), false)
	}
	testkit.Eventually(t, "the other server forgets it", func() bool { return !reached(srv.b, st.Run.ID) })
}

// reached reports whether a server remembers that a run has reached MCP.
func reached(s *Service, run task.ID) bool {
	_, known := s.reachedMCP.Load(run)
	return known
}
