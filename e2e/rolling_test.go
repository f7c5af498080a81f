package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// nextVersion is the version to which servers are upgraded.
const nextVersion = "v99.0.0"

// buildNextVersion builds the program as its next version: linked with another
// version number, and with one more migration, of a table that every claim uses. The
// returned function waits for the build and returns its path.
func buildNextVersion(t *testing.T) func() string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for folder, kind := range map[string]string{"db/migrations": "INTEGER", "db/migrations/postgres": "bigint"} {
		file := filepath.Join(dir, kind+".sql")
		put(t, file, "-- +goose Up\nALTER TABLE tasks ADD COLUMN next_version "+kind+" NOT NULL DEFAULT 0;\n"+
			"CREATE INDEX tasks_next_version ON tasks (next_version) WHERE next_version > 0;\n")
		to, err := filepath.Abs(filepath.Join(folder, "9000_next_version.sql"))
		testkit.NoError(t, err)
		replace[to] = file
	}
	var program string
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		program, err = buildWith(t, replace, "-ldflags", "-s -X taskyard/internal/buildinfo.linkedVersion="+nextVersion)
	}()
	t.Cleanup(func() { <-ended }) // before its folder is removed
	return func() string {
		t.Helper()
		if <-ended; err != nil {
			t.Fatal(err)
		}
		return program
	}
}

// rolling is three servers on one PostgreSQL behind Caddy, which clients use while
// the servers are replaced.
type rolling struct {
	*cluster
	t    *testing.T
	site string
	send *http.Client // without a timeout
	seen *repeats

	mu   sync.Mutex
	errs []error
}

// fail records what a client must not see.
func (srv *rolling) fail(err error) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.errs = append(srv.errs, err)
}

func newRolling(t *testing.T, agents map[string]string, config string) *rolling {
	t.Helper()
	caddy := installed(t, "caddy", "apt-get install caddy")
	public := freeAddress(t)
	srv := &rolling{cluster: newCluster(t, 3), t: t, site: "http://" + public, seen: &repeats{keys: map[string]bool{}}}
	to := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(to.CloseIdleConnections)
	srv.seen.next = to
	srv.send = &http.Client{Transport: srv.seen}
	var addresses []string
	for _, s := range srv.servers {
		s.public = public
		s.file("taskyard.toml", fmt.Sprintf("public_url = %q\ntrusted_proxies = [\"127.0.0.1\"]\n%s", srv.site, config))
		s.claimers()
		for name, lines := range agents {
			s.file("agents/"+name+".md", "---\nname: "+name+"\ndescription: For the test.\ntools: read\n"+lines+"---\nWork.\n")
		}
		s.start()
		addresses = append(addresses, s.address)
	}
	dir := t.TempDir()
	file := put(t, filepath.Join(dir, "Caddyfile"), read(t, "packaging/cluster/Caddyfile"))
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), caddy, "run", "--adapter", "caddyfile", "--config", file)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir, "CADDY_ADMIN=off",
		"TASKYARD_SITE="+srv.site, "TASKYARD_SERVERS="+strings.Join(addresses, " "))
	startBeside(t, cmd)
	testkit.Eventually(t, "caddy passes requests on", func() bool { return srv.version(srv.site) != "" })
	return srv
}

// version returns the version of a healthy server, or "".
func (srv *rolling) version(base string) string {
	res, err := http.Get(base + "/healthz")
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	var is struct{ Status, Version string }
	if json.NewDecoder(res.Body).Decode(&is) != nil || res.StatusCode != http.StatusOK || is.Status != "ok" {
		return ""
	}
	return is.Version
}

// api returns a client that reaches any of the servers.
func (srv *rolling) api(token string) *client.Client {
	return &client.Client{URL: srv.site, Token: token, HTTP: &http.Client{Timeout: patience, Transport: srv.seen}}
}

// waiting returns how many signups wait at all servers.
func (srv *rolling) waiting(reader string) (n int) {
	for _, s := range srv.servers {
		var here int
		_, _ = fmt.Sscan(s.metric(reader, "taskyard_signups_waiting"), &here)
		n += here
	}
	return n
}

// repeats counts the requests that clients repeat.
type repeats struct {
	next http.RoundTripper
	mu   sync.Mutex
	keys map[string]bool
	n    map[string]int // by the outcome of the first request
	last map[string]string
}

