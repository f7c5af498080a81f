//go:build linux

package app

import (
	"bytes"
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
	log   *logged
}

// logged is a log that several goroutines write.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// take returns what was logged since the last call.
func (l *logged) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// scripted is a section of a runner that executes a script in a shell.
func scripted(name, text, more string) string {
	script := "cat > /dev/null\n" + text + "\n"
	return fmt.Sprintf("[runners.%s]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"-c\", %q]\n%s\n", name, script, more)
}

// done is the last line of scripts.
const done = `echo '{"summary":"done","success":true}'`

// serveReloadable serves an instance with this configuration, and for each of
// the runners an agent of the same name.
func serveReloadable(t *testing.T, toml string, runners ...string) *reloadable {
	t.Helper()
	y := &reloadable{t: t, data: filepath.Join(t.TempDir(), "data"), log: &logged{}}
	agents := filepath.Join(y.data, "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range runners {
		testkit.WriteAgents(t, agents, map[string]string{
			name: "---\ndescription: d\ntools: read\nrunner: " + name + "\nmax_parallel: 4\n---\nWork.\n",
		})
	}
	y.write(toml)
	c, _, err := config.Load(config.LoadOptions{Flags: map[string]string{"data": y.data, "listen": "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan error, 2), make(chan struct{})
	go func() {
		defer close(ended)
		ready <- Serve(ctx, c, ServeOptions{
			Options: Options{Log: slog.New(slog.NewTextHandler(y.log, nil)), Now: time.Now, Getenv: func(string) string { return "" }},
			Stdout:  io.Discard, Build: buildinfo.Info{Version: "test"},
			Manager: systemd.NewNotifier(func(string) string { return "" }),
			FirstLine: func(ctx context.Context, in *Instance, base string) (string, error) {
				y.Instance, y.base = in, base
				made, err := in.Service.CreateToken(ctx, reloader, service.NewToken{Name: "test", Scope: "admin"})
				y.token = made.Secret
				ready <- err
				return base, nil
			},
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Log(y.log.take())
		}
	})
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	return y
}

func (y *reloadable) write(toml string) {
	y.t.Helper()
	if err := os.WriteFile(filepath.Join(y.data, config.FileName), []byte(toml), 0o600); err != nil {
		y.t.Fatal(err)
	}
}

// reload has the server read another configuration, as SIGHUP does, and returns what
// it logs.
func (y *reloadable) reload(toml string) string {
	y.t.Helper()
	y.log.take()
	y.write(toml)
	y.reloadSettings(y.t.Context())
	y.Agents.Reload()
	return y.log.take()
}

// begin makes a task of an agent, whose run starts.
func (y *reloadable) begin(agent string) task.ID {
	y.t.Helper()
	tk, err := y.Service.CreateTask(y.t.Context(), reloader, task.New{Title: "Work", Owner: agent})
	if err != nil {
		y.t.Fatal(err)
	}
	return tk.ID
}

// run waits until the only run of a task is as it should be.
func (y *reloadable) run(id task.ID, what string, is func(*task.Run) bool) (found *task.Run) {
	y.t.Helper()
	testkit.EventuallyWithin(y.t, time.Minute, fmt.Sprintf("the run of task %d %s", id, what), func() bool {
		list, err := y.Service.Runs(y.t.Context(), reloader, task.RunFilter{TaskID: id, Limit: 10})
		if err != nil || len(list) != 1 || !is(list[0]) {
			return false
		}
		found = list[0]
		return true
	})
	return found
}

func ended(r *task.Run) bool { return r.Status.Final() }

// said waits until the run of a task has written a text, and returns all of it.
func (y *reloadable) said(id task.ID, text string) (all string) {
	y.t.Helper()
	y.run(id, "says "+text, func(r *task.Run) bool {
		all = ""
		list, err := y.Service.Transcript(y.t.Context(), reloader, r.ID, 0, 1000)
		for _, m := range list {
			all += m.Content + "\n"
		}
		return err == nil && strings.Contains(all, text)
	})
	return all
}

// api reads an answer of the server.
func (y *reloadable) api(path string, to any) {
	y.t.Helper()
	req, err := http.NewRequestWithContext(y.t.Context(), http.MethodGet, y.base+path, nil)
	if err != nil {
		y.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+y.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		y.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(to); err != nil {
		y.t.Fatal(err)
	}
}

// waiting is a script that says a text, waits for a file and says another one.
func waiting(file, before, after string) string {
	return fmt.Sprintf("echo %s\nwhile [ ! -e %s ]; do sleep 0.05; done\necho %s\n%s", before, file, after, done)
}

func TestARunKeepsTheRunnerThatItStartedWith(t *testing.T) {
	letGo := filepath.Join(t.TempDir(), "go")
	first := scripted("x", waiting(letGo, "begun", `"ended as $NAME"`), `env = {NAME = "first"}`)
	y := serveReloadable(t, first, "x")
	old, stopped := y.begin("x"), y.begin("x")
	y.said(old, "begun")
	y.said(stopped, "begun")

	y.reload(scripted("x", `echo "another $NAME"; `+done, `env = {NAME = "second"}`))
	y.run(y.begin("x"), "has ended", ended)
	y.said(y.begin("x"), "another second")

	if log := y.reload(""); !strings.Contains(log, "runners.x.command") {
		t.Errorf("the log is %s", log)
	}
	r := y.run(stopped, "works", func(r *task.Run) bool { return r.PID != 0 })
	if _, err := y.Service.CancelRun(t.Context(), reloader, r.ID, ""); err != nil {
		t.Fatal(err)
	}
	y.run(stopped, "is canceled", func(r *task.Run) bool { return r.Status == task.RunCanceled })
	testkit.EventuallyWithin(t, time.Minute, "its process is gone", func() bool { return syscall.Kill(r.PID, 0) != nil })
	if err := os.WriteFile(letGo, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := y.run(old, "has ended", ended); r.Status != task.RunCompleted || r.Summary != "done" {
		t.Errorf("the run of a runner that was removed ends as %s: %s", r.State(), r.Reason)
	}
	if got := y.said(old, "ended"); !strings.Contains(got, "ended as first") {
		t.Errorf("it says %q", got)
	}
}

func TestAQueuedRunOfARemovedRunnerEndsWithTheReason(t *testing.T) {
	letGo := filepath.Join(t.TempDir(), "go")
	const one = "[runs]\nmax_parallel = 1\n"
	y := serveReloadable(t, one+scripted("x", waiting(letGo, "begun", "ended"), ""), "x")
	works := y.begin("x")
	y.said(works, "begun")
	queued := y.begin("x")
	y.reload(one)
	if err := os.WriteFile(letGo, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := y.run(works, "has ended", ended); r.Status != task.RunCompleted {
		t.Errorf("the run that worked ends as %s: %s", r.State(), r.Reason)
	}
	r := y.run(queued, "has ended", ended)
	if r.Status != task.RunCanceled || !strings.Contains(r.Reason, `the runner "x" is not configured`) {
		t.Errorf("the queued run ends as %s: %s", r.State(), r.Reason)
	}
}

func TestAReloadOfRunnersIsWholeOrNothing(t *testing.T) {
	good := "[runs]\nattempts = 2\n" + scripted("x", done, "")
	y := serveReloadable(t, good, "x")
	before := y.settings.now.Load()
	for _, tt := range []struct{ name, toml, want string }{
		{"an unknown key", scripted("x", done, "flavor = 1"), `unknown key \"runners.x.flavor\"`},
		{"an unknown kind", "[runners.x]\nkind = \"wish\"\n", "runners.x.kind"},
		{"no kind", "[runners.x]\ncommand = [\"x\"]\n", "runners.x.kind: is missing"},
		{"a command that is empty", "[runners.x]\nkind = \"command\"\ncommand = []\n", "runners.x.command: must not be empty"},
		{"a provider that there is not", "[runners.x]\nkind = \"builtin\"\nprovider = \"p\"\n", "there is no [providers.p]"},
		{"a webhook without a secret", "[runners.x]\nkind = \"webhook\"\nurl = \"https://a.example\"\n", "runners.x.secret_env: is missing"},
		{"a file that is no TOML", "[runners.x\n", "taskyard.toml"},
		{
			"one good and one bad runner", scripted("x", "echo changed; "+done, "") + "[runners.y]\nkind = \"acp\"\n",
			"runners.y.command: is missing",
		},
	} {
		log := y.reload("[runs]\nattempts = 9\n" + tt.toml)
		if !strings.Contains(log, "failed to reload the configuration; the last valid version is still in use") ||
			!strings.Contains(log, tt.want) {
			t.Errorf("with %s the log is %s", tt.name, log)
		}
		if y.settings.now.Load() != before || y.Service.Rules().Attempts != 2 {
			t.Errorf("%s changes what is in use", tt.name)
		}
	}
	y.run(y.begin("x"), "has ended", func(r *task.Run) bool { return r.Status == task.RunCompleted })
	t.Run("what was fixed is used", func(t *testing.T) {
		log := y.reload("allowed_hosts = [\"a.example\"]\n" + scripted("x", "echo changed; "+done, ""))
		if !strings.Contains(log, "keys=[allowed_hosts]") || strings.Contains(log, "failed to reload") {
			t.Errorf("the log is %s", log)
		}
		y.said(y.begin("x"), "changed")
	})
	t.Run("the log names a program that is not there, as the check of a configuration does", func(t *testing.T) {
		log := y.reload("[runners.x]\nkind = \"acp\"\ncommand = [\"/nowhere/agent\"]\n")
		if !strings.Contains(log, "runners.x: ") || !strings.Contains(log, "/nowhere/agent") {
			t.Errorf("the log is %s", log)
		}
	})
	t.Run("a file that is gone changes nothing, and does not come back with one setting", func(t *testing.T) {
		before := y.settings.now.Load()
		if err := os.Remove(filepath.Join(y.data, config.FileName)); err != nil {
			t.Fatal(err)
		}
		y.reloadSettings(t.Context())
		if log := y.log.take(); !strings.Contains(log, "taskyard.toml: the file in use is gone") {
			t.Errorf("the log is %s", log)
		}
		five := "5"
		_, err := y.Service.ChangeSettings(t.Context(), reloader, map[string]*string{"runs.attempts": &five})
		if !task.IsCode(err, task.CodeConfigInvalid) || y.settings.now.Load() != before {
			t.Errorf("a setting is changed: %v", err)
		}
		if _, err := os.Lstat(filepath.Join(y.data, config.FileName)); err == nil {
			t.Error("there is a file again")
		}
	})
	t.Run("a file without changes of runners keeps them", func(t *testing.T) {
		before := y.settings.runners()
		y.reload("[runs]\nattempts = 3\n[runners.x]\nkind = \"acp\"\ncommand = [\"/nowhere/agent\"]\n")
		if y.settings.runners() != before || y.Service.Rules().Attempts != 3 {
			t.Error("they are made again, or the file is not in use")
		}
	})
}

func TestDefinitionsAndThePagesOfRunnersFollowAReload(t *testing.T) {
	y := serveReloadable(t, scripted("x", done, ""), "x", "y")
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
		y.api("/api/agents", &list)
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
	y.reload(scripted("y", done, ""))
	if got := state(); got != "x invalid false;y valid true; builtin y" {
		t.Errorf("after the reload: %s", got)
	}
	var x struct{ Problems []task.Problem }
	y.api("/api/agents/x", &x)
	if len(x.Problems) == 0 || !strings.Contains(x.Problems[0].Hint, "Configured runners are builtin, y") {
		t.Errorf("the fix is %+v", x.Problems)
	}
	y.run(y.begin("y"), "has ended", func(r *task.Run) bool { return r.Status == task.RunCompleted })
	testkit.EventuallyWithin(t, time.Minute, "the new runner is looked at", func() bool {
		var list struct{ Runners []task.RunnerInfo }
		y.api("/api/runners", &list)
		return len(list.Runners) == 2 && list.Runners[1].State() == "ready"
	})
}

func TestSecretsOfFormerRunnersAreRedacted(t *testing.T) {
	letGo := filepath.Join(t.TempDir(), "go")
	y := serveReloadable(t, scripted("x", waiting(letGo, "begun", `"formerly $API_KEY"`), `env = {API_KEY = "former-secret-1"}`), "x")
	old := y.begin("x")
	y.said(old, "begun")
	y.reload(scripted("x", `echo "lately former-secret-1 $API_KEY"; `+done, `env = {API_KEY = "later-secret-2"}`))
	if err := os.WriteFile(letGo, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[task.ID]string{
		old: "formerly " + task.Redacted + "\n", y.begin("x"): "lately " + task.Redacted + " " + task.Redacted + "\n",
	} {
		if got := y.said(id, want[:6]); !strings.Contains(got, want) {
			t.Errorf("it says %q", got)
		}
	}
	if got := y.settings.redact("former-secret-1 later-secret-2"); got != task.Redacted+" "+task.Redacted {
		t.Errorf("elsewhere they are %q", got)
	}
	events, err := y.Service.Events(t.Context(), reloader, task.EventFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, e := range events {
		text += string(e.Changes)
	}
	if strings.Contains(text, "secret-") || !strings.Contains(text, "runners.x.env") {
		t.Errorf("the log of events has %s", text)
	}
}

// TestRunsThatStartWhileRunnersAreReloaded has every run be of one runner, not of
// parts of two.
func TestRunsThatStartWhileRunnersAreReloaded(t *testing.T) {
	folders := map[string]string{}
	table := func(name string) string {
		if folders[name] == "" {
			folders[name] = t.TempDir()
		}
		return "[runs]\nmax_parallel = 8\n" +
			scripted("x", fmt.Sprintf(`echo "%s at $(pwd) end"; %s`, name, done), fmt.Sprintf("workspace = %q", folders[name]))
	}
	y := serveReloadable(t, table("one"), "x")
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
			_ = y.settings.runners().enforcementGap("x", []string{"read"})
			_ = y.settings.secrets()
			_ = y.Agents.Check("x", "---\nrunner: x\n---\n")
		}
	})
	for i := range 12 {
		tasks = append(tasks, y.begin("x"), y.begin("x"))
		y.reload(table([]string{"two", "one"}[i%2]))
	}
	close(stop)
	readers.Wait()
	for _, id := range tasks {
		got := y.said(id, " end\n")
		if !strings.Contains(got, "one at "+folders["one"]+" end") && !strings.Contains(got, "two at "+folders["two"]+" end") {
			t.Errorf("task %d: %s", id, got)
		}
	}
}
