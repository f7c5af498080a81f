package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// For an agent whose workspace contains the data folder, the server would open and
// close its own database, which drops the locks of SQLite: the next command beside
// the server would consider itself the last user and remove the WAL that the server
// keeps writing to.
func TestNoRunMakesTheServerLoseItsLocks(t *testing.T) {
	for _, tt := range []struct{ name, workspace, later string }{
		{"a workspace that contains the data folder makes the definition invalid", "..", ""},
		{"a workspace that contains it only later is refused at the start", "../link", ".."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
				if len(r.Messages) < 3 {
					return oneCall("grep", `{"pattern":"needle"}`)
				}
				return oneCall("complete_task", `{"taskId":%q,"summary":"Looked."}`, promptTask(r))
			})
			s, person := newBuiltinServer(t, "openai", m)
			above, elsewhere := filepath.Dir(s.data), t.TempDir()
			link := filepath.Join(above, "link")
			testkit.NoError(t, os.Symlink(elsewhere, link))
			s.file("agents/digger.md", "---\nname: digger\ndescription: For tests.\ntools: grep\nworkspace: "+
				filepath.Join(s.data, tt.workspace)+"\n---\nYou look.\n")
			var digger task.Agent
			testkit.Eventually(t, "the agent is known", func() bool {
				return person.Do(t.Context(), "GET", "/api/agents/digger", nil, &digger) == nil
			})
			if tt.later != "" {
				if err := os.Remove(link); err == nil {
					err = os.Symlink(filepath.Join(s.data, tt.later), link)
					testkit.NoError(t, err)
				}
			}
			reason := ""
			for _, p := range digger.Problems {
				reason += p.Message
			}
			var tk task.Task
			if err := person.Do(t.Context(), "POST", "/api/tasks", map[string]any{"title": "Look", "owner": "digger"}, &tk); err == nil &&
				digger.Status != task.AgentInvalid {
				reason = waitForRun(t, s, person, tk.ID).Reason
			}
			if !strings.Contains(reason, "contains Taskyard's data folder") {
				t.Errorf("got the reason %q", reason)
			}
			if lost := lostWrites(t, s, person); lost > 0 {
				t.Errorf("%d of 20 acknowledged writes were lost", lost)
			}
		})
	}
}

// lostWrites counts the acknowledged writes that a kill loses after a command ran
// beside the server.
func lostWrites(t *testing.T, s *server, c *client.Client) (lost int) {
	t.Helper()
	s.file("agents/idle.md", "---\nname: idle\ndescription: For tests.\ntools: read\nrunner: none\n---\nYou wait.\n")
	testkit.Eventually(t, "the agent is known", func() bool {
		return c.Do(t.Context(), "GET", "/api/agents/idle", nil, nil) == nil
	})
	s.token("--scope", "read")
	var made []string
	for range 20 {
		var tk task.Task
		if err := c.Do(t.Context(), "POST", "/api/tasks", map[string]any{"title": "Keep me", "owner": "idle"}, &tk); err != nil {
			t.Errorf("the server no longer writes: %v", err)
			break
		}
		made = append(made, tk.ID.String())
	}
	s.kill()
	s.start()
	for _, id := range made {
		if s.rows("SELECT count(*) FROM tasks WHERE id = ?", id)[0] != "1" {
			lost++
		}
	}
	return lost
}
