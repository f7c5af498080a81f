package handlers

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"taskyard/db"
	"taskyard/internal/buildinfo"
	"taskyard/internal/testkit"
	"taskyard/internal/testkit/testservice"
	"taskyard/service"
	"taskyard/task"
)

// pageScheduler is the clock as the pages see it.
type pageScheduler struct {
	vitals task.Vitals
	next   task.Time
	ran    []string
}

func (f *pageScheduler) NextTick() task.Time { return f.next }
func (f *pageScheduler) NextTicks(n int) (list []task.Time) {
	for i := 0; i < n && f.next != 0; i++ {
		list = append(list, f.next.Add(time.Duration(i)*time.Hour))
	}
	return list
}
func (f *pageScheduler) Window() string { return "hourly from 6:00 to 21:00, UTC" }
func (f *pageScheduler) Alive() bool    { return true }

func (f *pageScheduler) Vitals() task.Vitals { return f.vitals }
func (f *pageScheduler) Jobs() []task.JobInfo {
	return []task.JobInfo{{Name: "tick", Schedule: "0 6-21 * * *", Next: f.next}, {Name: "backup", Schedule: "daily"}}
}

func (f *pageScheduler) RunJob(name string) error {
	if name != "tick" && name != "backup" {
		return task.Errorf(task.NotFound, task.CodeNotFound, "No job has the name %s", name)
	}
	f.ran = append(f.ran, name)
	return nil
}

// pageSite is a whole server over a real database and agents folder.
type pageSite struct {
	t      testing.TB
	svc    *service.Service
	db     *db.DB
	srv    *httptest.Server
	server *Server
	dir    string // of the agents
	sched  *pageScheduler
	*testkit.Clock
}

// weakerScript is what the runner of the tests does not enforce.
func weakerScript(runner string, tools []string) string {
	if runner != "script" {
		return ""
	}
	return "Of " + strings.Join(tools, ", ") + " it is told, and not held to them."
}

// enforcedScript is what the runner of the tests enforces.
func enforcedScript(plan task.Spec) (list []task.Enforcement) {
	for _, tool := range plan.Tools {
		list = append(list, task.Enforcement{What: tool, Asked: "allowed", Level: task.NotAsked})
	}
	return append(list, task.Enforcement{
		What: "bash", Asked: "not allowed",
		Level: task.NotEnforced, How: "the program is told, and not held to it",
	},
		task.Enforcement{What: "timeout", Asked: "300 s", Level: task.Enforced, How: "its whole process tree is ended"})
}

const pagePassword = "correct horse battery"

var testAgents = map[string]string{
	"coder":    "---\ndescription: writes code\ntools: read, edit\nrunner: script\n---\nDo what the task says.\n",
	"planner":  "---\ndescription: plans\ntools: read, task\nrunner: script\n---\nPlan.\n",
	"reviewer": "---\ndescription: reviews\ntools: read\nrunner: script\napproval: always\n---\nReview.\n",
	"pull":     "---\ndescription: claims itself\ntools: read\nrunner: none\n---\nWork.\n",
	"bad":      "---\nname: bad\n---\nno description, no tools\n",
}

func newPageSite(t testing.TB, with ...func(*service.Config)) *pageSite {
	t.Helper()
	made := testservice.New(t, testservice.Options{Agents: testAgents, Config: func(c *service.Config) {
		c.Ticks = func(after task.Time) task.Time { return after.Add(time.Hour) }
		for _, w := range with {
			w(c)
		}
	}})
	y := &pageSite{t: t, dir: made.Dir, Clock: made.Clock, svc: made.Service, db: made.DB}
	y.sched = &pageScheduler{next: y.svc.Now().Add(time.Hour)}
	s, err := New(Options{
		Service: y.svc, Scheduler: y.sched, Log: slog.New(slog.DiscardHandler),
		Build: buildinfo.Info{Version: "test"}, DataDir: filepath.Dir(y.dir),
		EnforcementGap: weakerScript, Enforces: enforcedScript,
	})
	y.ok(err)
	y.server = s
	y.srv = httptest.NewServer(s)
	t.Cleanup(func() { y.svc.Hub().Close(); y.srv.Close() })
	return y
}

func (y *pageSite) ok(err error) {
	y.t.Helper()
	if err != nil {
		y.t.Fatalf("unexpected error: %v", err)
	}
}

// The people of the tests, as the service knows them.
var mayaActor = task.Actor{Name: "user:maya", Role: task.RoleAdmin, UserID: 1}

// maya makes the first admin and signs her in.
func (y *pageSite) maya() *browser {
	y.t.Helper()
	link, err := y.svc.SetupLink(context.Background())
	y.ok(err)
	_, err = y.svc.FirstAdmin(context.Background(), link, "maya", pagePassword)
	y.ok(err)
	return y.signIn("maya")
}

// person adds somebody and signs them in.
func (y *pageSite) person(name string, role task.Role) *browser {
	y.t.Helper()
	_, err := y.svc.AddUser(context.Background(), mayaActor, name, pagePassword, role)
	y.ok(err)
	return y.signIn(name)
}

func (y *pageSite) signIn(name string) *browser {
	y.t.Helper()
	b := y.browser()
	a := b.post("/login", "name", name, "password", pagePassword)
	a.leadsTo("/")
	return b
}

// browser is a browser without scripts: a cookie jar, and forms sent with the
// headers that browsers send. It does not follow redirects by itself.
type browser struct {
	y      *pageSite
	client *http.Client
	origin string // "" sends none
	header http.Header
}

