package handlers

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbfill"
	"taskyard/db/dbtest"
	"taskyard/internal/buildinfo"
	"taskyard/internal/testkit"
	"taskyard/service"
	"taskyard/task"
)

// yearSite is a server over a year of work, whose clock is at its end.
func yearSite(t testing.TB, size dbfill.Size) (*pageSite, dbfill.Marks) {
	t.Helper()
	y := &pageSite{t: t, dir: t.TempDir(), Clock: testkit.NewClock()}
	quiet, path := slog.New(slog.DiscardHandler), filepath.Join(t.TempDir(), "taskyard.db")
	open := func() *db.DB {
		return dbtest.Open(t, path, func(o *db.Options) { o.Now, o.Log = y.Now, quiet })
	}
	y.ok(open().Close())
	var agents []string
	for i := range 16 {
		id := fmt.Sprintf("agent-%c", 'a'+i)
		agents = append(agents, id)
		text := "---\ndescription: does its part of the work\ntools: read, edit, bash\nrunner: script\n---\nDo what the task says.\n"
		y.ok(os.WriteFile(filepath.Join(y.dir, id+".md"), []byte(text), 0o600))
	}
	m, err := dbfill.Year(t.Context(), path, size, agents, y.Now())
	y.ok(err)
	d := open()
	y.svc = service.New(d, testkit.OpenAgents(t, y.dir, nil), service.Config{
		Rules: testkit.Rules(), Now: y.Now, Log: quiet, CheapPasswords: true,
		Ticks: func(after task.Time) task.Time { return after.Add(time.Hour) },
	})
	y.ok(y.svc.Index(context.Background()))
	y.sched = &pageScheduler{next: y.svc.Now().Add(time.Hour)}
	y.server, err = New(Options{
		Service: y.svc, Scheduler: y.sched, Log: quiet,
		Build: buildinfo.Info{Version: "test"}, DataDir: filepath.Dir(y.dir),
	})
	y.ok(err)
	y.srv = httptest.NewServer(y.server)
	t.Cleanup(func() { y.svc.Hub().Close(); y.srv.Close() })
	return y, m
}

// yearPages are the pages that grow with an instance, each in the state in which it
// is largest.
func yearPages(m dbfill.Marks) []string {
	at := func(before string, id task.ID, after string) string { return before + id.String() + after }
	return []string{
		"/", "/?only=question", "/?only=notice", "/queues", "/queues/agent-a", "/queues?q=limiter", "/queues?status=waiting",
		"/tasks", "/tasks?sort=-changed", "/tasks?status=waiting", "/tasks?q=retry+policy", at("/tasks/", m.Much, ""),
		at("/tasks/", m.Much, "/cancel"), at("/tasks/", m.Much, "/edit"), at("/tasks/", m.Sub, ""), at("/tasks/", m.Archived, ""),
		"/approvals", at("/approvals/", m.Approval, ""), "/runs", at("/runs?task=", m.Much, ""),
		at("/runs/", m.LongRun, ""), at("/runs/", m.LongLive, ""),
		"/history", "/history?q=the+rate+limiter", "/agents", "/agents/agent-a", "/scheduler", "/views", "/settings",
		"/settings/server", "/settings/people", "/settings/tokens", "/settings/limits", "/settings/about", "/api/docs",
	}
}

// TestPagesOfAYearAreSmall holds the bound of every page where there is much.
func TestPagesOfAYearAreSmall(t *testing.T) {
	t.Parallel()
	dbtest.SQLiteOnly(t) // the instance is filled by statements of SQLite
	// Of each thing more than one page lists.
	size := dbfill.Size{Open: 2000, Archived: 1000, Approvals: 200, Subtasks: 300, Comments: 300, Lines: 2000}
	if testkit.Whole() {
		size = dbfill.Size{Open: 10_000, Archived: 2000, Approvals: 1000, Subtasks: 1000, Comments: 1500, Lines: 10_000}
	}
	y, m := yearSite(t, size)
	y.newAdmin()
	b := y.signIn("mara")
	for _, path := range yearPages(m) {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		body := b.get(path).is(200).body
		_, err := w.Write([]byte(body))
		y.ok(err)
		y.ok(w.Close())
		t.Logf("%-30s %4d kB, %5.1f kB gzip", path, len(body)/1000, float64(z.Len())/1000)
		if z.Len() > 60_000 {
			t.Errorf("%s is %d bytes compressed, at most 60000 are allowed", path, z.Len())
		}
	}
	t.Run("what is listed in part says so", func(t *testing.T) {
		b.get("/approvals").shows(fmt.Sprintf(">%d waiting<", size.Approvals), "The first 100 to expire are listed")
	})
}

func (y *pageSite) newAdmin() {
	y.t.Helper()
	_, err := y.svc.AddUser(context.Background(), task.SystemActor, "mara", pagePassword, task.RoleAdmin)
	y.ok(err)
}

// BenchmarkYearPages asks for every page of a year of work, each time after a
// change, without a network.
func BenchmarkYearPages(b *testing.B) {
	y, m := yearSite(b, dbfill.Size{Open: 10_000, Archived: 5_000, Approvals: 1000, Subtasks: 1000, Comments: 2000, Lines: 10_000})
	y.newAdmin()
	who := y.signIn("mara")
	for _, path := range yearPages(m) {
		b.Run(strings.ReplaceAll(path, "/", "~"), func(b *testing.B) {
			req := httptest.NewRequest(http.MethodGet, y.srv.URL+path, http.NoBody)
			for _, c := range who.client.Jar.Cookies(req.URL) {
				req.AddCookie(c)
			}
			for b.Loop() {
				b.StopTimer()
				_, err := y.svc.Comment(b.Context(), mayaActor, m.Open, "a change")
				y.ok(err)
				b.StartTimer()
				w := httptest.NewRecorder()
				y.server.ServeHTTP(w, req)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
