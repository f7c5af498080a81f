package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/runner/builtin/model/modeltest"
)

// newClaudeServer returns a server whose agent coder is the real Claude Code.
func newClaudeServer(t *testing.T, o realSetup, steps ...modeltest.Step) *realServer {
	t.Helper()
	if !strings.Contains(o.definition, "tools:") {
		o.definition += "tools: read, bash, create, edit\n"
	}
	return realClaude.server(t, modeltest.WithTools(t, steps...), o)
}

func bashStep(command string) modeltest.Step {
	return callStep("Bash", map[string]any{"command": command, "description": "A step of the test"})
}

func TestRealClaudeWorksOnATask(t *testing.T) {
	t.Parallel()
	srv := newClaudeServer(t, realSetup{},
		bashStep("echo 'from the agent' > notes.txt; cat notes.txt; env | sort"),
		callStep("mcp__taskyard__complete_task", map[string]any{"taskId": 1, "summary": "Notes are written."}),
		textStep("I wrote notes.txt."))
	id := srv.begin()
	srv.want(srv.ended(id), "completed|ended||I wrote notes.txt.")
	srv.wantFile("notes.txt", "from the agent\n")
	if got := srv.rows("SELECT status, summary FROM tasks WHERE id = ?", id)[0]; got != "done|Notes are written." {
		t.Errorf("got task %q", got)
	}
	if got := srv.rows("SELECT usage FROM runs")[0]; !strings.Contains(got, `"toolCalls":2,"tokensIn":300,"tokensOut":21`) {
		t.Errorf("got usage %s", got)
	}
	transcript := srv.transcript()
	srv.want(transcript, "", "tool_call|Bash: echo", "tool_call|mcp__taskyard__complete_task", "from the agent", "text|I wrote notes.txt.")
	t.Run("its commands do not see keys and tokens", func(t *testing.T) {
		for _, secret := range []string{"sk-ant-of-the-test", "ANTHROPIC_API_KEY=", "TASKYARD_TOKEN="} {
			if strings.Contains(strings.Join(srv.results(), "\n"), secret) {
				t.Errorf("a command sees %s", secret)
			}
		}
		if !strings.Contains(transcript, "TASKYARD_AGENT=coder") {
			t.Error("the command printed nothing")
		}
	})
	if t.Failed() {
		t.Log(transcript)
	}
	srv.wantNoProcesses("after the run", nil)
}

// outsideFile returns a file outside the workspace.
func outsideFile(t *testing.T) string {
	t.Helper()
	file := put(t, filepath.Join(t.TempDir(), "outside.txt"), "of somebody else\n")
	return file
}

func TestRealClaudeAsksBeforeLeavingItsWorkspace(t *testing.T) {
	t.Parallel()
	t.Run("a denied call is recorded and reported to the agent", func(t *testing.T) {
		t.Parallel()
		srv := newClaudeServer(t, realSetup{}, callStep("Read", map[string]any{"file_path": outsideFile(t)}), textStep("I could not read it."))
		id := srv.begin()
		srv.decide(srv.awaitPermission(), "deny", map[string]any{"reason": "not that file"})
		srv.want(srv.ended(id), "completed|ended||I could not read it.")
		srv.want(strings.Join(srv.results(), "\n"), "", "It was not permitted. A person denied this call: not that file")
		srv.want(srv.transcript(), "", "Warning: calls were refused: Read")
		if got := srv.rows("SELECT tool, decision, decided_by, message FROM permissions"); len(got) != 1 ||
			!strings.HasPrefix(got[0], "Read|denied|") || !strings.HasSuffix(got[0], "|not that file") {
			t.Errorf("got the permissions %q", got)
		}
	})
	t.Run("a denied call is the reason of a run that ends without a result", func(t *testing.T) {
		t.Parallel()
		file := outsideFile(t)
		srv := newClaudeServer(t, realSetup{}, callStep("Read", map[string]any{"file_path": file}),
			textStep(""), textStep(""), textStep(""), textStep(""), textStep(""))
		id := srv.begin()
		srv.decide(srv.awaitPermission(), "deny", map[string]any{"reason": "not that file"})
		srv.want(srv.ended(id), "failed|error|The agent stopped after a call was denied: Read: "+file+
			": It was not permitted. A person denied this call: not that file It ended without a result|")
	})
	t.Run("an allowed call is executed", func(t *testing.T) {
		t.Parallel()
		srv := newClaudeServer(t, realSetup{}, callStep("Read", map[string]any{"file_path": outsideFile(t)}), textStep("I read it."))
		id := srv.begin()
		srv.decide(srv.awaitPermission(), "allow", map[string]any{})
		srv.want(srv.ended(id), "completed|ended||I read it.")
		srv.want(strings.Join(srv.results(), "\n"), "", "of somebody else")
	})
	t.Run("nobody is asked about an unwritable file", func(t *testing.T) {
		t.Parallel()
		file := outsideFile(t)
		srv := newClaudeServer(t, realSetup{}, callStep("Write", map[string]any{"file_path": file + ".new", "content": "x"}),
			bashStep("cd . && echo bad > "+file), textStep("I could not."))
		id := srv.begin()
		srv.decide(srv.awaitPermission(), "allow", map[string]any{}) // of Bash, which always asks
		srv.want(srv.ended(id), "completed|ended||I could not.")
		srv.want(strings.Join(srv.results(), "\n"), "", "nobody can permit it", "Permission denied")
		if b, err := os.ReadFile(file); err != nil || string(b) != "of somebody else\n" {
			t.Errorf("the file contains %q, %v", b, err)
		}
	})
	t.Run("the network is closed to its commands, unless the definition opens it", func(t *testing.T) {
		t.Parallel()
		for _, definition := range []string{"", "network: true\n"} {
			m := modeltest.New(t)
			connect := fmt.Sprintf("exec 3<>/dev/tcp/%s && echo connected", strings.Replace(strings.TrimPrefix(m.URL, "http://"), ":", "/", 1))
			srv := newClaudeServer(t, realSetup{definition: definition}, bashStep(connect), textStep("Done."))
			srv.want(srv.execute(), "completed|ended||Done.")
			if got := strings.Join(srv.results(), "\n"); strings.Contains(got, "connected") != (definition != "") {
				t.Errorf("with %q: got %s", definition, got)
			}
		}
	})
}

