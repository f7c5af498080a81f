package handlers

import (
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"taskyard/task"
	"taskyard/views"
)

func TestQuotasApplyOnEverySurface(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.create("pull", "")
	refused := func(t *testing.T, a answer, words ...string) {
		t.Helper()
		p := a.problem(http.StatusTooManyRequests, task.CodeQuotaExceeded)
		if n, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || n < 1 {
			t.Errorf("got Retry-After %q", a.Header.Get("Retry-After"))
		}
		for _, w := range words {
			if !strings.Contains(p.Detail, w) {
				t.Errorf("%q does not contain %q", p.Detail, w)
			}
		}
	}
	t.Run("notices by JSON", func(t *testing.T) {
		for n := 0; ; n++ {
			a := s.do("pull", "POST", "/api/tasks/"+id+"/notify", `{"message":"look"}`)
			if a.Status == http.StatusTooManyRequests {
				refused(t, a, `"notices"`, "one token", "120 notices and questions per minute", "free again in")
				break
			}
			if a.want(201); n > 1000 {
				t.Fatal("a thousand notices were accepted")
			}
		}
		s.do("operator", "POST", "/api/tasks/"+id+"/notify", `{"message":"look"}`).want(201)
	})
	t.Run("streams", func(t *testing.T) {
		var last *stream
		for range 256 {
			last = s.follow(t, "viewer", "/live?topics=events")
		}
		refused(t, s.do("viewer", "GET", "/live?topics=events", ""), `"streams"`, "256 open streams")
		refused(t, s.do("viewer", "GET", "/api/events", "", "Accept", "text/event-stream"), `"streams"`)
		s.follow(t, "operator", "/live?topics=events").close()
		last.close()
		s.do("viewer", "GET", "/api/me", "").want(200) // the token can make other calls
	})
	t.Run("refusals are counted", func(t *testing.T) {
		b := string(s.do("admin", "GET", "/metrics", "").want(200).Body)
		for _, line := range []string{
			`taskyard_quota_refusals_total{quota="notices"} 1`,
			`taskyard_quota_refusals_total{quota="streams"} 2`, `taskyard_quota_refusals_total{quota="bytes"} 0`,
		} {
			if !strings.Contains(b, line) {
				t.Errorf("line %s is missing", line)
			}
		}
	})
}

// TestQuotasAreListed compares the page of limits and the documentation with the
// enforced numbers.
func TestQuotasAreListed(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	page := inst.maya().get("/settings/limits").is(200)
	docs, err := os.ReadFile("../docs/operations.md")
	inst.ok(err)
	list := inst.svc.Quotas()
	if len(list) < 6 {
		t.Fatalf("got quotas %v", list)
	}
	for _, q := range list {
		page.shows("<code class=\"muted small\">"+q.Name+"</code>", "<dd>"+q.Limit+"</dd>")
		if row := "| `" + q.Name + "` | " + q.Limit + " | "; !strings.Contains(string(docs), row) {
			t.Errorf("docs/operations.md has no row %q", row)
		}
	}
	for name, n := range map[string]int{"in total": connsTotal, "from one remote address": connsAddress} {
		page.shows("Connections "+name, "<dd>"+views.Thousands(n)+"</dd>")
		if row := regexp.MustCompile(`\| ` + name + `[^|]*\| ` + views.Thousands(n) + ` \|`); !row.Match(docs) {
			t.Errorf("docs/operations.md has no row %s", row)
		}
	}
}

// TestACommentOverTheQuotaKeepsItsText uses up the quota with the form on the
// task's page.
func TestACommentOverTheQuotaKeepsItsText(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	tk := inst.newTask(mayaActor, task.New{Title: "Talk", Owner: "coder"})
	for range 600 {
		inst.ok2(inst.svc.Comment(t.Context(), mayaActor, tk.ID, "again"))
	}
	path := "/tasks/" + tk.ID.String() + "/comments"
	var wait int
	for _, script := range []string{"", "true"} {
		b.header.Set("HX-Request", script)
		p := b.post(path, "content", typedText).is(http.StatusTooManyRequests).shows(typedText,
			"The quota", "comments", "600 comments per minute", "free again in 1s")
		n, err := strconv.Atoi(p.header.Get("Retry-After"))
		if wait = n; err != nil || n < 1 {
			t.Errorf("got Retry-After %q", p.header.Get("Retry-After"))
		}
	}
	b.header.Del("HX-Request")
	inst.Forward(time.Duration(wait) * time.Second)
	b.post(path, "content", typedText).is(http.StatusSeeOther)
}
