package handlers

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/html"

	"taskyard/internal/testkit"
	"taskyard/service"
	"taskyard/task"
)

// pageScheduler is the scheduler that the pages see.
type pageScheduler struct {
	vitals task.SchedulerHealth
	next   task.Time
	failed task.Time // when the backup failed on this server, or 0
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

func (f *pageScheduler) Health() task.SchedulerHealth { return f.vitals }
func (f *pageScheduler) Jobs() []task.JobInfo {
	backup := task.JobInfo{Name: "backup", Schedule: "daily", LastAt: f.failed}
	if f.failed != 0 {
		backup.Failure = "no space left"
	}
	return []task.JobInfo{{Name: "tick", Schedule: "0 6-21 * * *", Next: f.next}, backup}
}

func (f *pageScheduler) RunJob(name string) error {
	if name != "tick" && name != "backup" {
		return task.Errorf(task.NotFound, task.CodeNotFound, "No job has the name %s", name)
	}
	f.ran = append(f.ran, name)
	return nil
}

// weakerScript returns what the runner of the tests does not enforce.
func weakerScript(runner string, tools []string) string {
	if runner != "script" {
		return ""
	}
	return "It is told to use only " + strings.Join(tools, ", ") + ", but nothing enforces it."
}

// enforcedScript returns what the runner of the tests enforces.
func enforcedScript(plan task.Spec) (list []task.Enforcement) {
	for _, tool := range plan.Tools {
		list = append(list, task.Enforcement{What: tool, Asked: "allowed", Level: task.NotAsked})
	}
	return append(list, task.Enforcement{
		What: "bash", Asked: "not allowed",
		Level: task.NotEnforced, How: "the program is told, but nothing enforces it",
	},
		task.Enforcement{What: "timeout", Asked: "300 s", Level: task.Enforced, How: "its whole process tree is ended"})
}

const pagePassword = "correct horse battery"

// The people of the tests, as the service knows them.
var mayaActor = task.Actor{Name: "user:maya", Role: task.RoleAdmin, UserID: 1}

// maya creates the first admin and signs her in.
func (s *site) maya() *browser {
	s.t.Helper()
	link, err := s.svc.SetupLink(context.Background())
	s.ok(err)
	_, err = s.svc.FirstAdmin(context.Background(), link, "maya", pagePassword)
	s.ok(err)
	return s.signIn("maya")
}

// person adds a person and signs them in.
func (s *site) person(name string, role task.Role) *browser {
	s.t.Helper()
	_, err := s.svc.AddUser(context.Background(), mayaActor, name, pagePassword, role)
	s.ok(err)
	return s.signIn(name)
}

func (s *site) signIn(name string) *browser {
	s.t.Helper()
	b := s.browser()
	a := b.post("/login", "name", name, "password", pagePassword)
	a.redirectsTo("/")
	return b
}

// browser is a browser without scripts: it has a cookie jar and submits forms with a
// browser's headers. It does not follow redirects automatically.
type browser struct {
	site   *site
	client *http.Client
	origin string // "" sends none
	header http.Header
}

func (s *site) browser() *browser {
	jar, err := cookiejar.New(nil)
	s.ok(err)
	return &browser{site: s, origin: s.url, header: http.Header{}, client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: 30 * time.Second,
	}}
}

// session returns the session cookie as name=value.
func (b *browser) session() string {
	at, err := url.Parse(b.site.url)
	b.site.ok(err)
	for _, k := range b.client.Jar.Cookies(at) {
		if k.Name == "taskyard" {
			return k.Name + "=" + k.Value
		}
	}
	b.site.t.Fatal("there is no session cookie")
	return ""
}

// webPage is the response to a browser.
type webPage struct {
	b      *browser
	url    string
	status int
	header http.Header
	body   string
}