func (r *repeats) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := r.next.RoundTrip(req)
	key := ""
	for name, values := range req.Header {
		if strings.EqualFold(name, "Idempotency-Key") { // not in the canonical form of net/http
			key = values[0]
		}
	}
	if key == "" {
		return res, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == nil {
		r.n, r.last = map[string]int{}, map[string]string{}
	}
	if r.keys[key] {
		r.n[r.last[key]]++
	}
	r.keys[key] = true
	if err != nil {
		r.last[key] = err.Error()
	} else if res.StatusCode >= http.StatusInternalServerError {
		r.last[key] = res.Status
	}
	return res, err
}

// TestServersAreUpgradedOneByOne replaces each of three servers with the next
// version, which changes the schema, while clients work.
func TestServersAreUpgradedOneByOne(t *testing.T) {
	t.Parallel()
	folder := t.TempDir() + "/"
	script := filepath.Join(t.TempDir(), "agent.sh")
	put(t, script, "echo here >> \"$GO_FOLDER/started\"\nwhile [ ! -e \"$GO_FOLDER/go\" ]; do sleep 0.1; done\necho done\n")
	waitForBuild := buildNextVersion(t)
	srv := newRolling(t, map[string]string{"dora": "", "long": "runner: script\n"},
		fmt.Sprintf("[approval]\npolicy = \"never\"\n[runners.script]\nkind = \"command\"\n"+
			"command = [\"/bin/sh\", %q]\nenv = { GO_FOLDER = %q }\n", script, folder))
	first := srv.servers[0]
	tokens, dora := first.tokens(), first.token("--agent", "dora")
	person, reader := srv.api(first.token("--scope", "operate", "--name", "person")), first.token("--scope", "read", "--name", "reader")

	srv.checkDisconnectedClient(person, dora, reader)
	next := waitForBuild()

	// Clients that work, one that waits for work, and one that follows the log.
	stop, end := context.WithCancel(t.Context())
	defer end()
	var around sync.WaitGroup
	stream := &logReader{created: map[task.ID]int{}}
	around.Go(func() { srv.follow(stop, stream, reader) })
	hold := &holder{got: make(chan string, 100)}
	around.Go(func() { srv.hold(stop, hold, dora) })
	pace := time.NewTicker(testkit.ByForm(16*time.Millisecond, 6*time.Millisecond, 2*time.Millisecond))
	defer pace.Stop()
	l := &load{clients: testkit.ByForm(8, 12, 32), tasks: 1 << 40, owners: claimers}
	l.again = func() { srv.fail(errors.New("a connection broke, and its repeat too")) }
	l.api = func(owner string) *client.Client {
		c := srv.api(tokens[owner])
		c.HTTP.Transport = paced{srv.seen, pace.C}
		return c
	}
	l.run()
	long := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Long work", "owner": "long"})
	testkit.Eventually(t, "the run has started", func() bool { return lines(t, folder+"started") == 1 })
	for i, s := range srv.servers {
		if strings.Contains(s.log.String(), `"run started"`) {
			srv.servers[0], srv.servers[i] = s, srv.servers[0] // it is replaced first
		}
	}

	for i, s := range srv.servers {
		srv.replace(s, next)
		before := l.ops.Load()
		testkit.Eventually(t, "the load continues", func() bool { return l.ops.Load() >= before+50 })
		title, begun := fmt.Sprintf("Held %d", i), time.Now()
		call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": title, "owner": "dora"})
		select {
		case got := <-hold.got:
			if got != title {
				t.Errorf("the waiting signup got %q, want %q", got, title)
			}
			t.Logf("the waiting signup got its task after %v", time.Since(begun).Round(time.Millisecond))
		case <-time.After(patience):
			t.Fatal("the waiting signup got nothing")
		}
	}

	l.created.Store(l.tasks) // enough
	<-l.done
	l.tasks = int64(len(l.acked))
	put(t, folder+"go", "")
	var runs []task.Run
	testkit.Eventually(t, "the run has ended", func() bool {
		runs = call[struct{ Runs []task.Run }](t, person, "GET", "/api/tasks/"+long.ID.String()+"/runs", nil).Runs
		return len(runs) > 0 && runs[0].Status == task.RunCompleted
	})
	l.readAll(t)
	l.hist.explain(t)
	if got := l.hist.check(); got != porcupine.Ok {
		t.Errorf("the checker says that the history of claims is %s", got)
	}
	testkit.Eventually(t, "the stream has reported each task", func() bool { return stream.size() >= len(l.acked)+len(srv.servers)+1 })
	end()
	around.Wait()
	srv.check(l, stream, hold, len(runs), lines(t, folder+"started"))
	srv.versions()
	srv.checkDowngradeIsRefused()
	check := exec.CommandContext(t.Context(), next, "check", "--data", first.data, "--set", "database="+first.store)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("check: %v: %s", err, out)
	}
}

