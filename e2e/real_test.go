package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// realPrograms are those of TASKYARD_CLAUDE and its like, taken out of the
// environment: the servers of the tests know no such keys.
var realPrograms = func() map[string]string {
	found := map[string]string{}
	for _, name := range []string{"claude", "codex", "gemini", "opencode", "qwen"} {
		key := "TASKYARD_" + strings.ToUpper(name)
		found[name] = os.Getenv(key)
		_ = os.Unsetenv(key)
	}
	return found
}()

// realProgram finds an agent's program of this machine, by its variable, else
// in PATH; without it the test is skipped.
func realProgram(t *testing.T, name, install string) string {
	t.Helper()
	program := cmp.Or(realPrograms[name], name)
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("no %s here: %s, or set TASKYARD_%s to its file", name, install, strings.ToUpper(name))
	}
	if path, err = filepath.Abs(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// realServer is a server whose agent coder is a real program with a scripted
// model.
type realServer struct {
	*server
	model  *modeltest.Server
	person *client.Client // may decide too
	work   string         // the workspace of coder
}

// realSetup is what differs between servers.
type realSetup struct {
	runner     string // lines of [runners.real]
	model      string // of the agents
	definition string // lines of the front matter
	conf       string // lines of the rest of the configuration
	attempts   int    // 0: 1
	private    bool   // no workspace: each run has its own folder
	approval   string // "": never
	helper     string // the system prompt of a second agent, helper; "": there is none
	builtin    bool   // helper is a built-in agent
}

func newRealServer(t *testing.T, m *modeltest.Server, o realSetup) *realServer {
	t.Helper()
	srv := &realServer{server: newServer(t, "serve"), model: m, work: t.TempDir()}
	workspace := "workspace: " + srv.work + "\n"
	if o.private {
		workspace = ""
	}
	approval := cmp.Or(o.approval, "never")
	if o.builtin {
		srv.env = append(srv.env, "TEST_MODEL_KEY="+providerKey)
		o.conf += fmt.Sprintf("[providers.test]\napi = \"anthropic\"\nbase_url = %q\napi_key_env = \"TEST_MODEL_KEY\"\n"+
			"models = [\"test-model\"]\n", m.URL+"/v1")
	}
	srv.file("taskyard.toml", fmt.Sprintf("[runs]\nattempts = %d\n[approval]\npolicy = %q\n%s[runners.real]\n%s",
		max(1, o.attempts), approval, o.conf, o.runner))
	define := func(name, runner, prompt string) {
		srv.file("agents/"+name+".md", "---\nname: "+name+"\ndescription: For tests.\n"+runner+workspace+o.definition+"---\n"+prompt+"\n")
	}
	byReal := "runner: real\nmodel: " + o.model + "\n"
	define("coder", byReal, "Work.")
	if o.builtin {
		byReal = ""
	}
	if o.helper != "" {
		define("helper", byReal, o.helper)
	}
	srv.start()
	srv.person = srv.api(srv.token("--scope", "review"))
	return srv
}

// begin makes a task of coder, which starts a run at once.
func (srv *realServer) begin() task.ID {
	srv.t.Helper()
	return call[task.Task](srv.t, srv.api(srv.token("--scope", "operate")), "POST", "/api/tasks",
		map[string]any{"title": "Write notes", "owner": "coder"}).ID
}

// ended waits for the end of the only run: "status|phase|reason|summary".
func (srv *realServer) ended(id task.ID) string {
	srv.t.Helper()
	srv.outcome(id)
	return srv.rows("SELECT status, phase, reason, summary FROM runs WHERE task_id = ?", id)[0]
}

// runsEnded waits until so many runs of a task have ended, each of which begins
// with seconds of a program's own start.
func (srv *realServer) runsEnded(id task.ID, runs int) {
	srv.t.Helper()
	testkit.EventuallyWithin(srv.t, 3*time.Minute, fmt.Sprintf("%d runs have ended", runs), func() bool {
		return srv.rows("SELECT count(*) || ' ' || count(ended_at) FROM runs WHERE task_id = ?", id)[0] == fmt.Sprintf("%d %d", runs, runs)
	})
}

// execute is begin and ended.
func (srv *realServer) execute() string {
	srv.t.Helper()
	return srv.ended(srv.begin())
}

func (srv *realServer) want(got, begin string, parts ...string) {
	srv.t.Helper()
	ok := strings.HasPrefix(got, begin)
	for _, p := range parts {
		ok = ok && strings.Contains(got, p)
	}
	if !ok {
		srv.t.Errorf("got %q, want %q with %q", got, begin, parts)
	}
}

// told is the whole transcript.
func (srv *realServer) told() string {
	return strings.Join(srv.rows("SELECT type, content, coalesce(data, '') FROM messages WHERE run_id IS NOT NULL ORDER BY id"), "\n")
}

// asks waits until the only run asks for a permission, and returns it.
func (srv *realServer) asks() task.Run {
	srv.t.Helper()
	var r task.Run
	testkit.Eventually(srv.t, "the run asks", func() bool {
		r = call[task.Run](srv.t, srv.person, "GET", "/api/runs/1", nil)
		if r.Status.Final() {
			srv.t.Fatalf("it ended as %s: %s", r.State(), r.Reason)
		}
		return r.Permission != nil
	})
	return r
}

// decide answers what the run asks.
func (srv *realServer) decide(r task.Run, how string, in map[string]any) {
	srv.t.Helper()
	call[task.Run](srv.t, srv.person, "POST", fmt.Sprintf("/api/runs/%d/permissions/%d/%s", r.ID, r.Permission.N, how), in)
}

// exists waits for a file of the workspace.
func (srv *realServer) exists(name string) {
	srv.t.Helper()
	testkit.Eventually(srv.t, name+" is there", func() bool {
		_, err := os.Stat(filepath.Join(srv.work, name))
		return err == nil
	})
}

// cancels cancels the only run and checks that its tree is empty in time.
func (srv *realServer) cancels(id task.ID) {
	srv.t.Helper()
	begin := time.Now()
	call[task.Run](srv.t, srv.api(srv.token("--scope", "operate")), "POST", "/api/runs/1/cancel", map[string]any{"reason": "wrong way"})
	srv.want(srv.ended(id), "canceled|by|")
	testkit.EventuallyWithin(srv.t, 10*time.Second-time.Since(begin), "every process is gone 10 s after the cancel",
		func() bool { return len(srv.processes(nil)) == 0 })
}

// file of the workspace.
func (srv *realServer) wrote(name, text string) {
	srv.t.Helper()
	if b, err := os.ReadFile(filepath.Join(srv.work, name)); err != nil || string(b) != text {
		srv.t.Errorf("%s is %q, %v; want %q", name, b, err, text)
	}
}

// doing is a step that calls one tool.
func doing(tool string, args map[string]any) modeltest.Step {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // maps of plain values
	}
	return modeltest.Step{Calls: []modeltest.Call{{Name: tool, Args: string(b)}}, Usage: modeltest.Usage{In: 100, Out: 7}}
}