func (y *pageSite) browser() *browser {
	jar, err := cookiejar.New(nil)
	y.ok(err)
	return &browser{y: y, origin: y.srv.URL, header: http.Header{}, client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: 30 * time.Second,
	}}
}

// seenPage is what came back.
type seenPage struct {
	b      *browser
	url    string
	status int
	header http.Header
	body   string
}

func (b *browser) do(req *http.Request) *seenPage {
	b.y.t.Helper()
	for k, v := range b.header {
		req.Header[k] = v
	}
	res, err := b.client.Do(req)
	b.y.ok(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	b.y.ok(err)
	return &seenPage{b, req.Method + " " + req.URL.RequestURI(), res.StatusCode, res.Header, string(body)}
}

func (b *browser) get(path string) *seenPage {
	b.y.t.Helper()
	req, err := http.NewRequestWithContext(b.y.t.Context(), http.MethodGet, b.y.srv.URL+path, http.NoBody)
	b.y.ok(err)
	return b.do(req)
}

func (b *browser) post(path string, pairs ...string) *seenPage {
	b.y.t.Helper()
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	req, err := http.NewRequestWithContext(b.y.t.Context(), http.MethodPost, b.y.srv.URL+path, strings.NewReader(v.Encode()))
	b.y.ok(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if b.origin != "" {
		req.Header.Set("Origin", b.origin)
	}
	return b.do(req)
}

// is checks the status.
func (a *seenPage) is(status int) *seenPage {
	a.b.y.t.Helper()
	if a.status != status {
		a.b.y.t.Errorf("%s: status %d, want %d; %s", a.url, a.status, status, a.problem())
	}
	return a
}

// leadsTo checks a 303 and returns the page that it leads to.
func (a *seenPage) leadsTo(path string) *seenPage {
	a.b.y.t.Helper()
	a.is(http.StatusSeeOther)
	if got, _, _ := strings.Cut(a.header.Get("Location"), "#"); got != path { // a place on the page is no other page
		a.b.y.t.Errorf("%s leads to %s, want %s", a.url, got, path)
	}
	return a.b.get(path)
}

// shows checks that texts are on the page, hides that they do not.
func (a *seenPage) shows(texts ...string) *seenPage {
	a.b.y.t.Helper()
	for _, s := range texts {
		if !strings.Contains(a.body, s) {
			a.b.y.t.Errorf("%s (%d) does not show %q; %s", a.url, a.status, s, a.problem())
		}
	}
	return a
}

func (a *seenPage) hides(texts ...string) *seenPage {
	a.b.y.t.Helper()
	for _, s := range texts {
		if strings.Contains(a.body, s) {
			a.b.y.t.Errorf("%s shows %q", a.url, s)
		}
	}
	return a
}

var problemText = regexp.MustCompile(`data-problem>([^<]*)|class="error[^>]*>(?s:.*?)</svg>\s*([^<]*)`)

func (a *seenPage) problem() string {
	return strings.Join(problemText.FindAllString(a.body, -1), " | ")
}

// links returns every local address that a page links to, and every address
// that its forms send to by method.
func (a *seenPage) links() (hrefs []string, forms map[string]string) {
	a.b.y.t.Helper()
	forms = map[string]string{}
	doc, err := html.Parse(strings.NewReader(a.body))
	a.b.y.ok(err)
	for n := range doc.Descendants() {
		attr := map[string]string{}
		for _, at := range n.Attr {
			attr[at.Key] = at.Val
		}
		switch {
		case n.Data == "a" && strings.HasPrefix(attr["href"], "/"), n.Data == "link" && strings.HasPrefix(attr["href"], "/"):
			hrefs = append(hrefs, attr["href"])
		case n.Data == "script" && attr["src"] != "":
			hrefs = append(hrefs, attr["src"])
		case n.Data == "form":
			forms[attr["action"]] = strings.ToUpper(attr["method"])
		}
		for _, k := range []string{"hx-get", "data-stream"} {
			if attr[k] != "" {
				hrefs = append(hrefs, attr[k])
			}
		}
		if attr["hx-post"] != "" {
			forms[attr["hx-post"]] = "POST"
		}
	}
	return hrefs, forms
}

// field returns the value of a named input of a form.
func (a *seenPage) field(action, name string) string {
	a.b.y.t.Helper()
	v, is := a.fieldOf(action, name)
	if !is {
		a.b.y.t.Fatalf("%s has no input %s in a form to %s", a.url, name, action)
	}
	return v
}

func (a *seenPage) fieldOf(action, name string) (value string, is bool) {
	a.b.y.t.Helper()
	doc, err := html.Parse(strings.NewReader(a.body))
	a.b.y.ok(err)
	for f := range doc.Descendants() {
		if f.Data != "form" || attrOf(f, "action") != action {
			continue
		}
		for n := range f.Descendants() {
			if attrOf(n, "name") == name {
				return attrOf(n, "value"), true
			}
		}
	}
	return "", false
}

func attrOf(n *html.Node, key string) string {
	for _, at := range n.Attr {
		if at.Key == key {
			return at.Val
		}
	}
	return ""
}

// create makes a task through the service.
func (y *pageSite) create(a task.Actor, in task.New) *task.Task {
	y.t.Helper()
	if in.Title == "" {
		in.Title = "A task of " + in.Owner
	}
	t, err := y.svc.CreateTask(context.Background(), a, in)
	y.ok(err)
	return t
}

func asAgent(id string) task.Actor { return task.Actor{Name: id, Role: task.RoleAgent} }
