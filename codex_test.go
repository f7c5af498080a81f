package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"taskyard/cli"
	"taskyard/task"
)

// codexFile is TASKYARD_CODEX, taken out of the environment: the servers of the
// tests know no such key.
var codexFile = func() string {
	defer func() { _ = os.Unsetenv("TASKYARD_CODEX") }()
	return os.Getenv("TASKYARD_CODEX")
}()

// realCodex finds the Codex of this machine: that of TASKYARD_CODEX, else of
// PATH.
func realCodex(t *testing.T) string {
	t.Helper()
	program := codexFile
	if program == "" {
		program = "codex"
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skip("no codex here: set TASKYARD_CODEX to its file, or put it into PATH")
	}
	return path
}

// scriptedModel speaks the Responses API as far as Codex needs: the first
// requests get the given items, one a request, the last of them for ever.
// What it was asked is kept.
type scriptedModel struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	items []string
}

func newScriptedModel(t *testing.T, items ...string) *scriptedModel {
	t.Helper()
	m := &scriptedModel{items: items}
	m.Server = httptest.NewServer(http.HandlerFunc(m.answer))
	t.Cleanup(m.Close)
	return m
}

func (m *scriptedModel) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/responses") {
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	item := m.items[min(len(m.asked), len(m.items)-1)]
	m.asked = append(m.asked, string(body))
	m.mu.Unlock()
	if item == "401" {
		http.Error(w, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`, http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n")
	fmt.Fprintf(w, "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":%s}\n\n", item)
	fmt.Fprintf(w, "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"usage\":{\"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":40},\"output_tokens\":7,\"output_tokens_details\":{\"reasoning_tokens\":2},\"total_tokens\":107}}}\n\n")
}

// shellItem and toolItem are calls of a model, sayItem is what it says.
func shellItem(command string) string {
	return callItem(map[string]any{"name": "exec_command"}, map[string]any{"cmd": command})
}

func toolItem(name string, args map[string]any) string {
	return callItem(map[string]any{"name": name, "namespace": "mcp__taskyard"}, args)
}

func callItem(item, args map[string]any) string {
	b, _ := json.Marshal(args)
	item["type"], item["call_id"], item["id"], item["arguments"] = "function_call", "call_"+fmt.Sprint(len(b)), "fc_1", string(b)
	out, _ := json.Marshal(item)
	return string(out)
}

func sayItem(text string) string {
	return fmt.Sprintf(`{"type":"message","role":"assistant","id":"m1","content":[{"type":"output_text","text":%q}]}`, text)
}

// newCodexYard is a server whose agent coder is the real Codex with a scripted
// model.
func newCodexYard(t *testing.T, m *scriptedModel, workspace string) (*server, *cli.Client) {
	t.Helper()
	s := newServer(t, "serve")
	provider := fmt.Sprintf(`model_providers.x={name="x",base_url="%s/v1",wire_api="responses",env_key="OPENAI_API_KEY",request_max_retries=0,stream_max_retries=1}`, m.URL)
	command, err := json.Marshal([]string{realCodex(t), "-c", `model_provider="x"`, "-c", provider})
	if err != nil {
		t.Fatal(err)
	}
	s.file("taskyard.toml", fmt.Sprintf("[runs]\nattempts = 1\n[approval]\npolicy = \"never\"\n[runners.cx]\nkind = \"codex\"\ncommand = %s\n[runners.cx.env]\nOPENAI_API_KEY = \"sk-of-the-test\"\n", command))
	s.file("agents/coder.md", "---\nname: coder\ndescription: For tests.\ntools: read, bash, create, edit\nrunner: cx\nmodel: scripted\nworkspace: "+workspace+"\n---\nWork.\n")
	s.start()
	return s, s.api(s.token("--scope", "operate"))
}

// codexRun makes a task of coder, which starts a run at once, and waits for its
// end: "status|phase|reason|summary|usage".
func codexRun(t *testing.T, s *server, api *cli.Client) (task.ID, string) {
	t.Helper()
	k := call[task.Task](t, api, "POST", "/api/tasks", map[string]any{"title": "Write notes", "owner": "coder"})
	s.outcome(k.ID)
	return k.ID, s.rows("SELECT status, phase, reason, summary, usage FROM runs WHERE task_id = ?", k.ID)[0]
}

func TestRealCodexWorksOnATask(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	m := newScriptedModel(t,
		shellItem("echo 'from the agent' > notes.txt; cat notes.txt; env | sort"),
		toolItem("complete_task", map[string]any{"taskId": 1, "summary": "Notes are written."}),
		sayItem("I wrote notes.txt."))
	s, api := newCodexYard(t, m, workspace)
	id, got := codexRun(t, s, api)
	if want := `completed|ended||I wrote notes.txt.|{"toolCalls":2,"tokensIn":300,"tokensOut":21}`; got != want || id != 1 {
		t.Errorf("run of task %d: %q, want %q", id, got, want)
	}
	t.Run("its shell wrote the file", func(t *testing.T) {
		if b, err := os.ReadFile(filepath.Join(workspace, "notes.txt")); err != nil || string(b) != "from the agent\n" {
			t.Errorf("%q, %v", b, err)
		}
	})
	t.Run("it completed its task over MCP", func(t *testing.T) {
		if got := s.rows("SELECT status, summary FROM tasks WHERE id = ?", id)[0]; got != "done|Notes are written." {
			t.Errorf("task %q", got)
		}
	})
	told := strings.Join(s.rows("SELECT type, content, data FROM messages ORDER BY id"), "\n")
	t.Run("the transcript has the thread, the calls and their results", func(t *testing.T) {
		for _, want := range []string{`"threadId":"`, "tool_call|bash /bin/", "tool_call|taskyard complete_task|", "from the agent", "text|I wrote notes.txt."} {
			if !strings.Contains(told, want) {
				t.Errorf("no %q", want)
			}
		}
	})
	t.Run("its commands see no key, and the model is told none", func(t *testing.T) {
		m.mu.Lock()
		asked := strings.Join(m.asked, "\n")
		m.mu.Unlock()
		if strings.Contains(asked, "sk-of-the-test") || strings.Contains(asked, "TASKYARD_TOKEN=") || strings.Contains(told, "sk-of-the-test") || !strings.Contains(told, "TASKYARD_AGENT=coder") {
			t.Error("a secret stands in what the model was asked or in the transcript, or its command saw nothing")
		}
	})
	if t.Failed() {
		t.Log(told)
	}
	s.wantNobody("after the run", nil)
}