// offersTaskyard reports whether a request offers the tools of Taskyard; other
// requests are side questions of the program's own.
func offersTaskyard(r modeltest.Request) bool {
	return slices.ContainsFunc(r.Tools, func(name string) bool { return strings.Contains(name, "taskyard") })
}

func saying(text string) modeltest.Step {
	return modeltest.Step{Text: text, Usage: modeltest.Usage{In: 100, Out: 7}}
}

// results lists what the program told its model of calls, in order.
func (srv *realServer) results() (list []string) {
	turns := srv.model.Turns()
	if len(turns) == 0 {
		return nil
	}
	for _, m := range turns[len(turns)-1].Messages {
		for _, r := range m.Results {
			list = append(list, r.Text)
		}
	}
	return list
}

// resume begins a task, interrupts its run after so many answers of the model, and
// waits for the end of what the next server makes of it.
func (srv *realServer) resume(cut string, answers int) {
	srv.t.Helper()
	srv.begin()
	testkit.Eventually(srv.t, "the command of the last answer runs", func() bool {
		found, _ := filepath.Glob(filepath.Join(srv.data, "runs", "*", "work", "notes.txt"))
		if len(found) != 1 || len(srv.model.Turns()) < answers {
			return false
		}
		b, err := os.ReadFile(found[0])
		return err == nil && strings.Contains(string(b), "begun")
	})
	session := srv.rows("SELECT session FROM runs")[0]
	if session == "" {
		srv.t.Error("no session is noted")
	}
	if cut == "the server stopped" {
		if code := srv.term(); code != 0 {
			srv.t.Errorf("exit code %d", code)
		}
	} else {
		srv.kill()
	}
	srv.start()
	testkit.Eventually(srv.t, "the run ends", func() bool {
		return srv.rows("SELECT count(*) FROM runs WHERE ended_at IS NULL")[0] == "0"
	})
	for _, got := range srv.rows("SELECT session, folder FROM runs") {
		if got != session+"|run-1-1" {
			srv.t.Errorf("session and folder %q, want those of %s", got, session)
		}
	}
}
