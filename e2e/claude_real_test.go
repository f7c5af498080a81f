package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/runner/builtin/model/modeltest"
)

// newClaudeServer is a server whose agent coder is the real Claude Code.
func newClaudeServer(t *testing.T, o realSetup, steps ...modeltest.Step) *realServer {
	t.Helper()
	if !strings.Contains(o.definition, "tools:") {
		o.definition += "tools: read, bash, create, edit\n"
	}
	return realClaude.server(t, modeltest.WithTools(t, steps...), o)
}

func bashing(command string) modeltest.Step {
	return doing("Bash", map[string]any{"command": command, "description": "A step of the test"})
}

func TestRealClaudeWorksOnATask(t *testing.T) {
	t.Parallel()
	y := newClaudeServer(t, realSetup{},
		bashing("echo 'from the agent' > notes.txt; cat notes.txt; env | sort"),
		doing("mcp__taskyard__complete_task", map[string]any{"taskId": 1, "summary": "Notes are written."}),
		saying("I wrote notes.txt."))
	id := y.begin()
	y.want(y.ended(id), "completed|ended||I wrote notes.txt.")
	y.wrote("notes.txt", "from the agent\n")
	if got := y.rows("SELECT status, summary FROM tasks WHERE id = ?", id)[0]; got != "done|Notes are written." {
		t.Errorf("task %q", got)
	}
	if got := y.rows("SELECT usage FROM runs")[0]; !strings.Contains(got, `"toolCalls":2,"tokensIn":300,"tokensOut":21`) {
		t.Errorf("usage %s", got)
	}
	told := y.told()
	y.want(told, "", "tool_call|Bash: echo", "tool_call|mcp__taskyard__complete_task", "from the agent", "text|I wrote notes.txt.")
	t.Run("its commands see no key and no token", func(t *testing.T) {
		for _, secret := range []string{"sk-ant-of-the-test", "ANTHROPIC_API_KEY=", "TASKYARD_TOKEN="} {
			if strings.Contains(strings.Join(y.results(), "\n"), secret) {
				t.Errorf("they see %s", secret)
			}
		}
		if !strings.Contains(told, "TASKYARD_AGENT=coder") {
			t.Error("the command saw nothing")
		}
	})
	if t.Failed() {
		t.Log(told)
	}
	y.wantNobody("after the run", nil)
}