// paced sends requests one at a time.
type paced struct {
	next http.RoundTripper
	pace <-chan time.Time
}

func (p paced) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-p.pace:
		return p.next.RoundTrip(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// replace stops a server and starts the next version instead.
func (srv *rolling) replace(s *server, program string) {
	srv.t.Helper()
	begun := time.Now()
	if code := s.term(); code != exitOK {
		srv.t.Errorf("a stopped server has exit code %d", code)
	}
	stopped := time.Now()
	if log := s.log.String(); strings.Contains(log, "cut off") {
		srv.t.Error("a stopped server cut off requests")
	}
	var leads int
	err := srv.db.QueryRow("SELECT count(*) FROM leader WHERE server = $1 AND until > extract(epoch FROM now()) * 1000",
		s.id()).Scan(&leads)
	if err != nil || leads > 0 {
		srv.t.Errorf("a stopped server is still the leader: %d, %v", leads, err)
	}
	s.program = []string{program}
	s.start()
	testkit.Eventually(srv.t, "the new server is healthy", func() bool { return srv.version(s.url()) == nextVersion })
	srv.t.Logf("stopped after %v, replaced after %v", stopped.Sub(begun).Round(time.Millisecond), time.Since(begun).Round(time.Millisecond))
}

// checkDisconnectedClient has a client disconnect that waits behind the proxy.
func (srv *rolling) checkDisconnectedClient(person *client.Client, token, reader string) {
	srv.t.Helper()
	ctx, leave := context.WithCancel(srv.t.Context())
	gone := make(chan error, 1)
	go func() {
		gone <- srv.api(token).Do(ctx, "POST", "/api/agents/dora/signup", map[string]any{"waitSeconds": 40}, nil)
	}()
	testkit.Eventually(srv.t, "the signup waits", func() bool { return srv.waiting(reader) == 1 })
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		srv.t.Errorf("the signup ended with %v", err)
	}
	testkit.Eventually(srv.t, "nobody waits", func() bool { return srv.waiting(reader) == 0 })
	made := call[task.Task](srv.t, person, "POST", "/api/tasks", map[string]any{"title": "For whoever is there", "owner": "dora"})
	got := call[struct{ Task *task.Task }](srv.t, srv.api(token), "POST", "/api/agents/dora/signup", nil).Task
	if got == nil || got.ID != made.ID {
		srv.t.Fatalf("the task was given to the disconnected client: %+v", got)
	}
	call[any](srv.t, srv.api(token), "POST", "/api/tasks/"+got.ID.String()+"/complete", map[string]any{"claim": got.Claim.ID})
}

// holder is an agent that always waits for work.
type holder struct {
	got   chan string // titles
	calls atomic.Int64
}

func (srv *rolling) hold(ctx context.Context, h *holder, token string) {
	api := srv.api(token)
	for ctx.Err() == nil {
		var out struct{ Task *task.Task }
		h.calls.Add(1)
		err := api.Do(ctx, "POST", "/api/agents/dora/signup", map[string]any{"waitSeconds": 40}, &out)
		if err == nil && out.Task != nil {
			err = api.Do(ctx, "POST", "/api/tasks/"+out.Task.ID.String()+"/complete", map[string]any{"claim": out.Task.Claim.ID}, nil)
			h.got <- out.Task.Title
		}
		if err != nil && ctx.Err() == nil {
			srv.fail(fmt.Errorf("waiting signup: %w", err))
			return
		}
	}
}

// logReader follows the log through the proxy.
type logReader struct {
	mu      sync.Mutex
	created map[task.ID]int // how often the stream reported a new task
	streams int
}

func (s *logReader) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.created)
}

// follow reads the log stream. When it ends, another one continues after the last line.
func (srv *rolling) follow(ctx context.Context, s *logReader, token string) {
	for last := "0"; ctx.Err() == nil; {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.site+"/api/events", nil)
		if err != nil {
			srv.fail(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Last-Event-ID", last)
		res, err := srv.send.Do(req)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil || res.StatusCode != http.StatusOK:
			srv.fail(fmt.Errorf("the stream is not opened again: %w, %+v", err, res))
			return
		}
		last = s.read(res.Body, last)
		_ = res.Body.Close()
	}
}

