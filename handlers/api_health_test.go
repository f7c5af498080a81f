package handlers

import (
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// idleClock is a scheduler that does nothing.
type idleClock struct {
	dead   atomic.Bool
	vitals atomic.Pointer[task.SchedulerHealth]
}

func (c *idleClock) Health() task.SchedulerHealth {
	if v := c.vitals.Load(); v != nil {
		return *v
	}
	return task.SchedulerHealth{}
}

func (*idleClock) NextTick() task.Time       { return 0 }
func (*idleClock) NextTicks(int) []task.Time { return nil }
func (*idleClock) Window() string            { return "" }
func (*idleClock) Jobs() []task.JobInfo      { return nil }
func (*idleClock) RunJob(string) error       { return nil }
func (c *idleClock) Alive() bool             { return !c.dead.Load() }

func TestReadiness(t *testing.T) {
	t.Parallel()
	clock := &idleClock{}
	s := newSite(t, func(o setup) { o.Scheduler = clock })
	ask := func() answer {
		s.srv.ready.mu.Lock()
		s.srv.ready.at = s.srv.ready.at.Add(-probeEvery) // as if a second had passed
		s.srv.ready.mu.Unlock()
		return s.do("nobody", "GET", "/readyz", "")
	}
	if a := ask().want(200); string(a.Body) != `{"ready":true}` {
		t.Errorf("got %s", a.Body)
	}
	t.Run("a stalled scheduler is reported", func(t *testing.T) {
		clock.dead.Store(true)
		if a := ask().want(503); !strings.Contains(string(a.Body), `"scheduler"`) {
			t.Errorf("got %s", a.Body)
		}
		clock.dead.Store(false)
		ask().want(200)
	})
	t.Run("a late tick or backup is reported", func(t *testing.T) {
		clock.vitals.Store(&task.SchedulerHealth{Late: map[string]string{"backup": "two scheduled backups in a row are missing"}})
		if a := ask().want(503); !strings.Contains(string(a.Body), `"backup":"two scheduled`) {
			t.Errorf("got %s", a.Body)
		}
		clock.vitals.Store(nil)
		ask().want(200)
	})
	t.Run("many requests cost one probe per second", func(t *testing.T) {
		s.do("nobody", "GET", "/readyz", "").want(200)
		clock.dead.Store(true)
		s.do("nobody", "GET", "/readyz", "").want(200)
		clock.dead.Store(false)
	})
	t.Run("a deleted database is reported", func(t *testing.T) {
		dbtest.SQLiteOnly(t)
		s.host.Token("operator") // while a token can be created
		s.ok(os.Remove(s.db.Path()))
		s.db.CheckFile()
		if a := ask().want(503); !strings.Contains(string(a.Body), "deleted") {
			t.Errorf("got %s", a.Body)
		}
		s.do("operator", "POST", "/api/tasks", fine).want(503)
		s.do("nobody", "GET", "/healthz", "").want(200)
		s.do("nobody", "HEAD", "/healthz", "").want(200)
		s.do("nobody", "HEAD", "/readyz", "").want(503)
	})
	t.Run("a failed health check is not logged as a server error", func(t *testing.T) {
		if log := s.log.String(); strings.Contains(log, "route=/readyz") {
			t.Error(log)
		}
	})
}

func TestHealthChecksReportAStoppingServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do("nobody", "GET", "/healthz", "").want(200)
	if s.svc.BeginStop(t.Context()) {
		t.Error("there is no other server")
	}
	if a := s.do("nobody", "GET", "/healthz", "").want(503); !strings.HasPrefix(string(a.Body), `{"status":"stopping",`) {
		t.Errorf("got %s", a.Body)
	}
	if a := s.do("nobody", "GET", "/readyz", "").want(503); !strings.Contains(string(a.Body), `"server":"is stopping`) {
		t.Errorf("got %s", a.Body)
	}
	s.do("operator", "POST", "/api/tasks", fine).want(201) // requests are served meanwhile
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("pull", "")
	s.create("pull", "")
	s.claim("pull", "pull")
	s.requestRun("reviewer")
	s.do("viewer", "GET", "/api/tasks/77", "").want(404)
	s.do("pull", "POST", "/api/tasks/1/heartbeat", `{"claim":77}`)
	s.do("nobody", "BREW", "/nothing/here", "")
	text := string(s.do("nobody", "GET", "/metrics", "").want(200).Body)
	for _, line := range []string{
		`taskyard_queue_tasks{agent="pull"} 1`, `taskyard_claims_live{agent="pull"} 1`,
		`taskyard_queue_oldest_seconds{agent="pull"} 0`, "taskyard_approvals_waiting 1",
		`taskyard_runs_ended_24h{status="failed"} 0`,
		`taskyard_http_request_duration_seconds_count{method="GET",route="/api/tasks/:id",status="404"} 1`,
		`taskyard_http_request_duration_seconds_count{method="POST",route="/api/tasks",status="201"} 3`,
		"taskyard_wal_bytes ", "taskyard_live_subscribers 0", "taskyard_commits_total ",
		`taskyard_events_total{kind="task.claimed"} 1`, `taskyard_events_total{kind="task.created"} 3`,
		`taskyard_write_refusals_total{code="stale_claim"} 1`, "taskyard_disk_free_bytes ",
		`taskyard_commit_duration_seconds_bucket{le="+Inf"}`, "taskyard_ready ", "taskyard_open_index_behind ", "go_goroutines ",
	} {
		if dbtest.Postgres() && strings.HasPrefix(line, "taskyard_disk_free_bytes") {
			continue // the disk is on another machine
		}
		if !strings.Contains(text, line) {
			t.Errorf("line %s is missing", line)
		}
	}
	if strings.Contains(text, "BREW") || strings.Contains(text, "nothing") {
		t.Error("callers can choose metric labels")
	}
	t.Run("requests from other hosts need a token", func(t *testing.T) {
		for caller, want := range map[string]int{"nobody": 401, "viewer": 200, "agent": 200} {
			if rec := s.serveFrom("192.0.2.7:1", caller, "/metrics"); rec != want {
				t.Errorf("%s: got %d", caller, rec)
			}
		}
		s.do("nobody", "GET", "/metrics", "", "X-Forwarded-For", "192.0.2.7").problem(401, task.CodeUnauthorized)
	})
}

