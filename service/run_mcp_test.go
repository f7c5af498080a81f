package service

import (
	"strings"
	"testing"

	"taskyard/task"
)

func TestARunSaysThatItsProgramNeverReachedMCP(t *testing.T) {
	given := script(Runner{RunnerTraits: task.RunnerTraits{MCP: true}})
	for _, tt := range []struct {
		name    string
		with    []func(*Config)
		reaches bool
		end     Finished
		want    bool
	}{
		{"one that never did", []func(*Config){given}, false, completed("done"), true},
		{"a failed one too", []func(*Config){given}, false, failure(task.PhaseError), true},
		{"not one that did", []func(*Config){given}, true, completed("done"), false},
		{"not one whose credentials were refused", []func(*Config){given}, false, failure(task.PhaseAuth), false},
		{"not one that is given none", nil, false, completed("done"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			y := newInstance(t, tt.with...)
			_, st, own := y.inRun("coder")
			if tt.reaches {
				y.s.ReachedMCP(own)
			}
			y.finish(st, tt.end)
			told := ""
			for _, m := range must(y.s.Transcript(y.ctx(), maya, st.Run.ID, 0, 100)) {
				told += m.Content
			}
			equal(t, "said", strings.Contains(told, "never reached Taskyard's MCP server"), tt.want)
			equal(t, "remembered", y.s.mcp.has(st.Run.ID), false)
		})
	}
}
