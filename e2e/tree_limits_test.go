package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// TestConcurrentChildrenNeverUseMoreThanTheirParentHas has two children whose turns
// each use everything that they may, at the same time, and once with the server killed
// in the middle of such a turn.
func TestConcurrentChildrenNeverUseMoreThanTheirParentHas(t *testing.T) {
	t.Parallel()
	const limit = 60_000
	for _, kill := range []bool{false, true} {
		t.Run(map[bool]string{false: "side by side", true: "after kill -9"}[kill], func(t *testing.T) {
			t.Parallel()
			both := make(chan struct{}) // closed when both children are working
			m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
				var in struct {
					MaxTokens int `json:"max_tokens"`
				}
				if err := json.Unmarshal(r.Body, &in); err != nil {
					t.Error(err)
				}
				last := r.Last()
				_, n := findPrompt(r)
				switch {
				case r.System == "You child.":
					step := oneCall("read", `{"path":"no-%d.txt"}`, len(r.Messages))
					step.Wait, step.Usage = both, modeltest.Usage{In: len(r.Body) / 3, Out: in.MaxTokens}
					return step
				case n == 1:
					return modeltest.Step{Calls: []modeltest.Call{
						{Name: "task", Args: `{"task":"Look left.","agent_type":"child","wait_seconds":0}`},
						{Name: "task", Args: `{"task":"Look right.","agent_type":"child","wait_seconds":0}`},
					}}
				case n == 3:
					step := modeltest.Step{}
					for _, result := range last.Results {
						run := regexp.MustCompile(`"runId": ?"(\d+)"`).FindStringSubmatch(result.Text)
						step.Calls = append(step.Calls, modeltest.Call{Name: "task_wait", Args: `{"run_id":"` + run[1] + `"}`})
					}
					return step
				}
				return modeltest.Step{Text: "Both were asked."}
			})
			s, person := newModelServer(t, m, map[string][2]string{
				"boss":  {fmt.Sprintf("read, task\nmax_tokens: %d", limit), "You boss."},
				"child": {"read\nmax_parallel: 2\napproval: never", "You child."},
			})
			tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Look around", "owner": "boss"})
			testkit.Eventually(t, "both children work", func() bool {
				return s.rows("SELECT count(*) FROM runs WHERE agent = 'child' AND phase = 'working'")[0] == "2"
			})
			if kill {
				s.kill()
				s.start() // the runs are lost, and nothing is reserved for them
				call[task.Run](t, person, "POST", "/api/runs/1/retry", map[string]any{})
			}
			close(both)
			s.runsEnded(tk.ID, map[bool]int{false: 1, true: 2}[kill])
			testkit.Eventually(t, "all have ended", func() bool { return s.rows("SELECT count(*) FROM runs WHERE ended_at IS NULL")[0] == "0" })
			used := s.rows("SELECT sum(usage ->> 'tokensIn' + usage ->> 'tokensOut') FROM runs")[0]
			ends := strings.Join(s.rows("SELECT id, agent, status, phase, reason, usage FROM runs ORDER BY id"), "\n")
			n, err := strconv.Atoi(used)
			if err != nil || n > limit {
				t.Errorf("used %s tokens of at most %d", used, limit)
			}
			if n < limit/2 {
				t.Errorf("used only %d tokens", n)
			}
			if strings.Count(ends, "child|failed|tokens") != 2 {
				t.Errorf("got the runs\n%s", ends)
			}
		})
	}
}
