package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbfill"
	"taskyard/db/dbtest"
	"taskyard/internal/buildinfo"
	"taskyard/internal/testkit"
	"taskyard/internal/testkit/testservice"
	"taskyard/service"
	"taskyard/task"
)

// yearSite returns a server with a year of work, whose clock is at the end of it.
func yearSite(t testing.TB, size dbfill.Size) (*site, dbfill.Marks) {
	t.Helper()
	clock, quiet, path := testkit.NewClock(), slog.New(slog.DiscardHandler), filepath.Join(t.TempDir(), "taskyard.db")
	open := func() *db.DB {
		return dbtest.Open(t, path, func(o *db.Options) { o.Now, o.Log = clock.Now, quiet })
	}
	testkit.NoError(t, open().Close())
	agents := map[string]string{}
	for i := range 16 {
		agents[fmt.Sprintf("agent-%c", 'a'+i)] = "---\ndescription: does its part of the work\ntools: read, edit, bash\n" +
			"runner: script\n---\nDo what the task says.\n"
	}
	m, err := dbfill.Year(t.Context(), path, size, slices.Sorted(maps.Keys(agents)), clock.Now())
	testkit.NoError(t, err)
	made := testservice.New(t, testservice.Options{Agents: agents, Clock: clock, Database: open(), Config: func(c *service.Config) {
		c.Ticks = func(after task.Time) task.Time { return after.Add(time.Hour) }
	}})
	inst := &site{t: t, sched: &pageScheduler{}}
	inst.ok(made.Service.Index(t.Context()))
	return inst.begin(made, Options{Scheduler: inst.sched, Log: quiet, Build: buildinfo.Info{Version: "test"}}, &http.Server{}), m
}

// yearPages returns the pages that grow with an instance, each in its largest state.
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

// TestPagesOfAYearAreSmall checks the size of every page of a large instance.
func TestPagesOfAYearAreSmall(t *testing.T) {
	t.Parallel()
	testkit.OneGoroutine(t)
	dbtest.SQLiteOnly(t) // the instance is filled by SQLite statements
	// More of everything than one page lists.
	size := dbfill.Size{Open: 2000, Archived: 1000, Approvals: 200, Subtasks: 300, Comments: 300, Lines: 2000}
	if testkit.Whole() {
		size = dbfill.Size{Open: 10_000, Archived: 2000, Approvals: 1000, Subtasks: 1000, Comments: 1500, Lines: 10_000}
	}
	inst, m := yearSite(t, size)
	inst.newAdmin()
	b := inst.signIn("mara")
	for _, path := range yearPages(m) {
		b.get(path).is(200).isSmall()
	}
	t.Run("partial lists say so", func(t *testing.T) {
		b.get("/approvals").shows(fmt.Sprintf(">%d waiting<", size.Approvals), "The first 100 to expire are listed")
	})
}

func (s *site) newAdmin() {
	s.t.Helper()
	_, err := s.svc.AddUser(context.Background(), task.SystemActor, "mara", pagePassword, task.RoleAdmin)
	s.ok(err)
}

// BenchmarkYearPages requests every page of a year of work, each after a change,
// without a network.
func BenchmarkYearPages(b *testing.B) {
	inst, m := yearSite(b, dbfill.Size{Open: 10_000, Archived: 5_000, Approvals: 1000, Subtasks: 1000, Comments: 2000, Lines: 10_000})
	inst.newAdmin()
	person := inst.signIn("mara")
	for _, path := range yearPages(m) {
		b.Run(strings.ReplaceAll(path, "/", "~"), func(b *testing.B) {
			req := httptest.NewRequest(http.MethodGet, inst.url+path, http.NoBody)
			for _, c := range person.client.Jar.Cookies(req.URL) {
				req.AddCookie(c)
			}
			for b.Loop() {
				b.StopTimer()
				_, err := inst.svc.Comment(b.Context(), mayaActor, m.Open, "a change")
				inst.ok(err)
				b.StartTimer()
				w := httptest.NewRecorder()
				inst.srv.ServeHTTP(w, req)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
