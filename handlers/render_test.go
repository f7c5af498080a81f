package handlers

import (
	"fmt"
	"testing"

	"taskyard/db"
	"taskyard/service"
	"taskyard/task"
)

func TestTheNavigationListsAgentsThatNeedAttention(t *testing.T) {
	t.Parallel()
	agents := make([]task.Agent, 3*maxNavAgents)
	for i := range agents {
		agents[i] = task.Agent{ID: fmt.Sprintf("a%03d", i), Status: task.AgentValid}
	}
	o := service.Overview{Loads: map[string]db.AgentLoad{"a100": {Queued: 7}, "a110": {Failed: 1}}}
	agents[119].Status = task.AgentInvalid
	list, more := navAgents(agents, o)
	if len(list) != maxNavAgents || more != 2*maxNavAgents {
		t.Fatalf("got %d agents and %d more", len(list), more)
	}
	for i, want := range []string{"a100", "a110", "a119"} {
		if got := list[maxNavAgents-3+i]; got.ID != want {
			t.Errorf("got agent %s, want %s", got.ID, want)
		}
	}
	if list, more = navAgents(agents[:maxNavAgents], o); len(list) != maxNavAgents || more != 0 {
		t.Errorf("few agents: got %d named, %d not named", len(list), more)
	}
}
