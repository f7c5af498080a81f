package handlers

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// wrongForms returns forms of nearly 1 MiB with their content types.
func wrongForms() map[string][2]string {
	n := refuseSize - 200
	plain := func(body string) [2]string { return [2]string{"application/x-www-form-urlencoded", body} }
	one := func(c string) string {
		var b strings.Builder
		for _, f := range []string{
			"title", "description", "steps", "links", "labels",
			"ids", "text", "content", "item", "blockedBy", "run", "act",
		} {
			b.WriteString(f + "=" + strings.Repeat(c, n/12/len(c)) + "&")
		}
		return b.String()
	}
	forms := map[string][2]string{
		"names without a value":   plain(strings.Repeat("a&", n/2)),
		"80,000 fields":           plain(filledTo(n, func(i int) string { return fmt.Sprintf("f%06d=1&", i) })),
		"escapes":                 plain("title=" + strings.Repeat("%41", n/3)),
		"lines in every field":    plain(one("%0Aa")),
		"words in every field":    plain(one("1+")),
		"brackets in every field": plain(one("[")),
		"a plan of lines":         plain("title=x&owner=coder&steps=" + strings.Repeat("a%0A", n/4)),
		"a definition of lists":   plain("id=x&text=---%0A" + strings.Repeat("-+", n/2)),
		"a definition of keys":    plain("id=x&text=---%0A" + filledTo(n, func(i int) string { return fmt.Sprintf("k%d:+1%%0A", i) })),
		"a definition of heads":   plain("id=x&text=" + strings.Repeat("%23+a%0A", n/8)),
		"one run many times":      plain(strings.Repeat("run=1&", n/6)),
		"ids":                     plain("act=cancel&ids=" + filledTo(n, func(i int) string { return fmt.Sprintf("%d+", i+1) })),
	}
	var parts bytes.Buffer
	for parts.Len() < n-200 {
		parts.WriteString("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n")
	}
	parts.WriteString("--b--\r\n")
	forms["many parts"] = [2]string{"multipart/form-data; boundary=b", parts.String()}
	return forms
}

func TestAFormFullOfMistakesIsRefusedCheaply(t *testing.T) {
	inst := newSite(t)
	b := inst.maya()
	inst.newTask(mayaActor, task.New{Owner: "coder"})
	cookies := b.client.Jar.Cookies(mustURL(t, inst.url))
	paths := []string{
		"/tasks", "/tasks/bulk", "/tasks/1/steps", "/tasks/1/blocked-by", "/tasks/1/resources", "/tasks/1/edit",
		"/tasks/1/comments", "/agents/new/check", "/agents", "/approvals/approve", "/agents/coder/todo", "/inbox/snooze", "/login",
	}
	paths = testkit.Sample(3, paths)
	if testkit.Thorough() {
		paths = nil
		for route := range inst.srv.perms {
			if m, p, _ := strings.Cut(route, " "); m == http.MethodPost && !isAPI(p) && !isMCP(p) && p != "/logout" {
				paths = append(paths, fillPath(p, "1", "0"))
			}
		}
	}
	var worst time.Duration
	for _, path := range paths {
		for name, form := range wrongForms() {
			took, status, size := time.Hour, 0, 0
			for try := 0; try < 3 && took > refuseBudget; try++ {
				req := httptest.NewRequest(http.MethodPost, inst.url+path, strings.NewReader(form[1]))
				req.RemoteAddr, req.RequestURI = "127.0.0.1:1", path
				req.Header.Set("Content-Type", form[0])
				req.Header.Set("Origin", inst.url)
				for _, c := range cookies {
					req.AddCookie(c)
				}
				rec := httptest.NewRecorder()
				took = min(took, cpuTime(func() { inst.srv.ServeHTTP(rec, req) }))
				status, size = rec.Code, rec.Body.Len()
			}
			worst = max(worst, took)
			if took > refuseBudget {
				t.Errorf("%s with %s: got %v of CPU time, status %d, %d bytes; want at most %v", path, name, took, status, size, refuseBudget)
			}
			if status >= 500 || size > 3<<20 {
				t.Errorf("%s with %s: got status %d, %d bytes", path, name, status, size)
			}
		}
	}
	t.Logf("at most %v of CPU time", worst)
}

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	testkit.NoError(t, err)
	return u
}
