package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// TestStory15 suspends the machine for eight hours while claims, runs, schedules and
// sessions are open: the server sees the wall clock jump by that.
func TestStory15(t *testing.T) {
	t.Parallel()
	goFile, script := filepath.Join(t.TempDir(), "go"), filepath.Join(t.TempDir(), "agent.sh")
	put(t, script, fmt.Sprintf(farAgent, goFile))
	// Hourly, and at least half an hour from now: only the suspend passes one.
	hourly := strconv.Itoa((time.Now().Minute()+30)%60) + " * * * *"
	s := newServer(t, "serve", "--set", "scheduler.cron="+hourly)
	ahead := clocked(t, s)
	s.file("taskyard.toml", fmt.Sprintf("[runners.far]\nkind = \"worker\"\nlabels = "+
		"[\"gpu\"]\n[runners.near]\nkind = \"command\"\ncommand = [\"/bin/sh\", %q]\n", script))
	for name, runner := range map[string]string{"far": "far", "near": "near", "pull": "none"} {
		s.file("agents/"+name+".md", "---\nname: "+name+"\ndescription: For tests.\ntools: read\nrunner: "+runner+"\n---\nWork.\n")
	}
	s.start()
	browser := s.signedIn()
	srv := &workerServer{
		server: s, goFile: goFile, script: script, person: s.api(s.token("--scope", "operate")),
		secret: s.token("--scope", "worker", "--name", "machines"),
	}
	create := func(owner string) task.Task {
		return call[task.Task](t, srv.person, "POST", "/api/tasks", map[string]any{"title": "Work of " + owner, "owner": owner})
	}
	srv.work("--labels", "gpu")
	near, far, held := create("near"), create("far"), create("pull")
	puller := s.api(s.token("--agent", "pull"))
	var claim struct{ Tasks []task.Task }
	if claim = call[struct{ Tasks []task.Task }](t, puller, "POST", "/api/agents/pull/signup",
		map[string]any{"count": 1}); len(claim.Tasks) != 1 || claim.Tasks[0].ID != held.ID {
		t.Fatalf("got the claim %s", asJSON(claim))
	}
	srv.await(near.ID, "running|working|1|1")
	srv.await(far.ID, "running|working|1|1")
	before := s.rows("SELECT claim_expires FROM tasks WHERE id = ?", held.ID.String())[0]

	ahead(8 * time.Hour)
	testkit.Eventually(t, "the missed ticks are caught up",
		func() bool { return s.rows("SELECT count(*) FROM ticks WHERE ended IS NOT NULL")[0] != "0" })
	if code, _ := browser.get(s.url() + "/queues"); code != http.StatusOK {
		t.Errorf("for the page of the person, got status %d: signed out", code)
	}
	// Every job that handles expiry runs once.
	admin := s.api(s.token("--scope", "admin"))
	for _, job := range []string{"claims", "reaper", "approvals", "sweep"} {
		s.runJob(admin.Token, job)
	}
	call[task.Task](t, puller, "POST", "/api/tasks/"+held.ID.String()+"/heartbeat", map[string]any{"claim": claim.Tasks[0].Claim.ID})
	if after := s.rows("SELECT claim_expires FROM tasks WHERE id = ?", held.ID.String())[0]; after <= before {
		t.Errorf("got the claim expiry %s, before it was %s", after, before)
	}
	srv.release()
	srv.await(near.ID, "completed|ended|1|1")
	srv.await(far.ID, "completed|ended|1|1")
	if got := s.rows("SELECT count(*) FROM events WHERE kind = 'claim.expired'")[0]; got != "0" {
		t.Errorf("got %s expired claims", got)
	}
	if got := s.rows("SELECT count(*) FROM ticks WHERE cause = 'cron'")[0]; got != "1" {
		t.Errorf("got %s ticks, want one", got)
	}
}

// runJob runs a background job of the server.
func (s *server) runJob(token, name string) {
	s.t.Helper()
	c := newBrowser(s.t).c // a redirect is not followed
	if r := answerTo(s.t, c, newRequest(s.t.Context(), http.MethodPost, s.url()+"/scheduler/jobs/"+name+"/run", token, "")); r.status >= 400 {
		s.t.Fatalf("job %s: %d %s", name, r.status, r.body)
	}
}
