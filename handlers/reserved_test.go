package handlers

import (
	"strings"
	"testing"

	"taskyard/task"
)

func TestNoRouteConflictsWithAnAgentName(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	found := 0
	for _, route := range s.routes() {
		_, path, _ := strings.Cut(route, " ")
		for _, root := range []string{"/agents/", "/queues/", "/api/agents/"} {
			rest, ok := strings.CutPrefix(path, root)
			name, _, _ := strings.Cut(rest, "/")
			if !ok || strings.HasPrefix(name, ":") {
				continue
			}
			found++
			if !task.ReservedAgentID(name) {
				t.Errorf("%s: an agent may be named %s; see task.ReservedAgentID", route, name)
			}
		}
	}
	if found == 0 {
		t.Error("found no such route")
	}
}
