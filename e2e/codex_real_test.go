package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/runner/builtin/model/modeltest"
)

// newCodexServer returns a server whose agent coder is the real Codex.
func newCodexServer(t *testing.T, o realSetup, steps ...modeltest.Step) *realServer {
	t.Helper()
	if !strings.Contains(o.definition, "tools:") {
		o.definition += "tools: read, bash, create, edit\n"
	}
	return realCodex.server(t, modeltest.New(t, steps...), o)
}

func execStep(command string) modeltest.Step {
	return callStep("exec_command", map[string]any{"cmd": command})
}

func TestRealCodexWorksOnATask(t *testing.T) {
	t.Parallel()
	complete := realCodex.calls("complete_task", map[string]any{"taskId": 1, "summary": "Notes are written."})
	srv := newCodexServer(t, realSetup{},
		execStep("echo 'from the agent' > notes.txt; cat notes.txt; env | sort"), complete, textStep("I wrote notes.txt."))
	id := srv.begin()
	srv.want(srv.ended(id), "completed|ended||I wrote notes.txt.")
	srv.wantFile("notes.txt", "from the agent\n")
	if got := srv.rows("SELECT status, summary FROM tasks WHERE id = ?", id)[0]; got != "done|Notes are written." {
		t.Errorf("got task %q", got)
	}
	if got, want := srv.rows("SELECT usage FROM runs")[0], `{"toolCalls":2,"tokensIn":300,"tokensOut":21}`; got != want {
		t.Errorf("got usage %s, want %s", got, want)
	}
	transcript, session := srv.transcript(), srv.rows("SELECT session FROM runs")[0]
	srv.want(transcript, "", `"threadId":"`+session+`"`, "tool_call|bash /", "tool_call|taskyard complete_task|",
		"from the agent", "text|I wrote notes.txt.")
	t.Run("its commands do not see keys, and the model gets none", func(t *testing.T) {
		asked := strings.Join(srv.results(), "\n")
		if strings.Contains(asked, "sk-of-the-test") || strings.Contains(asked, "TASKYARD_TOKEN=") ||
			strings.Contains(transcript, "sk-of-the-test") || !strings.Contains(transcript, "TASKYARD_AGENT=coder") {
			t.Error("a secret is in the requests to the model or in the transcript, or its command printed nothing")
		}
	})
	if t.Failed() {
		t.Log(transcript)
	}
	srv.wantNoProcesses("after the run", nil)
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
			srv := newCodexServer(t, realSetup{definition: tt.definition}, execStep(command), textStep("Done."))
			srv.want(srv.execute(), "completed|ended||Done.")
			srv.want(strings.Join(srv.results(), "\n"), "", "of somebody else")
			if b, err := os.ReadFile(outside); err != nil || string(b) != "of somebody else\n" {
				t.Errorf("the file outside contains %q, %v", b, err)
			}
			if _, err := os.Stat(filepath.Join(srv.work, "made.txt")); (err == nil) != tt.made {
				t.Errorf("made.txt: %v", err)
			}
		})
	}
}

func TestCanceledRealCodexLeavesNoProcess(t *testing.T) {
	t.Parallel()
	srv := newCodexServer(t, realSetup{}, execStep("(setsid sleep 900 >/dev/null 2>&1 &) ; echo begun > begun; sleep 901"), textStep("Done."))
	id := srv.begin()
	srv.awaitFile("begun")
	srv.wantCanceled(id)
}

func TestRealCodexKeepsItsLimits(t *testing.T) {
	t.Parallel()
	greedy := execStep("true")
	greedy.Usage, greedy.Times = modeltest.Usage{In: 900, Out: 200}, 8
	for _, tt := range []struct{ limit, want, words string }{
		{"max_tokens: 1000", "failed|tokens|", "of at most 1000"},
		{"max_turns: 3", "failed|turns|", "of at most 3"},
	} {
		t.Run(tt.limit, func(t *testing.T) {
			t.Parallel()
			srv := newCodexServer(t, realSetup{definition: tt.limit + "\n"}, greedy, textStep("Done."))
			srv.want(srv.execute(), tt.want, tt.words)
		})
	}
}

func TestRealCodexFails(t *testing.T) {
	t.Parallel()
	t.Run("a refused key fails permanently", func(t *testing.T) {
		t.Parallel()
		srv := newCodexServer(t, realSetup{attempts: 3}, modeltest.Step{Status: 401, Times: 100})
		srv.want(srv.execute(), "failed|auth|The model provider refused the credentials: ", "401")
		if got := srv.rows("SELECT count(*), max(failures) FROM runs, tasks")[0]; got != "1|3" {
			t.Errorf("got runs and failures %q", got)
		}
	})
	t.Run("an empty answer is not a result", func(t *testing.T) {
		t.Parallel()
		srv := newCodexServer(t, realSetup{}, modeltest.Step{Times: 100})
		srv.want(srv.execute(), "failed|error|It ended without a result")
	})
}

func TestRealCodexContinuesAfterAnInterruption(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"the server was killed", "the server stopped"} {
		t.Run(cut, func(t *testing.T) {
			t.Parallel()
			outside := outsideFile(t)
			srv := newCodexServer(t, realSetup{private: true, attempts: 3},
				execStep("echo one > notes.txt && pwd"),
				execStep("echo begun >> notes.txt; sleep 100"),
				execStep("echo bad > "+outside+"; cat notes.txt && pwd"),
				textStep("It was one."))
			srv.resume(cut, 2)
			srv.want(srv.rows("SELECT status, summary FROM runs ORDER BY id DESC")[0], "completed|It was one.")
			got := srv.results()
			srv.want(strings.Join(got, "\n"), "", "one\nbegun\n") // written before the stop, read after it
			if len(got) < 2 || strings.Count(strings.Join(got, "\n"), "/runs/run-1-1/work") != 2 {
				t.Errorf("the model got %q: other folders, or not the same conversation", got)
			}
			if b, err := os.ReadFile(outside); err != nil || string(b) != "of somebody else\n" {
				t.Errorf("it left its sandbox: %q, %v", b, err)
			}
		})
	}
}
