package e2e

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// ending is a case of the table below: how the model server behaves in a run of the
// built-in agent, and how the run ends.
type ending struct {
	name  string
	agent string // default coder: tools read and list, no low limits
	steps []modeltest.Step
	over  modeltest.Step // for requests after the steps; zero: a short text

	state      string // status/phase
	reason     string // part of it; "" for runs that complete
	toolResult string // part of the first tool result in the transcript
	maxTurns   int    // at most this many turns; 0: not checked
}

// endings lists every misbehavior of a provider or a model, and how the run ends.
func endings() []ending {
	text := modeltest.Step{Text: "Looked at it."}
	never := make(chan struct{})
	busy := modeltest.Step{Status: 429, After: "0.01"}
	failing := modeltest.Step{Status: 500, After: "0.01"}
	looking := oneCall("read", `{"path":"nothing.txt"}`)
	return []ending{
		{name: "a text", steps: []modeltest.Step{text}, state: "completed/ended", maxTurns: 2},
		{
			name:  "a text in one piece without usage",
			steps: []modeltest.Step{{Text: "Looked at it.", NoUsage: true}}, state: "completed/ended",
		},
		{
			name: "401", over: modeltest.Step{Status: 401, Message: "bad key"}, state: "failed/auth",
			reason: "the provider refused the key (401): bad key", maxTurns: 1,
		},
		{
			name: "403", over: modeltest.Step{Status: 403, Message: "not for you"}, state: "failed/auth",
			reason: "the provider refused the key (403)", maxTurns: 1,
		},
		{
			name: "404 for the model", over: modeltest.Step{Status: 404, Message: "no such model"},
			state: "failed/error", reason: "no such model", maxTurns: 1,
		},
		{
			name: "400 for a prompt that is too long", over: modeltest.Step{Status: 400, Message: "prompt is too long"},
			state: "failed/error", reason: "too long for the model", maxTurns: 1,
		},
		{name: "429 twice", steps: []modeltest.Step{busy, busy, text}, state: "completed/ended", maxTurns: 4},
		{name: "429 every time", over: busy, state: "failed/error", reason: "too many requests for the provider (429)", maxTurns: 5},
		{
			name: "429 for an hour", over: modeltest.Step{Status: 429, After: "3600"}, state: "failed/error",
			reason: "too many requests for the provider (429)", maxTurns: 1,
		},
		{name: "500 twice", steps: []modeltest.Step{failing, failing, text}, state: "completed/ended", maxTurns: 4},
		{name: "500 every time", over: failing, state: "failed/error", reason: "the provider failed (500)", maxTurns: 5},
		{name: "overloaded", steps: []modeltest.Step{{Status: 529, After: "0.01"}, text}, state: "completed/ended"},
		{
			name: "half a stream, cut once", steps: []modeltest.Step{{Text: "half of it", Break: modeltest.BreakCut}, text},
			state: "completed/ended",
		},
		{
			name: "half a stream, cut each time", over: modeltest.Step{Text: "half of it", Break: modeltest.BreakCut},
			state: "failed/error", reason: "the connection to the provider failed", maxTurns: 5,
		},
		{
			name: "half a stream, ended cleanly", over: modeltest.Step{Text: "half of it", Break: modeltest.BreakEnd},
			state: "failed/error", reason: "the connection to the provider failed", maxTurns: 5,
		},
		{
			name: "half a stream, then an error", steps: []modeltest.Step{{Text: "half of it", Break: modeltest.BreakError}, text},
			state: "completed/ended",
		},
		{
			name: "an invalid response", over: modeltest.Step{Raw: "event: message_start\ndata: {nonsense\n\n"},
			state: "failed/protocol", reason: "makes no sense", maxTurns: 1,
		},
		{name: "an empty reply", over: modeltest.Step{Stop: "stop", Text: ""}, state: "failed/error", reason: "reply is empty", maxTurns: 1},
		{
			name: "a refusal", over: modeltest.Step{Text: "I will not.", Stop: "refusal"},
			state: "failed/error", reason: "The model refused to continue: I will not.",
		},
		{
			name: "replies that are cut each time", over: modeltest.Step{Text: "and so on", Stop: "length"},
			state: "failed/error", reason: "3 replies in a row were cut", maxTurns: 3,
		},
		{
			name: "silence", agent: "hasty", over: modeltest.Step{Wait: never}, state: "failed/idle",
			reason: "The model said nothing for 1 s", maxTurns: 1,
		},
		{
			name: "the same call again and again", over: modeltest.Step{Calls: looking.Calls}, state: "failed/error",
			reason: "the same call of read brought the same result 6 times", maxTurns: 10,
		},
		{
			name: "endless calls", agent: "turner", over: modeltest.Step{}, state: "failed/turns",
			reason: "It took 3 turns of at most 3", maxTurns: 3,
		},
		{name: "more tokens than the limit", agent: "spender", over: modeltest.Step{
			Calls: looking.Calls,
			Usage: modeltest.Usage{In: 400, Out: 200},
		}, state: "failed/tokens", reason: "It used 1200 tokens of at most 1000", maxTurns: 2},
		{
			name: "bash, called by an agent with read and list", steps: []modeltest.Step{oneCall("bash", `{"command":"id"}`), text},
			state: "completed/ended", toolResult: "agent coder may not use the tool bash: its tools are read, list",
		},
		{
			name: "an unknown tool", steps: []modeltest.Step{oneCall("launch", `{}`), text},
			state: "completed/ended", toolResult: "agent coder may not use the tool launch",
		},
		{
			name: "arguments that are not JSON", steps: []modeltest.Step{oneCall("read", `{"path": "unfin`), text},
			state: "completed/ended", toolResult: "no JSON object",
		},
		{
			name: "a path above the workspace", steps: []modeltest.Step{oneCall("read", `{"path":"../../../taskyard.db"}`), text},
			state: "completed/ended", toolResult: "outside the workspace",
		},
		{
			name: "a file of the machine's processes", steps: []modeltest.Step{oneCall("read", `{"path":"/proc/self/environ"}`), text},
			state: "completed/ended", toolResult: "outside the workspace",
		},
		{
			name: "a page of this machine", agent: "fetcher",
			steps: []modeltest.Step{oneCall("fetch", `{"url":"http://127.0.0.1/"}`), text}, state: "completed/ended", toolResult: "not public",
		},
		{
			name: "a page of this machine, mapped to IPv6", agent: "fetcher",
			steps: []modeltest.Step{oneCall("fetch", `{"url":"http://[::ffff:127.0.0.1]/"}`), text},
			state: "completed/ended", toolResult: "not public",
		},
	}
}

