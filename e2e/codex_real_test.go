package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/runner/builtin/model/modeltest"
)

// newCodexServer is a server whose agent coder is the real Codex.
func newCodexServer(t *testing.T, o realSetup, steps ...modeltest.Step) *realServer {
	t.Helper()
	if !strings.Contains(o.definition, "tools:") {
		o.definition += "tools: read, bash, create, edit\n"
	}
	return realCodex.server(t, modeltest.New(t, steps...), o)
}

func executing(command string) modeltest.Step {
	return doing("exec_command", map[string]any{"cmd": command})
}

func TestRealCodexWorksOnATask(t *testing.T) {
	t.Parallel()
	complete := realCodex.calls("complete_task", map[string]any{"taskId": 1, "summary": "Notes are written."})
	srv := newCodexServer(t, realSetup{},
		executing("echo 'from the agent' > notes.txt; cat notes.txt; env | sort"), complete, saying("I wrote notes.txt."))
	id := srv.begin()
	srv.want(srv.ended(id), "completed|ended||I wrote notes.txt.")
	srv.wrote("notes.txt", "from the agent\n")
	if got := srv.rows("SELECT status, summary FROM tasks WHERE id = ?", id)[0]; got != "done|Notes are written." {
		t.Errorf("task %q", got)
	}
	if got, want := srv.rows("SELECT usage FROM runs")[0], `{"toolCalls":2,"tokensIn":300,"tokensOut":21}`; got != want {
		t.Errorf("usage %s, want %s", got, want)
	}
	told, session := srv.told(), srv.rows("SELECT session FROM runs")[0]
	srv.want(told, "", `"threadId":"`+session+`"`, "tool_call|bash /", "tool_call|taskyard complete_task|",
		"from the agent", "text|I wrote notes.txt.")
	t.Run("its commands see no key, and the model is told none", func(t *testing.T) {
		asked := strings.Join(srv.results(), "\n")
		if strings.Contains(asked, "sk-of-the-test") || strings.Contains(asked, "TASKYARD_TOKEN=") ||
			strings.Contains(told, "sk-of-the-test") || !strings.Contains(told, "TASKYARD_AGENT=coder") {
			t.Error("a secret is in what the model was sent or in the transcript, or its command saw nothing")
		}
	})
	if t.Failed() {
		t.Log(told)
	}
	srv.wantNobody("after the run", nil)
}

func TestRealCodexStaysInItsSandbox(t *testing.T) {
	t.Parallel()
	outside := outsideFile(t)
	command := fmt.Sprintf("cat %s; echo bad > %s; echo more > made.txt; (echo > /dev/tcp/127.0.0.1/1)", outside, outside)
	for _, tt := range []struct {
		name, definition string
		made             bool
	}{{"workspace-write", "", true}, {"read-only", "tools: read\n", false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := newCodexServer(t, realSetup{definition: tt.definition}, executing(command), saying("Done."))
			srv.want(srv.execute(), "completed|ended||Done.")
			srv.want(strings.Join(srv.results(), "\n"), "", "of somebody else")
			if b, err := os.ReadFile(outside); err != nil || string(b) != "of somebody else\n" {
				t.Errorf("the file outside is %q, %v", b, err)
			}
			if _, err := os.Stat(filepath.Join(srv.work, "made.txt")); (err == nil) != tt.made {
				t.Errorf("made.txt: %v", err)
			}
		})
	}
}

func TestCanceledRealCodexLeavesNoProcess(t *testing.T) {
	t.Parallel()
	srv := newCodexServer(t, realSetup{}, executing("(setsid sleep 900 >/dev/null 2>&1 &) ; echo begun > begun; sleep 901"), saying("Done."))
	id := srv.begin()
	srv.exists("begun")
	srv.cancels(id)
}

func TestRealCodexKeepsItsLimits(t *testing.T) {
	t.Parallel()
	greedy := executing("true")
	greedy.Usage, greedy.Times = modeltest.Usage{In: 900, Out: 200}, 8
	for _, tt := range []struct{ limit, want, words string }{
		{"max_tokens: 1000", "failed|tokens|", "of at most 1000"},
		{"max_turns: 3", "failed|turns|", "of at most 3"},
	} {
		t.Run(tt.limit, func(t *testing.T) {
			t.Parallel()
			srv := newCodexServer(t, realSetup{definition: tt.limit + "\n"}, greedy, saying("Done."))
			srv.want(srv.execute(), tt.want, tt.words)
		})
	}
}

func TestRealCodexFails(t *testing.T) {
	t.Parallel()
	t.Run("a refused key for good", func(t *testing.T) {
		t.Parallel()
		srv := newCodexServer(t, realSetup{attempts: 3}, modeltest.Step{Status: 401, Times: 100})
		srv.want(srv.execute(), "failed|auth|The model provider refused the credentials: ", "401")
		if got := srv.rows("SELECT count(*), max(failures) FROM runs, tasks")[0]; got != "1|3" {
			t.Errorf("runs and failures %q", got)
		}
	})
	t.Run("an empty answer is no result", func(t *testing.T) {
		t.Parallel()
		srv := newCodexServer(t, realSetup{}, modeltest.Step{Times: 100})
		srv.want(srv.execute(), "failed|error|It ended without a result")
	})
}

func TestRealCodexGoesOnAfterACut(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"the server was killed", "the server stopped"} {
		t.Run(cut, func(t *testing.T) {
			t.Parallel()
			outside := outsideFile(t)
			srv := newCodexServer(t, realSetup{private: true, attempts: 3},
				executing("echo one > notes.txt && pwd"),
				executing("echo begun >> notes.txt; sleep 100"),
				executing("echo bad > "+outside+"; cat notes.txt && pwd"),
				saying("It was one."))
			srv.resume(cut, 2)
			srv.want(srv.rows("SELECT status, summary FROM runs ORDER BY id DESC")[0], "completed|It was one.")
			got := srv.results()
			srv.want(strings.Join(got, "\n"), "", "one\nbegun\n") // written before the cut, read after it
			if len(got) < 2 || strings.Count(strings.Join(got, "\n"), "/runs/run-1-1/work") != 2 {
				t.Errorf("the model was told %q: other folders, or not the same conversation", got)
			}
			if b, err := os.ReadFile(outside); err != nil || string(b) != "of somebody else\n" {
				t.Errorf("it left its sandbox: %q, %v", b, err)
			}
		})
	}
}