// read reads one stream to its end, and returns the ID of its last line.
func (s *logReader) read(body io.Reader, last string) string {
	s.mu.Lock()
	s.streams++
	s.mu.Unlock()
	id := last
	for in := bufio.NewScanner(body); in.Scan(); {
		line := in.Bytes()
		if rest, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
			id = string(rest)
			continue
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		var e task.Event
		if json.Unmarshal(data, &e) != nil {
			return last // cut within a line, which is sent again
		}
		last = id
		if e.Kind == task.EvTaskCreated {
			s.mu.Lock()
			s.created[e.TaskID]++
			s.mu.Unlock()
		}
	}
	return last
}

// check compares what the clients saw with what is expected.
func (srv *rolling) check(l *load, stream *logReader, hold *holder, runs, starts int) {
	srv.t.Helper()
	for _, err := range srv.errs[:min(len(srv.errs), 10)] {
		srv.t.Error(err)
	}
	if n := len(l.hist.lost); n > 0 {
		srv.t.Errorf("%d signups got no response", n)
	}
	for id, n := range stream.created {
		if n != 1 {
			srv.t.Errorf("the stream reported task %d %d times", id, n)
		}
	}
	// A stopping server ends a stream and a wait once. A client that reconnects
	// immediately must not reach the same server again.
	if limit := 1 + 2*len(srv.servers); stream.streams > limit || hold.calls.Load() > int64(limit+len(srv.servers)) {
		srv.t.Errorf("got %d streams and %d waits", stream.streams, hold.calls.Load())
	}
	if starts < 2 {
		srv.t.Errorf("the run was started %d times: the stopped server did not end it", starts)
	}
	srv.t.Logf("%d acknowledged creates, %d requests, repeats: %v; %d streams, %d waits; the run was started %d times in %d runs",
		len(l.acked), l.ops.Load(), srv.seen.n, stream.streams, hold.calls.Load(), starts, runs)
}

// versions checks that every server shows the new version, and that a form opened on
// one server can be sent to another, with one session for all.
func (srv *rolling) versions() {
	srv.t.Helper()
	b := newBrowser(srv.t)
	form := strings.Replace(srv.servers[2].first, srv.site, srv.servers[0].url(), 1)
	b.setUp(form, srv.servers[1].url())
	_, page := b.get(srv.servers[2].url() + "/settings/about")
	for _, s := range srv.servers {
		if !strings.Contains(page, s.address) {
			srv.t.Errorf("Settings → About does not show %s", s.address)
		}
	}
	if n := strings.Count(page, nextVersion); n != 1+len(srv.servers) { // that of the responding server, and in the list
		srv.t.Errorf("Settings → About shows the new version %d times", n)
	}
}

// checkDowngradeIsRefused starts the former version on the new schema.
func (srv *rolling) checkDowngradeIsRefused() {
	srv.t.Helper()
	s := srv.servers[2]
	s.term()
	now := s.program
	s.program = nil
	before := len(s.log.String())
	err := s.tryStart()
	if log := s.log.String()[before:]; err == nil || !strings.Contains(log, "has schema 9000, this program knows up to") ||
		!strings.Contains(log, "nothing was changed") {
		srv.t.Errorf("the former version started on the new schema: %v, %s", err, log)
	}
	s.cmd = nil
	out, errs, code := s.command("", "token", "create", "--scope", "read")
	if code != exitRefused || !strings.Contains(errs, "has schema 9000") {
		srv.t.Errorf("a command of the former version: exit code %d, %s %s", code, out, errs)
	}
	s.program = now
	s.start()
}

// buildWith builds the program with replaced files, and returns its
// path.
func buildWith(t *testing.T, replace map[string]string, flags ...string) (string, error) {
	dir := t.TempDir()
	overlay, to := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "taskyard")
	if err := os.WriteFile(overlay, []byte(asJSON(map[string]any{"Replace": replace})), 0o600); err != nil {
		return "", err
	}
	args := append([]string{"build", "-o", to, "-overlay", overlay}, flags...)
	out, err := exec.CommandContext(t.Context(), "go", append(args, "taskyard")...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return to, err
}