// outsideFile is a file outside the workspace.
func outsideFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "outside.txt")
	if err := os.WriteFile(file, []byte("of somebody else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRealClaudeAsksBeforeItLeavesItsWorkspace(t *testing.T) {
	t.Parallel()
	t.Run("a denied call is recorded, and the agent told", func(t *testing.T) {
		t.Parallel()
		y := newClaudeServer(t, realSetup{}, doing("Read", map[string]any{"file_path": outsideFile(t)}), saying("I could not read it."))
		id := y.begin()
		y.decide(y.asks(), "deny", map[string]any{"reason": "not that file"})
		y.want(y.ended(id), "completed|ended||I could not read it.")
		y.want(strings.Join(y.results(), "\n"), "", "It was not permitted. A person denied this call: not that file")
		y.want(y.told(), "", "Warning: calls were refused: Read")
		if got := y.rows("SELECT tool, decision, decided_by, message FROM permissions"); len(got) != 1 ||
			!strings.HasPrefix(got[0], "Read|denied|") || !strings.HasSuffix(got[0], "|not that file") {
			t.Errorf("permissions %q", got)
		}
	})
	t.Run("a denied call is the reason of a run that ends without a result", func(t *testing.T) {
		t.Parallel()
		file := outsideFile(t)
		y := newClaudeServer(t, realSetup{}, doing("Read", map[string]any{"file_path": file}),
			saying(""), saying(""), saying(""), saying(""), saying(""))
		id := y.begin()
		y.decide(y.asks(), "deny", map[string]any{"reason": "not that file"})
		y.want(y.ended(id), "failed|error|The agent stopped after a call was denied: Read: "+file+
			": It was not permitted. A person denied this call: not that file It ended without a result|")
	})
	t.Run("an allowed call is made", func(t *testing.T) {
		t.Parallel()
		y := newClaudeServer(t, realSetup{}, doing("Read", map[string]any{"file_path": outsideFile(t)}), saying("I read it."))
		id := y.begin()
		y.decide(y.asks(), "allow", map[string]any{})
		y.want(y.ended(id), "completed|ended||I read it.")
		y.want(strings.Join(y.results(), "\n"), "", "of somebody else")
	})
	t.Run("what it may not write it need not ask for", func(t *testing.T) {
		t.Parallel()
		file := outsideFile(t)
		y := newClaudeServer(t, realSetup{}, doing("Write", map[string]any{"file_path": file + ".new", "content": "x"}),
			bashing("cd . && echo bad > "+file), saying("I could not."))
		id := y.begin()
		y.decide(y.asks(), "allow", map[string]any{}) // of Bash, which asks by itself
		y.want(y.ended(id), "completed|ended||I could not.")
		y.want(strings.Join(y.results(), "\n"), "", "nobody can permit it", "Permission denied")
		if b, err := os.ReadFile(file); err != nil || string(b) != "of somebody else\n" {
			t.Errorf("the file is %q, %v", b, err)
		}
	})
	t.Run("the network is closed to its commands, and open where the definition says so", func(t *testing.T) {
		t.Parallel()
		for _, definition := range []string{"", "network: true\n"} {
			m := modeltest.New(t)
			connect := fmt.Sprintf("exec 3<>/dev/tcp/%s && echo connected", strings.Replace(strings.TrimPrefix(m.URL, "http://"), ":", "/", 1))
			y := newClaudeServer(t, realSetup{definition: definition}, bashing(connect), saying("Done."))
			y.want(y.execute(), "completed|ended||Done.")
			if got := strings.Join(y.results(), "\n"); strings.Contains(got, "connected") != (definition != "") {
				t.Errorf("with %q: %s", definition, got)
			}
		}
	})
}

func TestCanceledRealClaudeLeavesNoProcess(t *testing.T) {
	t.Parallel()
	y := newClaudeServer(t, realSetup{}, bashing("(setsid sleep 900 >/dev/null 2>&1 &) ; echo begun > begun; sleep 100"), saying("Done."))
	id := y.begin()
	y.exists("begun")
	y.cancels(id)
}

func TestRealClaudeKeepsItsLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit, want, words string
		out                int // tokens a turn
	}{
		{"max_tokens: 1000", "failed|tokens|", "of at most 1000", 600},
		{"max_cost_usd: 0.01", "failed|cost|", "USD of at most 0.01", 9000},
		{"max_turns: 2", "failed|turns|", "turns of at most 2", 1},
	} {
		t.Run(tt.limit, func(t *testing.T) {
			t.Parallel()
			greedy := bashing("true")
			greedy.Times, greedy.Usage.Out = 100, tt.out
			y := newClaudeServer(t, realSetup{definition: tt.limit + "\n"}, greedy)
			y.want(y.execute(), tt.want, tt.words)
		})
	}
}

func TestRealClaudeFails(t *testing.T) {
	t.Parallel()
	t.Run("a refused key for good", func(t *testing.T) {
		t.Parallel()
		y := newClaudeServer(t, realSetup{attempts: 3}, modeltest.Step{Status: 401, Times: 100})
		y.want(y.execute(), "failed|auth|The credentials are missing or refused", "ANTHROPIC_API_KEY")
		if got := y.rows("SELECT count(*), max(failures) FROM runs, tasks")[0]; got != "1|3" {
			t.Errorf("runs and failures %q", got)
		}
	})
	t.Run("an empty answer is no result", func(t *testing.T) {
		t.Parallel()
		y := newClaudeServer(t, realSetup{}, modeltest.Step{Times: 100})
		y.want(y.execute(), "failed|error|It ended without a result")
	})
	t.Run("an agent with bash is refused where nothing holds it, with the remedy", func(t *testing.T) {
		t.Parallel()
		y := newClaudeServer(t, realSetup{runner: "confine = false\n"}, saying("Done."))
		y.want(y.execute(), "failed|error|", "confine = false", "Set accept_weaker = true in the section of this runner")
		if n := len(y.model.Requests()); n != 0 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}

func TestRealClaudeGoesOnAfterACut(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"the server was killed", "the server stopped"} {
		t.Run(cut, func(t *testing.T) {
			t.Parallel()
			y := newClaudeServer(t, realSetup{private: true, attempts: 3},
				bashing("echo one > notes.txt && pwd"),
				bashing("echo begun >> notes.txt; sleep 100"),
				bashing("cat notes.txt && pwd"),
				saying("It was one."))
			y.resume(cut, 2)
			y.want(y.rows("SELECT status, summary FROM runs ORDER BY id DESC")[0], "completed|It was one.")
			y.want(strings.Join(y.results(), "\n"), "", "one\nbegun\n") // written before the cut, read after it
			if got := y.results(); len(got) < 2 || !strings.HasSuffix(strings.TrimSpace(got[len(got)-1]), strings.TrimSpace(got[0])) {
				t.Errorf("the model was told %q: other folders, or not the same conversation", got)
			}
		})
	}
}
