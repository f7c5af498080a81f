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

// realPrograms are the values of TASKYARD_CLAUDE and the like, which are removed from
// the environment: the servers of the tests do not know such keys.
var realPrograms = func() map[string]string {
	found := map[string]string{}
	for _, name := range []string{"claude", "codex", "gemini", "opencode", "qwen"} {
		key := "TASKYARD_" + strings.ToUpper(name)
		found[name] = os.Getenv(key)
		_ = os.Unsetenv(key)
	}
	return found
}()

// realProgram finds an agent's program on this machine, by its variable or in PATH;
// without it, the test is skipped.
func realProgram(t *testing.T, name, install string) string {
	t.Helper()
	program := cmp.Or(realPrograms[name], name)
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is missing: %s, or set TASKYARD_%s to its path", name, install, strings.ToUpper(name))
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
	person *client.Client // can also decide
	work   string         // the workspace of coder
}

// realSetup is what differs between real servers.
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

// begin creates a task of coder, which starts a run.
func (srv *realServer) begin() task.ID {
	srv.t.Helper()
	return call[task.Task](srv.t, srv.api(srv.token("--scope", "operate")), "POST", "/api/tasks",
		map[string]any{"title": "Write notes", "owner": "coder"}).ID
}

// ended waits for the end of the only run and returns "status|phase|reason|summary".
func (srv *realServer) ended(id task.ID) string {
	srv.t.Helper()
	srv.outcome(id)
	return srv.rows("SELECT status, phase, reason, summary FROM runs WHERE task_id = ?", id)[0]
}

// runsEnded waits until this many runs of a task have ended. Each takes seconds to
// start its program.
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

// transcript returns the whole transcript.
func (srv *realServer) transcript() string {
	return strings.Join(srv.rows("SELECT type, content, coalesce(data, '') FROM messages WHERE run_id IS NOT NULL ORDER BY id"), "\n")
}

// awaitPermission waits until the only run asks for a permission, and returns the run.
func (srv *realServer) awaitPermission() task.Run {
	srv.t.Helper()
	var r task.Run
	testkit.Eventually(srv.t, "the run asks", func() bool {
		r = call[task.Run](srv.t, srv.person, "GET", "/api/runs/1", nil)
		if r.Status.Final() {
			srv.t.Fatalf("the run ended as %s: %s", r.State(), r.Reason)
		}
		return r.Permission != nil
	})
	return r
}

// decide decides on the pending permission of a run.
func (srv *realServer) decide(r task.Run, how string, in map[string]any) {
	srv.t.Helper()
	call[task.Run](srv.t, srv.person, "POST", fmt.Sprintf("/api/runs/%d/permissions/%d/%s", r.ID, r.Permission.N, how), in)
}

// awaitFile waits for a file in the workspace.
func (srv *realServer) awaitFile(name string) {
	srv.t.Helper()
	testkit.Eventually(srv.t, name+" exists", func() bool {
		_, err := os.Stat(filepath.Join(srv.work, name))
		return err == nil
	})
}

// wantCanceled cancels the only run and checks that its process tree ends in time.
func (srv *realServer) wantCanceled(id task.ID) {
	srv.t.Helper()
	begin := time.Now()
	call[task.Run](srv.t, srv.api(srv.token("--scope", "operate")), "POST", "/api/runs/1/cancel", map[string]any{"reason": "wrong way"})
	srv.want(srv.ended(id), "canceled|by|")
	testkit.EventuallyWithin(srv.t, 10*time.Second-time.Since(begin), "every process has ended within 10 s after the cancel",
		func() bool { return len(srv.processes(nil)) == 0 })
}

// wantFile checks a file in the workspace.
func (srv *realServer) wantFile(name, text string) {
	srv.t.Helper()
	if b, err := os.ReadFile(filepath.Join(srv.work, name)); err != nil || string(b) != text {
		srv.t.Errorf("%s contains %q, %v; want %q", name, b, err, text)
	}
}

// callStep returns a step that calls one tool.
func callStep(tool string, args map[string]any) modeltest.Step {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // cannot happen with plain values
	}
	return modeltest.Step{Calls: []modeltest.Call{{Name: tool, Args: string(b)}}, Usage: modeltest.Usage{In: 100, Out: 7}}
}

// offersTaskyard reports whether a request offers the tools of Taskyard; other
// requests are the program's own side requests.
func offersTaskyard(r modeltest.Request) bool {
	return slices.ContainsFunc(r.Tools, func(name string) bool { return strings.Contains(name, "taskyard") })
}

func textStep(text string) modeltest.Step {
	return modeltest.Step{Text: text, Usage: modeltest.Usage{In: 100, Out: 7}}
}

// results lists the results of calls that the program sent to its model, in order.
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

// resume starts a task, interrupts its run after this many replies of the model, and
// waits for the end of the run that the next server continues or starts.
func (srv *realServer) resume(cut string, answers int) {
	srv.t.Helper()
	srv.begin()
	testkit.Eventually(srv.t, "the command of the last reply is running", func() bool {
		found, _ := filepath.Glob(filepath.Join(srv.data, "runs", "*", "work", "notes.txt"))
		if len(found) != 1 || len(srv.model.Turns()) < answers {
			return false
		}
		b, err := os.ReadFile(found[0])
		return err == nil && strings.Contains(string(b), "begun")
	})
	session := srv.rows("SELECT session FROM runs")[0]
	if session == "" {
		srv.t.Error("no session was recorded")
	}
	if cut == "the server stopped" {
		if code := srv.term(); code != 0 {
			srv.t.Errorf("got exit code %d", code)
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
			srv.t.Errorf("got session and folder %q, want those of %s", got, session)
		}
	}
}