func TestCanceledRealClaudeLeavesNoProcess(t *testing.T) {
	t.Parallel()
	srv := newClaudeServer(t, realSetup{}, bashStep("(setsid sleep 900 >/dev/null 2>&1 &) ; echo begun > begun; sleep 100"), textStep("Done."))
	id := srv.begin()
	srv.awaitFile("begun")
	srv.wantCanceled(id)
}

func TestRealClaudeKeepsItsLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit, want, words string
		out                int // tokens per turn
	}{
		{"max_tokens: 1000", "failed|tokens|", "of at most 1000", 600},
		{"max_cost_usd: 0.01", "failed|cost|", "USD of at most 0.01", 9000},
		{"max_turns: 2", "failed|turns|", "turns of at most 2", 1},
	} {
		t.Run(tt.limit, func(t *testing.T) {
			t.Parallel()
			greedy := bashStep("true")
			greedy.Times, greedy.Usage.Out = 100, tt.out
			srv := newClaudeServer(t, realSetup{definition: tt.limit + "\n"}, greedy)
			srv.want(srv.execute(), tt.want, tt.words)
		})
	}
}

func TestRealClaudeFails(t *testing.T) {
	t.Parallel()
	t.Run("a refused key fails permanently", func(t *testing.T) {
		t.Parallel()
		srv := newClaudeServer(t, realSetup{attempts: 3}, modeltest.Step{Status: 401, Times: 100})
		srv.want(srv.execute(), "failed|auth|The credentials are missing or refused", "ANTHROPIC_API_KEY")
		if got := srv.rows("SELECT count(*), max(failures) FROM runs, tasks")[0]; got != "1|3" {
			t.Errorf("got runs and failures %q", got)
		}
	})
	t.Run("an empty answer is not a result", func(t *testing.T) {
		t.Parallel()
		srv := newClaudeServer(t, realSetup{}, modeltest.Step{Times: 100})
		srv.want(srv.execute(), "failed|error|It ended without a result")
	})
	t.Run("an agent with unconfined bash is refused, with the fix", func(t *testing.T) {
		t.Parallel()
		srv := newClaudeServer(t, realSetup{runner: "confine = false\n"}, textStep("Done."))
		srv.want(srv.execute(), "failed|error|", "confine = false", "Set accept_weaker = true in the section of this runner")
		if n := len(srv.model.Requests()); n != 0 {
			t.Errorf("got %d requests to the model", n)
		}
	})
}

func TestRealClaudeContinuesAfterAnInterruption(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"the server was killed", "the server stopped"} {
		t.Run(cut, func(t *testing.T) {
			t.Parallel()
			srv := newClaudeServer(t, realSetup{private: true, attempts: 3},
				bashStep("echo one > notes.txt && pwd"),
				bashStep("echo begun >> notes.txt; sleep 100"),
				bashStep("cat notes.txt && pwd"),
				textStep("It was one."))
			srv.resume(cut, 2)
			srv.want(srv.rows("SELECT status, summary FROM runs ORDER BY id DESC")[0], "completed|It was one.")
			srv.want(strings.Join(srv.results(), "\n"), "", "one\nbegun\n") // written before the stop, read after it
			if got := srv.results(); len(got) < 2 || !strings.HasSuffix(strings.TrimSpace(got[len(got)-1]), strings.TrimSpace(got[0])) {
				t.Errorf("the model got %q: other folders, or not the same conversation", got)
			}
		})
	}
}