func (b *browser) do(req *http.Request) *webPage {
	b.site.t.Helper()
	for k, v := range b.header {
		req.Header[k] = v
	}
	res, err := b.client.Do(req)
	b.site.ok(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	b.site.ok(err)
	return &webPage{b, req.Method + " " + req.URL.RequestURI(), res.StatusCode, res.Header, string(body)}
}

func (b *browser) get(path string) *webPage {
	b.site.t.Helper()
	req, err := http.NewRequestWithContext(b.site.t.Context(), http.MethodGet, b.site.url+path, http.NoBody)
	b.site.ok(err)
	return b.do(req)
}

func (b *browser) post(path string, pairs ...string) *webPage {
	b.site.t.Helper()
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	req, err := http.NewRequestWithContext(b.site.t.Context(), http.MethodPost, b.site.url+path, strings.NewReader(v.Encode()))
	b.site.ok(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if b.origin != "" {
		req.Header.Set("Origin", b.origin)
	}
	return b.do(req)
}

// is checks the status.
func (a *webPage) is(status int) *webPage {
	a.b.site.t.Helper()
	if a.status != status {
		a.b.site.t.Errorf("%s: status %d, want %d; %s", a.url, a.status, status, a.problem())
	}
	return a
}

// isSmall checks that the compressed page is at most 60 kB.
func (a *webPage) isSmall() {
	a.b.site.t.Helper()
	n := testkit.Gzipped(a.body)
	a.b.site.t.Logf("%-30s %4d kB, %5.1f kB gzip", a.url, len(a.body)/1000, float64(n)/1000)
	if n > 60_000 {
		a.b.site.t.Errorf("%s: got %d bytes compressed, want at most 60000", a.url, n)
	}
}

// redirectsTo checks for a 303 redirect to a path and returns the target page.
func (a *webPage) redirectsTo(path string) *webPage {
	a.b.site.t.Helper()
	a.is(http.StatusSeeOther)
	if got, _, _ := strings.Cut(a.header.Get("Location"), "#"); got != path { // a fragment is not another page
		a.b.site.t.Errorf("%s: got redirect to %s, want %s", a.url, got, path)
	}
	return a.b.get(path)
}

// shows checks that texts are on the page; hides checks that they are not.
func (a *webPage) shows(texts ...string) *webPage {
	a.b.site.t.Helper()
	for _, s := range texts {
		if !strings.Contains(a.body, s) {
			a.b.site.t.Errorf("%s (%d) does not show %q; %s", a.url, a.status, s, a.problem())
		}
	}
	return a
}

func (a *webPage) hides(texts ...string) *webPage {
	a.b.site.t.Helper()
	for _, s := range texts {
		if strings.Contains(a.body, s) {
			a.b.site.t.Errorf("%s shows %q", a.url, s)
		}
	}
	return a
}

var problemText = regexp.MustCompile(`data-problem>([^<]*)|class="error[^>]*>(?s:.*?)</svg>\s*([^<]*)`)

func (a *webPage) problem() string {
	return strings.Join(problemText.FindAllString(a.body, -1), " | ")
}

// links returns every local address that a page links to, and every address that its
// forms submit to with the method.
func (a *webPage) links() (hrefs []string, forms map[string]string) {
	a.b.site.t.Helper()
	forms = map[string]string{}
	doc, err := html.Parse(strings.NewReader(a.body))
	a.b.site.ok(err)
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
func (a *webPage) field(action, name string) string {
	a.b.site.t.Helper()
	v, is := a.formField(action, name)
	if !is {
		a.b.site.t.Fatalf("%s has no input %s in a form to %s", a.url, name, action)
	}
	return v
}

func (a *webPage) formField(action, name string) (value string, is bool) {
	a.b.site.t.Helper()
	doc, err := html.Parse(strings.NewReader(a.body))
	a.b.site.ok(err)
	for f := range doc.Descendants() {
		if f.Data != "form" || nodeAttr(f, "action") != action {
			continue
		}
		for n := range f.Descendants() {
			if nodeAttr(n, "name") == name {
				return nodeAttr(n, "value"), true
			}
		}
	}
	return "", false
}

func nodeAttr(n *html.Node, key string) string {
	for _, at := range n.Attr {
		if at.Key == key {
			return at.Val
		}
	}
	return ""
}

// newTask creates a task through the service.
func (s *site) newTask(a task.Actor, in task.New) *task.Task {
	s.t.Helper()
	if in.Title == "" {
		in.Title = "A task of " + in.Owner
	}
	t, err := s.svc.CreateTask(context.Background(), a, in)
	s.ok(err)
	return t
}

// startRun starts the next run and returns it.
func (s *site) startRun() *service.Start {
	s.t.Helper()
	st, _, err := s.svc.NextRun(s.t.Context(), nil)
	if err != nil || st == nil {
		s.t.Fatalf("no run starts: %v", err)
	}
	return st
}

func (s *site) endRun(st *service.Start, summary string) {
	s.t.Helper()
	end := service.Finished{State: task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}, Summary: summary}
	s.ok(s.svc.FinishRun(s.t.Context(), st.Run.ID, st.Run.Lease, end))
}

// startWorking starts the next run and marks it as working.
func (s *site) startWorking() *service.Start {
	s.t.Helper()
	st := s.startRun()
	s.ok(s.svc.RunWorking(context.Background(), st.Run.ID, st.Run.Lease, 1, "1", "boot"))
	return st
}

// runTask has maya start a run of a task, which must be next, and marks it as working.
func (s *site) runTask(id task.ID) *service.Start {
	s.t.Helper()
	r, err := s.svc.RunNow(context.Background(), mayaActor, id)
	s.ok(err)
	st := s.startWorking()
	if st.Run.ID != r.ID {
		s.t.Fatalf("run %d did not start", r.ID)
	}
	return st
}

// runNew is runTask for a new task of coder.
func (s *site) runNew() *service.Start {
	s.t.Helper()
	return s.runTask(s.newTask(mayaActor, task.New{Title: "Fix the build", Owner: "coder", NoStart: true}).ID)
}

func asAgent(id string) task.Actor { return task.Actor{Name: id, Role: task.RoleAgent} }
