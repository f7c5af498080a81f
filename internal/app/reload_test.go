//go:build linux

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/buildinfo"
	"taskyard/internal/config"
	"taskyard/internal/systemd"
	"taskyard/internal/testkit"
	"taskyard/service"
	"taskyard/task"
)

// Processes of runs carry the ID of the one instance of this process, so these
// tests are serial.

var reloader = task.Actor{Name: "user:maya", Role: task.RoleAdmin, UserID: 1}

// reloadable is a served instance whose configuration a test changes.
type reloadable struct {
	*Instance
	t     *testing.T
	base  string // of its addresses
	data  string
	token string // of an admin
	log   *testkit.Buffer
}

// scripted returns the section of a runner that executes a script in a shell.
func scripted(name, text, more string) string {
	script := "cat > /dev/null\n" + text + "\n"
	return fmt.Sprintf("[runners.%s]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"-c\", %q]\n%s\n", name, script, more)
}

// done is the last line of scripts.
const done = `echo '{"summary":"done","success":true}'`

// serveReloadable serves an instance with this configuration, and for each of
// the runners an agent of the same name. Its tests are not parallel: the marks of
// agents' processes name the instance of the whole program (see
// supervise.SetInstance), so each instance would kill the runs of the others.
func serveReloadable(t *testing.T, toml string, runners ...string) *reloadable {
	t.Helper()
	srv := &reloadable{t: t, data: filepath.Join(t.TempDir(), "data"), log: &testkit.Buffer{}}
	agents := filepath.Join(srv.data, "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range runners {
		testkit.WriteAgents(t, agents, map[string]string{
			name: "---\ndescription: d\ntools: read\nrunner: " + name + "\nmax_parallel: 4\n---\nWork.\n",
		})
	}
	srv.write(toml)
	c, _, err := config.Load(config.LoadOptions{Flags: map[string]string{"data": srv.data, "listen": "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan error, 2), make(chan struct{})
	go func() {
		defer close(ended)
		ready <- Serve(ctx, c, ServeOptions{
			Options: Options{Log: slog.New(slog.NewTextHandler(srv.log, nil)), Now: time.Now, Getenv: func(string) string { return "" }},
			Stdout:  io.Discard, Build: buildinfo.Info{Version: "test"},
			Manager: systemd.NewNotifier(func(string) string { return "" }),
			FirstLine: func(ctx context.Context, in *Instance, base string) (string, error) {
				srv.Instance, srv.base = in, base
				made, err := in.Service.CreateToken(ctx, reloader, service.NewToken{Name: "test", Scope: "admin"})
				srv.token = made.Secret
				ready <- err
				return base, nil
			},
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Log(srv.log.Take())
		}
	})
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	return srv
}

func (srv *reloadable) write(toml string) {
	srv.t.Helper()
	if err := os.WriteFile(filepath.Join(srv.data, config.FileName), []byte(toml), 0o600); err != nil {
		srv.t.Fatal(err)
	}
}

// reload makes the server load another configuration, like SIGHUP, and returns
// its log.
func (srv *reloadable) reload(toml string) string {
	srv.t.Helper()
	srv.log.Take()
	srv.write(toml)
	srv.reloadSettings(srv.t.Context())
	srv.Agents.Reload()
	return srv.log.Take()
}

// begin creates a task for an agent, whose run starts.
func (srv *reloadable) begin(agent string) task.ID {
	srv.t.Helper()
	tk, err := srv.Service.CreateTask(srv.t.Context(), reloader, task.New{Title: "Work", Owner: agent})
	if err != nil {
		srv.t.Fatal(err)
	}
	return tk.ID
}

// run waits until the only run of a task meets a condition.
func (srv *reloadable) run(id task.ID, what string, is func(*task.Run) bool) (found *task.Run) {
	srv.t.Helper()
	testkit.EventuallyWithin(srv.t, time.Minute, fmt.Sprintf("the run of task %d %s", id, what), func() bool {
		list, err := srv.Service.Runs(srv.t.Context(), reloader, task.RunFilter{TaskID: id, Limit: 10})
		if err != nil || len(list) != 1 || !is(list[0]) {
			return false
		}
		found = list[0]
		return true
	})
	return found
}

func ended(r *task.Run) bool { return r.Status.Final() }

// said waits until the run of a task has written a text, and returns everything
// that it wrote.
func (srv *reloadable) said(id task.ID, text string) (all string) {
	srv.t.Helper()
	srv.run(id, "says "+text, func(r *task.Run) bool {
		all = ""
		list, err := srv.Service.Transcript(srv.t.Context(), reloader, r.ID, 0, 1000)
		for _, m := range list {
			all += m.Content + "\n"
		}
		return err == nil && strings.Contains(all, text)
	})
	return all
}

// api decodes a response of the server.
func (srv *reloadable) api(path string, to any) {
	srv.t.Helper()
	req, err := http.NewRequestWithContext(srv.t.Context(), http.MethodGet, srv.base+path, nil)
	if err != nil {
		srv.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+srv.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		srv.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(to); err != nil {
		srv.t.Fatal(err)
	}
}

// waiting returns a script that prints a text, waits for a file and prints another.
func waiting(file, before, after string) string {
	return fmt.Sprintf("echo %s\nwhile [ ! -e %s ]; do sleep 0.05; done\necho %s\n%s", before, file, after, done)
}

func TestARunKeepsTheRunnerThatItStartedWith(t *testing.T) {
	letGo := filepath.Join(t.TempDir(), "go")
	first := scripted("x", waiting(letGo, "begun", `"ended as $NAME"`), `env = {NAME = "first"}`)
	srv := serveReloadable(t, first, "x")
	old, stopped := srv.begin("x"), srv.begin("x")
	srv.said(old, "begun")
	srv.said(stopped, "begun")

	srv.reload(scripted("x", `echo "another $NAME"; `+done, `env = {NAME = "second"}`))
	srv.run(srv.begin("x"), "has ended", ended)
	srv.said(srv.begin("x"), "another second")

	if log := srv.reload(""); !strings.Contains(log, "runners.x.command") {
		t.Errorf("got the log %s", log)
	}
	r := srv.run(stopped, "works", func(r *task.Run) bool { return r.PID != 0 })
	if _, err := srv.Service.CancelRun(t.Context(), reloader, r.ID, ""); err != nil {
		t.Fatal(err)
	}
	srv.run(stopped, "is canceled", func(r *task.Run) bool { return r.Status == task.RunCanceled })
	testkit.EventuallyWithin(t, time.Minute, "its process is gone", func() bool { return syscall.Kill(r.PID, 0) != nil })
	if err := os.WriteFile(letGo, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := srv.run(old, "has ended", ended); r.Status != task.RunCompleted || r.Summary != "done" {
		t.Errorf("the run of the removed runner ended as %s: %s", r.State(), r.Reason)
	}
	if got := srv.said(old, "ended"); !strings.Contains(got, "ended as first") {
		t.Errorf("it printed %q", got)
	}
}

func TestAQueuedRunOfARemovedRunnerEndsWithTheReason(t *testing.T) {
	letGo := filepath.Join(t.TempDir(), "go")
	const one = "[runs]\nmax_parallel = 1\n"
	srv := serveReloadable(t, one+scripted("x", waiting(letGo, "begun", "ended"), ""), "x")
	works := srv.begin("x")
	srv.said(works, "begun")
	queued := srv.begin("x")
	srv.reload(one)
	if err := os.WriteFile(letGo, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := srv.run(works, "has ended", ended); r.Status != task.RunCompleted {
		t.Errorf("the running run ended as %s: %s", r.State(), r.Reason)
	}
	r := srv.run(queued, "has ended", ended)
	if r.Status != task.RunCanceled || !strings.Contains(r.Reason, `the runner "x" is not configured`) {
		t.Errorf("the queued run ended as %s: %s", r.State(), r.Reason)
	}
}

func TestAReloadOfRunnersIsAllOrNothing(t *testing.T) {
	good := "[runs]\nattempts = 2\n" + scripted("x", done, "")
	srv := serveReloadable(t, good, "x")
	before := srv.settings.now.Load()
	for _, tt := range []struct{ name, toml, want string }{
		{"an unknown key", scripted("x", done, "flavor = 1"), `unknown key \"runners.x.flavor\"`},
		{"an unknown kind", "[runners.x]\nkind = \"wish\"\n", "runners.x.kind"},
		{"no kind", "[runners.x]\ncommand = [\"x\"]\n", "runners.x.kind: is missing"},
		{"an empty command", "[runners.x]\nkind = \"command\"\ncommand = []\n", "runners.x.command: must not be empty"},
		{"a missing provider", "[runners.x]\nkind = \"builtin\"\nprovider = \"p\"\n", "there is no [providers.p]"},
		{"a webhook without a secret", "[runners.x]\nkind = \"webhook\"\nurl = \"https://a.example\"\n", "runners.x.secret_env: is missing"},
		{"a file that is not TOML", "[runners.x\n", "taskyard.toml"},
		{
			"one good and one bad runner", scripted("x", "echo changed; "+done, "") + "[runners.y]\nkind = \"acp\"\n",
			"runners.y.command: is missing",
		},
	} {
		log := srv.reload("[runs]\nattempts = 9\n" + tt.toml)
		if !strings.Contains(log, "failed to reload the configuration; the last valid version is still in use") ||
			!strings.Contains(log, tt.want) {
			t.Errorf("with %s, got the log %s", tt.name, log)
		}
		if srv.settings.now.Load() != before || srv.Service.Rules().Attempts != 2 {
			t.Errorf("%s changed the configuration in use", tt.name)
		}
	}
	srv.run(srv.begin("x"), "has ended", func(r *task.Run) bool { return r.Status == task.RunCompleted })
	t.Run("a fixed file is used", func(t *testing.T) {
		log := srv.reload("allowed_hosts = [\"a.example\"]\n" + scripted("x", "echo changed; "+done, ""))
		if !strings.Contains(log, "keys=[allowed_hosts]") || strings.Contains(log, "failed to reload") {
			t.Errorf("got the log %s", log)
		}
		srv.said(srv.begin("x"), "changed")
	})
	t.Run("the log names a missing program, as the check of a configuration does", func(t *testing.T) {
		log := srv.reload("[runners.x]\nkind = \"acp\"\ncommand = [\"/nowhere/agent\"]\n")
		if !strings.Contains(log, "runners.x: ") || !strings.Contains(log, "/nowhere/agent") {
			t.Errorf("got the log %s", log)
		}
	})
	t.Run("a deleted file changes nothing, and is not created again by changing a setting", func(t *testing.T) {
		before := srv.settings.now.Load()
		if err := os.Remove(filepath.Join(srv.data, config.FileName)); err != nil {
			t.Fatal(err)
		}
		srv.reloadSettings(t.Context())
		if log := srv.log.Take(); !strings.Contains(log, "taskyard.toml: the file in use is missing") {
			t.Errorf("got the log %s", log)
		}
		five := "5"
		_, err := srv.Service.ChangeSettings(t.Context(), reloader, map[string]*string{"runs.attempts": &five})
		if !task.IsCode(err, task.CodeConfigInvalid) || srv.settings.now.Load() != before {
			t.Errorf("a setting was changed: %v", err)
		}
		if _, err := os.Lstat(filepath.Join(srv.data, config.FileName)); err == nil {
			t.Error("the file was created again")
		}
	})
	t.Run("a file with unchanged runners keeps them", func(t *testing.T) {
		before := srv.settings.runners()
		srv.reload("[runs]\nattempts = 3\n[runners.x]\nkind = \"acp\"\ncommand = [\"/nowhere/agent\"]\n")
		if srv.settings.runners() != before || srv.Service.Rules().Attempts != 3 {
			t.Error("the runners were created again, or the file is not in use")
		}
	})
}

func TestDefinitionsAndThePagesOfRunnersFollowAReload(t *testing.T) {
	srv := serveReloadable(t, scripted("x", done, ""), "x", "y")
	type agents struct {
		Agents []struct {
			ID, Status string
			Serving    bool
			Problems   []task.Problem
		}
		Runners []task.RunnerInfo
	}
	state := func() (all string) {
		var list agents
		srv.api("/api/agents", &list)
		for _, a := range list.Agents {
			if len(a.ID) == 1 {
				all += fmt.Sprintf("%s %s %t;", a.ID, a.Status, a.Serving)
			}
		}
		for _, r := range list.Runners {
			all += " " + r.Name
		}
		return all
	}
	if got := state(); got != "x valid true;y invalid false; builtin x" {
		t.Errorf("at the start: %s", got)
	}
	srv.reload(scripted("y", done, ""))
	if got := state(); got != "x invalid false;y valid true; builtin y" {
		t.Errorf("after the reload: %s", got)
	}
	var x struct{ Problems []task.Problem }
	srv.api("/api/agents/x", &x)
	if len(x.Problems) == 0 || !strings.Contains(x.Problems[0].Hint, "Configured runners are builtin, y") {
		t.Errorf("got the problems %+v", x.Problems)
	}
	srv.run(srv.begin("y"), "has ended", func(r *task.Run) bool { return r.Status == task.RunCompleted })
	testkit.EventuallyWithin(t, time.Minute, "the new runner is probed", func() bool {
		var list struct{ Runners []task.RunnerInfo }
		srv.api("/api/runners", &list)
		return len(list.Runners) == 2 && list.Runners[1].State() == "ready"
	})
}

func TestSecretsOfFormerRunnersAreRedacted(t *testing.T) {
	letGo := filepath.Join(t.TempDir(), "go")
	srv := serveReloadable(t, scripted("x", waiting(letGo, "begun", `"formerly $API_KEY"`), `env = {API_KEY = "former-secret-1"}`), "x")
	old := srv.begin("x")
	srv.said(old, "begun")
	srv.reload(scripted("x", `echo "lately former-secret-1 $API_KEY"; `+done, `env = {API_KEY = "later-secret-2"}`))
	if err := os.WriteFile(letGo, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[task.ID]string{
		old: "formerly " + task.Redacted + "\n", srv.begin("x"): "lately " + task.Redacted + " " + task.Redacted + "\n",
	} {
		if got := srv.said(id, want[:6]); !strings.Contains(got, want) {
			t.Errorf("it printed %q", got)
		}
	}
	if got := srv.settings.redact("former-secret-1 later-secret-2"); got != task.Redacted+" "+task.Redacted {
		t.Errorf("elsewhere, got %q", got)
	}
	events, err := srv.Service.Events(t.Context(), reloader, task.EventFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, e := range events {
		text += string(e.Changes)
	}
	if strings.Contains(text, "secret-") || !strings.Contains(text, "runners.x.env") {
		t.Errorf("the event log contains %s", text)
	}
}

// TestARunThatStartsDuringAReloadUsesOneRunner checks that no run combines parts of
// two runners.
func TestARunThatStartsDuringAReloadUsesOneRunner(t *testing.T) {
	folders := map[string]string{}
	table := func(name string) string {
		if folders[name] == "" {
			folders[name] = t.TempDir()
		}
		return "[runs]\nmax_parallel = 8\n" +
			scripted("x", fmt.Sprintf(`echo "%s at $(pwd) end"; %s`, name, done), fmt.Sprintf("workspace = %q", folders[name]))
	}
	srv := serveReloadable(t, table("one"), "x")
	var tasks []task.ID
	stop := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = srv.settings.runners().enforcementGap("x", []string{"read"})
			_ = srv.settings.secrets()
			_ = srv.Agents.Check("x", "---\nrunner: x\n---\n")
		}
	})
	for i := range 12 {
		tasks = append(tasks, srv.begin("x"), srv.begin("x"))
		srv.reload(table([]string{"two", "one"}[i%2]))
	}
	close(stop)
	readers.Wait()
	for _, id := range tasks {
		got := srv.said(id, " end\n")
		if !strings.Contains(got, "one at "+folders["one"]+" end") && !strings.Contains(got, "two at "+folders["two"]+" end") {
			t.Errorf("task %d: %s", id, got)
		}
	}
}