// Servers that share a database count each other, and one leads.
func TestMetricsAndAboutShowTheServers(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	inst.ok(inst.svc.Join(t.Context(), task.Server{ID: "this", Version: "1.0.0", Address: "127.0.0.1:7080"}))
	if dbtest.Postgres() {
		inst.ok(inst.db.Write(t.Context(), func(tx *db.Tx) error {
			return tx.SeeServer(task.Server{ID: "other", Version: "1.0.1", Address: "127.0.0.1:7081", StartedAt: tx.Now})
		}))
	}
	maya := inst.maya()
	metrics := maya.get("/metrics").is(200).body
	for _, line := range []string{"taskyard_servers 2\n", "taskyard_server_leads 1\n"} {
		if strings.Contains(metrics, line) != dbtest.Postgres() {
			t.Errorf("%q is present: got %v", line, !dbtest.Postgres())
		}
	}
	about, others := maya.get("/settings/about").is(200), []string{"<dt>Servers</dt>", "127.0.0.1:7081, version 1.0.1"}
	if dbtest.Postgres() {
		about.shows(append(others, "PostgreSQL 1")...)
		maya.get("/settings/server").shows("only to the server at 127.0.0.1:7080. The other servers")
	} else {
		about.hides(others...).shows("SQLite, ")
	}
}

func (s *site) serveFrom(addr, caller, path string) int {
	return s.serveWith(caller, "GET", path, "", func(r *http.Request) { r.RemoteAddr = addr }).Code
}
