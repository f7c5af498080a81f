package browser

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"taskyard/handlers"
	"taskyard/internal/app"
	"taskyard/internal/buildinfo"
	"taskyard/internal/config"
	"taskyard/internal/testkit"
	"taskyard/internal/testkit/testserver"
	"taskyard/internal/testkit/testservice"
	"taskyard/jobs"
	"taskyard/runner"
	"taskyard/runner/command"
	"taskyard/runner/supervise"
	"taskyard/service"
	"taskyard/task"
)

// agentFiles are the agents of every instance. The test controls coder; runs of keeper
// always need approval; scout is not started.
var agentFiles = map[string]string{
	"coder":  "---\ndescription: Writes and fixes the code.\ntools: read, edit, bash\nrunner: script\n---\nWrite what is asked.\n",
	"keeper": "---\ndescription: Keeps the servers.\ntools: read, bash\nrunner: script\napproval: always\n---\nKeep them running.\n",
	"scout":  "---\ndescription: Looks around and reports.\ntools: read, grep\nrunner: none\n---\nLook.\n",
}

// instance is a whole server on 127.0.0.1: database, agents, clock, pages.
type instance struct {
	t        testing.TB
	svc      *service.Service
	path     string // of the URL; "" at the root of the host
	url      string
	dir      string
	stage    *stage
	clock    *testkit.Clock
	maya     task.Actor // the admin of the test
	start    func()     // starts the clock and the runs
	settings *app.Settings
	forms    holder // delays forms on their way to the handlers
}

// holder holds POST requests while a test requests it.
type holder struct {
	mu   sync.Mutex
	open chan struct{} // closed when requests may pass; nil: none are held
}

// hold keeps POST requests from the handlers until release is called.
func (h *holder) hold() (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	open := make(chan struct{})
	h.open = open
	return func() { close(open) }
}

// before returns a handler whose POST requests go through the holder first.
func (h *holder) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			h.mu.Lock()
			open := h.open
			h.mu.Unlock()
			if open != nil {
				select {
				case <-open:
				case <-r.Context().Done():
				}
			}
		}
		next.ServeHTTP(w, r)
	})
}

var ctx = context.Background()

// newInstance serves an instance with an admin, maya. Only a person wakes agents
// there.
func newInstance(t testing.TB) *instance {
	t.Helper()
	return newInstanceWith(t, agentFiles)
}

// newWakingInstance is newInstance in which answers and comments wake agents.
func newWakingInstance(t testing.TB) *instance {
	t.Helper()
	return newInstanceWith(t, agentFiles, func(c *service.Config) { c.Wakes = true })
}

func newInstanceWith(t testing.TB, agents map[string]string, with ...func(*service.Config)) *instance {
	t.Helper()
	return openInstance(t, agents, with...).peopled()
}

// peopled adds the admin, maya, and starts the clock.
func (inst *instance) peopled() *instance {
	t := inst.t
	t.Helper()
	u, err := inst.svc.AddUser(ctx, task.SystemActor, "maya", password, task.RoleAdmin)
	ok(t, err)
	inst.maya = task.Actor{Name: task.UserActorName(u.Name), Role: u.Role, UserID: u.ID}
	inst.start()
	return inst
}

const password = "correct horse battery"

// openInstance serves an instance without people; start starts its clock.
func openInstance(t testing.TB, agents map[string]string, with ...func(*service.Config)) *instance {
	t.Helper()
	return openInstanceBelow(t, "", agents, with...)
}

// openInstanceBelow is openInstance below a path of the host.
func openInstanceBelow(t testing.TB, path string, agents map[string]string, with ...func(*service.Config)) *instance {
	t.Helper()
	inst := &instance{t: t, path: path, dir: t.TempDir(), stage: newStage(t), clock: testkit.RunningClock()}
	t.Cleanup(func() { _ = inst.stage.ln.Close() })
	folder := filepath.Join(inst.dir, "agents")
	ok(t, os.MkdirAll(folder, 0o700))
	ok(t, os.WriteFile(filepath.Join(folder, ".defaults-written"), nil, 0o600))
	quiet := slog.New(slog.DiscardHandler)
	exe, err := os.Executable()
	ok(t, err)
	script := ownRuns{&command.Runner{Program: supervise.Program{
		Argv: []string{exe, agentArg},
		Env:  map[string]string{agentAddr: inst.stage.ln.Addr().String()}, Grace: time.Second,
	}}, task.ID(instances.Add(1) * 1_000_000)}
	conf, _, err := config.Load(config.LoadOptions{Flags: map[string]string{
		"data": inst.dir, "scheduler.timezone": "UTC", "scheduler.cron": "0 5 1 1 *", "runs.max_parallel": "8", "runs.idle_timeout": "15m",
	}})
	ok(t, err)
	inst.settings, err = app.NewSettings(conf, app.Options{Log: quiet, Getenv: os.Getenv})
	ok(t, err)
	made := testservice.New(t, testservice.Options{Agents: agents, Folder: folder, Clock: inst.clock, Config: func(c *service.Config) {
		c.RunLease = time.Hour // runs of the sample send no heartbeats, and tests may take long
		c.MaxParallel, c.IdleTimeout = 8, 15*time.Minute
		c.Runner = func(string) service.Runner { return service.Runner{Executor: script} }
		c.Settings = inst.settings
		for _, w := range with {
			w(c)
		}
	}})
	inst.svc = made.Service
	inst.serve(testserver.New(t, made), quiet)
	return inst
}