// director answers each run according to the case that the title of its task names.
type director struct {
	mu    sync.Mutex
	cases map[string]ending
	asked map[string]int
}

var titleLine = regexp.MustCompile(`(?m)^\[\[\w+ title, by .*\]\]\n(.*)$`)

func (d *director) answer(r modeltest.Request) modeltest.Step {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := titleLine.FindStringSubmatch(r.Messages[0].Text)
	if m == nil {
		return modeltest.Step{Status: http.StatusTeapot, Message: "unknown run"}
	}
	c, n := d.cases[m[1]], d.asked[m[1]]
	d.asked[m[1]]++
	switch {
	case n < len(c.steps):
		return c.steps[n]
	case c.name == "endless calls": // each with another argument
		return oneCall("read", `{"path":"%d.txt"}`, n)
	case c.state == "completed/ended":
		return modeltest.Step{Text: "Looked at it."}
	}
	return c.over
}

func (d *director) turns(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[name]
}

// TestHowARunEnds runs every case through a server, its dispatcher, its database and
// the wire format of both APIs.
func TestHowARunEnds(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"openai", "anthropic"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			d := &director{cases: map[string]ending{}, asked: map[string]int{}}
			for _, c := range endings() {
				d.cases[c.name] = c
			}
			s, person := newBuiltinServer(t, api, modeltest.NewFunc(t, d.answer))
			s.kill()
			s.args = append(s.args, "--set", "runs.attempts=1", "--set", "runs.max_parallel=64", "--set", "runs.equal_failures=0")
			for id, lines := range map[string]string{
				"coder": "tools: read, list", "hasty": "tools: read\nidle_timeout: 1s", "turner": "tools: read\nmax_turns: 3",
				"spender": "tools: read\nmax_tokens: 1000", "fetcher": "tools: read, fetch",
			} {
				s.file("agents/"+id+".md", "---\nname: "+id+"\ndescription: For tests.\nmax_parallel: 64\n"+lines+"\n---\nYou are terse.\n")
			}
			s.start()
			ids := map[string]task.ID{}
			for _, c := range endings() {
				c.agent = cmp.Or(c.agent, "coder")
				ids[c.name] = call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": c.name, "owner": c.agent}).ID
			}
			for _, c := range endings() {
				t.Run(c.name, func(t *testing.T) {
					r := waitForRun(t, s, person, ids[c.name])
					if got := r.State().String(); got != c.state || !strings.Contains(r.Reason, c.reason) ||
						(r.Status == task.RunCompleted) != (r.Reason == "") {
						t.Errorf("got %s: %q, want %s: %q", got, r.Reason, c.state, c.reason)
					}
					if r.Status == task.RunCompleted && r.Summary != "Looked at it." || r.Status != task.RunCompleted && r.Summary != "" {
						t.Errorf("got summary %q", r.Summary)
					}
					if n := d.turns(c.name); c.maxTurns > 0 && n > c.maxTurns {
						t.Errorf("got %d turns, want at most %d", n, c.maxTurns)
					}
					if c.toolResult == "" {
						return
					}
					got := s.rows("SELECT content FROM messages WHERE run_id = ? AND type = 'tool_result' ORDER BY id LIMIT 1", r.ID)
					if len(got) != 1 || !strings.Contains(got[0], c.toolResult) {
						t.Errorf("got the tool result %q, want %q", got, c.toolResult)
					}
				})
			}
			t.Run("missing usage is estimated, and marked", func(t *testing.T) {
				r := waitForRun(t, s, person, ids["a text in one piece without usage"])
				if api == "openai" && (!r.Usage.Estimated || r.Usage.Tokens() == 0) {
					t.Errorf("got usage %s", asJSON(r.Usage))
				}
				sum := call[task.UsageReport](t, person, "GET", "/api/usage?by=run&to="+time.Now().UTC().Add(time.Hour).Format(time.RFC3339), nil)
				if len(sum.Rows) != len(endings()) || api == "openai" && !sum.Total.Estimated {
					t.Errorf("got %d rows, total %+v", len(sum.Rows), sum.Total)
				}
			})
			t.Run("no task has a second run, and none is still running", func(t *testing.T) {
				if got := fmt.Sprint(s.rows("SELECT count(*), sum(ended_at IS NULL) FROM runs")); got != fmt.Sprintf("[%d|0]", len(endings())) {
					t.Errorf("got runs and open runs %s", got)
				}
			})
		})
	}
}
