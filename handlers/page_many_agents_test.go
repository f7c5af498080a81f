package handlers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManyAgentsArePaged follows the links of both lists of agents to the last page,
// without scripts.
func TestManyAgentsArePaged(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	for i := range 120 {
		id := fmt.Sprintf("many-%03d", i)
		text := "---\nname: " + id + "\ndescription: One of many.\ntools: read\n---\nWork.\n"
		inst.ok(os.WriteFile(filepath.Join(inst.dir, id+".md"), []byte(text), 0o600))
	}
	b.post("/agents/reload")
	for first, mark := range map[string]string{"/agents": `id="agent-many-`, "/queues": `id="q-many-`} {
		seen, pages := 0, 0
		for path := first; path != ""; pages++ {
			a := b.get(path).is(200)
			seen += strings.Count(a.body, mark)
			_, rest, found := strings.Cut(a.body, `rel="next" href="`)
			if path = ""; found {
				path, _, _ = strings.Cut(rest, `"`)
			}
		}
		if seen != 120 || pages < 3 {
			t.Errorf("%s: got %d agents on %d pages", first, seen, pages)
		}
	}
	b.get("/agents?q=MANY-11+one").is(200).shows("many-110", "many-119").hides("agent-many-001", `rel="next"`)
	b.get("/agents?q=nobody").is(200).shows("No agents match this filter")
}
