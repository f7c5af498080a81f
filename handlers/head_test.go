package handlers

import (
	"net/http"
	"testing"

	"taskyard/task"
)

func TestPagesAnswerHEADAsGETWithoutABody(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	maya := inst.maya()
	head := func(b *browser, path string) *webPage {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, inst.url+path, http.NoBody)
		inst.ok(err)
		return b.do(req)
	}
	for _, path := range []string{
		"/", "/tasks", "/queues", "/queues/coder", "/tasks/77", "/docs", "/settings/about", "/history.csv", "/healthz",
	} {
		got, want := head(maya, path), maya.get(path)
		got.is(want.status)
		if a, b := got.header.Get("Content-Type"), want.header.Get("Content-Type"); a != b || got.body != "" {
			t.Errorf("HEAD %s: got %q with %d bytes, want %q as for GET", path, a, len(got.body), b)
		}
	}
	head(maya, "/live").is(http.StatusMethodNotAllowed)
	head(maya, "/logout").is(http.StatusMethodNotAllowed)
	head(inst.person("vera", task.RoleViewer), "/settings/people").is(http.StatusForbidden)
	head(inst.browser(), "/tasks").is(inst.browser().get("/tasks").status)
}