func TestCanceledRealCodexLeavesNoProcess(t *testing.T) {
	t.Parallel()
	m := newScriptedModel(t, shellItem("(setsid sleep 900 >/dev/null 2>&1 &) ; echo begun > begun; sleep 901"), sayItem("Done."))
	workspace := t.TempDir()
	s, api := newCodexYard(t, m, workspace)
	k := call[task.Task](t, api, "POST", "/api/tasks", map[string]any{"title": "Hang", "owner": "coder"})
	eventually(t, patience, "its command runs", func() bool {
		_, err := os.Stat(filepath.Join(workspace, "begun"))
		return err == nil
	})
	call[task.Run](t, api, "POST", "/api/runs/1/cancel", map[string]any{"reason": "wrong way"})
	if got := s.outcome(k.ID); !strings.HasPrefix(got, "canceled|") {
		t.Errorf("run %q", got)
	}
	eventually(t, patience, "every process is gone", func() bool { return len(s.processes(nil)) == 0 })
}

func TestRealCodexWithARefusedKeyFailsForGood(t *testing.T) {
	t.Parallel()
	s, api := newCodexYard(t, newScriptedModel(t, "401"), t.TempDir())
	if _, got := codexRun(t, s, api); !strings.HasPrefix(got, "failed|auth|The model provider refused the credentials: ") || !strings.Contains(got, "401") {
		t.Errorf("run %q", got)
	}
}