// instances numbers the instances of this process.
var instances atomic.Int64

// ownRuns gives the processes of an instance their own marks: runs of two instances in
// one process may have the same ID, and each instance ends the processes with its marks.
type ownRuns struct {
	*command.Runner
	after task.ID
}

func (r ownRuns) Run(ctx context.Context, spec supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	spec.RunID += r.after
	return r.Runner.Run(ctx, spec, sink)
}

// serve serves the pages immediately; start starts the clock.
func (inst *instance) serve(at *testserver.Server, log *slog.Logger) {
	t := inst.t
	t.Helper()
	inst.url = at.URL + inst.path
	public := ""
	if inst.path != "" {
		public = inst.url
	}
	turn, err := jobs.New(jobs.Options{
		Service: inst.svc, URL: inst.url, RunsDir: filepath.Join(inst.dir, "runs"), Log: log,
		Plan: jobs.Plan{Enabled: true, Cron: "0 5 1 1 *", Location: time.UTC},
	})
	ok(t, err)
	inst.settings.Use(inst.svc, turn, nil)
	h, err := handlers.New(handlers.Options{
		Service: inst.svc, Scheduler: turn, Log: log, Build: buildinfo.Info{Version: "test"}, DataDir: inst.dir,
		Listen: at.Addr(), PublicURL: public, Runners: sampleRunners{},
		Enforces: func(p task.Spec) []task.Enforcement { return runner.Enforces(&command.Runner{}, p) },
	})
	ok(t, err)
	srv := h.HTTP()
	srv.Handler = inst.forms.before(srv.Handler)
	at.Serve(srv)
	inst.start = func() {
		t.Helper()
		ok(t, turn.Start(ctx))
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if err := turn.Stop(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	testkit.NoError(t, err)
}

// must returns the value of a call that has to succeed. Otherwise it panics, as
// template.Must does: testing names the test and prints the line.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// tab opens a browser in which maya is signed in, without opening a page.
func (inst *instance) tab() *tab {
	inst.t.Helper()
	b := newTab(inst.t, inst.url)
	inst.admit(b)
	return b
}

// admit signs maya in without opening a page, which would take half of the time of many
// tests.
func (inst *instance) admit(b *tab) {
	inst.t.Helper()
	form := url.Values{"token": {must(inst.svc.SignInLink(ctx, inst.maya.UserID))}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, inst.url+"/login/link", strings.NewReader(form.Encode()))
	ok(inst.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", strings.TrimSuffix(inst.url, inst.path))
	res, err := http.DefaultTransport.RoundTrip(req)
	ok(inst.t, err)
	ok(inst.t, res.Body.Close())
	if len(res.Cookies()) == 0 {
		inst.t.Fatalf("for the sign-in link, got %s without a cookie", res.Status)
	}
	for _, c := range res.Cookies() {
		yes := true
		_, err := chromedp.Call(b.ctx, network.SetCookie, network.SetCookieParams{
			Name: c.Name, Value: c.Value, URL: inst.url, Path: c.Path, HTTPOnly: &yes, SameSite: network.CookieSameSiteLax,
		})
		ok(inst.t, err)
	}
}

func (inst *instance) signIn(b *tab) {
	inst.t.Helper()
	b.open("/login/link?token=" + must(inst.svc.SignInLink(ctx, inst.maya.UserID)))
	b.press("button|Sign in")
	b.at("/")
}

// create creates a task that starts nothing.
func (inst *instance) create(in task.New) *task.Task {
	inst.t.Helper()
	in.NoStart = true
	in.Owner = cmp.Or(in.Owner, "coder")
	return must(inst.svc.CreateTask(ctx, inst.maya, in))
}

func (inst *instance) task(id task.ID) *task.Task {
	inst.t.Helper()
	return must(inst.svc.Task(ctx, inst.maya, id))
}

// ask creates a run of a task, which waits for approval or starts.
func (inst *instance) ask(id task.ID) *task.Run {
	inst.t.Helper()
	return must(inst.svc.RunNow(ctx, inst.maya, id))
}

func (inst *instance) open() []*task.Task {
	inst.t.Helper()
	return must(inst.svc.OpenTasks(ctx, inst.maya, task.TaskFilter{Limit: 100})).Tasks
}

// path returns a path below that of a task.
func path(id task.ID, more string) string { return "/tasks/" + id.String() + more }

// until waits for a condition of the service. Not every write wakes subscribers of the
// hub: the drafts of a reviewer are private.
func (inst *instance) until(what string, fact func() bool) {
	inst.t.Helper()
	testkit.Eventually(inst.t, what, fact)
}
