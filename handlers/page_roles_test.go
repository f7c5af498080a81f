package handlers

import (
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestPagesByRole(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	m := inst.sample("")
	viewer, operator, reviewer := inst.person("vera", task.RoleViewer), inst.person("oleg",
		task.RoleOperator), inst.person("rita", task.RoleReviewer)

	t.Run("an admin sees every page", func(t *testing.T) {
		for _, p := range slices.Concat(m.pages(), m.writerPages(), adminPages) {
			b.get(p).is(200)
		}
	})
	t.Run("other roles see the pages that they may", func(t *testing.T) {
		for _, person := range []*browser{viewer, operator, reviewer} {
			for _, p := range m.pages() {
				person.get(p).is(200)
			}
			for _, p := range adminPages {
				person.get(p).is(403).shows("it requires the role")
			}
		}
		for _, p := range m.writerPages() {
			viewer.get(p).is(403)
			operator.get(p).is(200)
		}
	})
	t.Run("without a session no page is shown", func(t *testing.T) {
		for _, p := range slices.Concat(m.pages()[1:], m.writerPages(), adminPages) {
			inst.browser().get(p).redirectsTo("/login?next=" + url.QueryEscape(p)).is(200)
		}
	})
	t.Run("a viewer is offered no actions and cannot perform any", func(t *testing.T) {
		own := []string{
			"/logout", "/settings/appearance", "/settings/keys", "/settings/password",
			"/settings/signout", "/settings/sessions/end", "/settings/tokens", "/views",
		}
		for _, p := range m.pages() {
			_, forms := viewer.get(p).links()
			for action, method := range forms {
				if method == "POST" && !slices.Contains(own, action) {
					t.Errorf("%s offers a viewer a form to %s", p, action)
				}
			}
		}
		w := "/tasks/" + m.work.String()
		for _, p := range []string{
			"/tasks", w + "/comments", w + "/steps", w + "/steps/0", w + "/run", w + "/blocked-by",
			w + "/complete", w + "/cancel", w + "/move", w + "/priority", "/tasks/bulk", w + "/edit", "/runs/1/cancel",
			"/runs/1/retry", "/runs/" + m.approval.String() + "/approve", "/agents", "/agents/coder/todo", "/agents/reload",
			"/scheduler/tick", "/scheduler/pause", "/scheduler/resume", "/scheduler/stop-everything", "/agents/coder/pause",
			"/agents/coder/resume", "/inbox/notices/1/acknowledge", "/settings/people",
			"/settings/server", "/scheduler/jobs/tick/run",
		} {
			viewer.post(p, "content", "x", "title", "x", "owner", "coder").is(403)
			inst.browser().post(p).is(303)
		}
	})
	t.Run("a person who may not decide is told so and refused", func(t *testing.T) {
		at := "/approvals/" + m.approval.String()
		operator.get(at).shows("Only reviewers and admins can decide").hides("data-approve>")
		operator.post("/runs/" + m.approval.String() + "/approve").is(403)
		operator.post("/runs/"+m.approval.String()+"/deny", "reason", "no").is(403)
		reviewer.get(at).shows("data-approve")
	})
}

// TestEveryLinkAndFormHasATarget follows every link of every page and
// checks that every form has a route.
func TestEveryLinkAndFormHasATarget(t *testing.T) {
	t.Parallel()
	testkit.OneGoroutine(t)
	inst := newSite(t)
	b := inst.maya()
	m := inst.sample("")
	inst.person("vera", task.RoleViewer)
	todo, seen, actions := slices.Concat(m.pages(), m.writerPages(), adminPages), map[string]bool{}, map[string]string{}
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		p = shorter(p)
		if seen[p] || p == "" {
			continue
		}
		seen[p] = true
		a := b.get(p)
		if a.status >= 400 {
			t.Errorf("%s: got %d", p, a.status)
			continue
		}
		if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			continue
		}
		hrefs, forms := a.links()
		todo = append(todo, hrefs...)
		for action, method := range forms {
			if method != "POST" {
				todo = append(todo, action)
			}
			actions[method+" "+action] = p
		}
		if len(seen) > 1000 {
			t.Fatal("the pages do not end")
		}
	}
	for action, page := range actions {
		method, path, _ := strings.Cut(action, " ")
		if method == "POST" && !inst.hasRoute(path) {
			t.Errorf("%s has a form to %s, which has no route", page, path)
		}
	}
	t.Logf("%d addresses, %d forms", len(seen), len(actions))
	if len(seen) < 60 || len(actions) < 40 {
		t.Errorf("found only %d addresses and %d forms", len(seen), len(actions))
	}
}

// shorter removes parameters that give one page many addresses: the page to return
// to, and the order of a filtered list.
func shorter(p string) string {
	u, err := url.Parse(p)
	if err != nil {
		return p
	}
	v := u.Query()
	v.Del("back")
	if len(v) > 1 {
		v.Del("sort")
	}
	u.RawQuery, u.Fragment = v.Encode(), ""
	return u.String()
}

// hasRoute sends a cross-site request: a route refuses it with 403, and an address
// without a route is not found.
func (s *site) hasRoute(path string) bool {
	for route := range s.srv.perms {
		method, pattern, _ := strings.Cut(route, " ")
		if method == "POST" && matches(pattern, path) {
			return true
		}
	}
	return false
}

func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && !strings.HasPrefix(want[i], ":") {
			return false
		}
	}
	return true
}

func TestHostileTextsAreEscapedOnPages(t *testing.T) {
	t.Parallel()
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>'`
	inst := newSite(t)
	b := inst.maya()
	m := inst.sample(evil)
	for _, p := range slices.Concat(m.pages()[1:], m.writerPages(), adminPages, []string{
		"/queues?q=" + url.QueryEscape(evil),
		"/tasks?q=" + url.QueryEscape(evil), "/history?q=" + url.QueryEscape(evil), "/history?agent=" + url.QueryEscape(evil),
		"/runs?agent=" + url.QueryEscape(evil), "/login?next=" + url.QueryEscape("/"+evil),
	}) {
		a := b.get(p)
		if strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			a.hides("<script>alert", "<img src=x", evil)
		} else if a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s may be interpreted as HTML", p)
		}
	}
	b.get("/tasks/" + m.work.String()).shows(html.EscapeString("<script>alert"))
	t.Run("in the responses to forms", func(t *testing.T) {
		b.post("/tasks", "title", "", "description", evil, "owner", evil, "steps", evil, "links",
			evil, "priority", evil).is(422).hides("<script>alert", "<img src=x")
		b.post("/agents", "id", evil, "text", evil).is(422).hides("<script>alert", "<img src=x")
		b.post("/settings/tokens", "name", evil, "scope", evil, "days", evil).is(422).hides("<script>alert", "<img src=x")
		b.post("/settings/people", "name", evil, "role", evil, "password", evil).is(422).hides("<script>alert", "<img src=x")
		b.post("/scheduler/jobs/"+url.PathEscape(evil)+"/run").is(404).hides("<script>alert", "<img src=x")
	})
}
