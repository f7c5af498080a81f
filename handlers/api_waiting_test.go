package handlers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// sendSignup sends a signup over a separate connection and does not read the response.
func (s *site) sendSignup(caller, agent, body string) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	s.ok(err)
	s.t.Cleanup(func() { c.Close() })
	_, err = fmt.Fprintf(c, "POST /api/agents/%s/signup HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: "+
		"Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		agent, s.host.Token(caller), len(body), body)
	s.ok(err)
	return c
}

// readResponse reads the response to a waiting signup.
func (s *site) readResponse(c net.Conn) answer {
	s.t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	s.ok(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	s.ok(err)
	return answer{s.t, res.StatusCode, res.Header, b}
}

func (s *site) awaitWaiters(n int) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); s.svc.WaitingSignups() != n; runtime.Gosched() {
		if time.Now().After(end) {
			s.t.Fatalf("got %d waiting signups, want %d", s.svc.WaitingSignups(), n)
		}
	}
}

func TestAWaitingSignup(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wait := `{"waitSeconds":50}`
	t.Run("gets the next task", func(t *testing.T) {
		c := s.sendSignup("agent", "coder", wait)
		s.awaitWaiters(1)
		if text := string(s.do("nobody", "GET", "/metrics", "").want(200).Body); !strings.Contains(text, "taskyard_signups_waiting 1\n") {
			t.Error("the metrics do not count the signup")
		}
		id := s.create("coder", "")
		if a := s.readResponse(c).want(200); !strings.Contains(string(a.Body), `{"task":{"id":"`+id+`"`) {
			t.Errorf("got %s", a.Body)
		}
	})
	t.Run("gets the number of tasks in count", func(t *testing.T) {
		c := s.sendSignup("agent", "coder", `{"waitSeconds":50,"count":5}`)
		s.awaitWaiters(1)
		s.create("coder", "")
		if a := s.readResponse(c).want(200); len(decode[struct{ Tasks []object }](a).Tasks) != 1 {
			t.Errorf("got %s", a.Body)
		}
	})
	t.Run("claims nothing after the caller disconnects", func(t *testing.T) {
		c := s.sendSignup("agent", "coder", wait)
		s.awaitWaiters(1)
		s.ok(c.Close())
		s.awaitWaiters(0)
		id := s.create("coder", "")
		if got := decode[task.Task](s.do("viewer", "GET", "/api/tasks/"+id, "").want(200)); got.WorkStatus != task.Idle || got.Version != 1 {
			t.Errorf("got work status %s, version %d", got.WorkStatus, got.Version)
		}
		s.claim("agent", "coder")
	})
	t.Run("gets a response when the server stops", func(t *testing.T) {
		c, d := s.sendSignup("agent", "coder", wait), s.sendSignup("agent", "coder", `{"waitSeconds":50,"count":2}`)
		s.awaitWaiters(2)
		s.svc.Hub().Close()
		for c, want := range map[net.Conn]string{c: `{"task":null,"held":["1","2","3"]}`, d: `{"tasks":[],"held":["1","2","3"]}`} {
			if a := s.readResponse(c).want(200); strings.TrimSpace(string(a.Body)) != want {
				t.Errorf("got %s, want %s", a.Body, want)
			}
		}
	})
}

// The timeouts apply to each request of the test, so it makes only one.
func TestASignupMayWaitLongerThanTheServersTimeouts(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	s := newSite(t, func(o setup) { o.HTTP.ReadTimeout, o.HTTP.WriteTimeout = limit, limit })
	begin := time.Now()
	a := s.do("agent", "POST", "/api/agents/coder/signup", `{"waitSeconds":2}`).want(200)
	if took := time.Since(begin); took < 2*limit || strings.TrimSpace(string(a.Body)) != `{"task":null}` {
		t.Errorf("got %s after %s", a.Body, took)
	}
}

func TestSignupBodies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	signup := func(caller, body string) answer {
		t.Helper()
		return s.do(caller, "POST", "/api/agents/coder/signup", body)
	}
	for body, field := range map[string]string{
		`{"waitSeconds":-1}`:                    "waitSeconds",
		`{"waitSeconds":51}`:                    "waitSeconds",
		`{"waitSeconds":0.5}`:                   "waitSeconds",
		`{"waitSeconds":"5"}`:                   "waitSeconds",
		`{"maxConcurrent":0}`:                   "maxConcurrent",
		`{"maxConcurrent":51}`:                  "maxConcurrent",
		`{"maxConcurrent":2,"count":1}`:         "maxConcurrent",
		`{"maxConcurrent":2,"waitSeconds":1}`:   "maxConcurrent",
		`{"max_concurrent":2,"waitSeconds":50}`: "max_concurrent",
	} {
		signup("agent", body).field(task.CodeInvalidField, field)
	}
	t.Run("without a wait it is a plain signup", func(t *testing.T) {
		if a := signup("agent", `{"waitSeconds":0}`).want(200); strings.TrimSpace(string(a.Body)) != `{"task":null}` {
			t.Errorf("got %s", a.Body)
		}
	})
	t.Run("maxConcurrent returns claimed and held tasks", func(t *testing.T) {
		for range 3 {
			s.create("coder", "")
		}
		for _, c := range []struct {
			body        string
			tasks, held int
		}{{`{"maxConcurrent":2}`, 2, 2}, {`{"maxConcurrent":2}`, 0, 2}, {`{"maxConcurrent":50}`, 1, 3}} {
			a := signup("agent", c.body).want(200)
			got := decode[struct {
				Task  *object
				Tasks []object
				Held  []string
			}](a)
			if len(got.Tasks) != c.tasks || got.Tasks == nil || len(got.Held) != c.held || got.Task != nil {
				t.Errorf("%s: got %s", c.body, a.Body)
			}
		}
		signup("pull", `{"maxConcurrent":2}`).problem(403, task.CodeNotYourName)
	})
}

// memoryInUse returns the memory of the server and its callers after a garbage
// collection, in MiB.
func memoryInUse() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse+m.StackInuse) / (1 << 20)
}

// TestAThousandWaitingSignups is not parallel: it measures memory.
func TestAThousandWaitingSignups(t *testing.T) {
	const n = 1000
	s := newSite(t)
	s.awaitWaiters(0)
	before := memoryInUse()
	conns := make([]net.Conn, n)
	for i := range conns {
		conns[i] = s.sendSignup("agent", "coder", `{"waitSeconds":50}`)
	}
	s.awaitWaiters(n)
	more := memoryInUse() - before
	t.Logf("%.1f MiB more in use", more)
	if more > 64 {
		t.Errorf("%d waiting signups use %.1f MiB", n, more)
	}
	s.create("pull", "") // a task that they do not wait for
	if s.svc.WaitingSignups() != n {
		t.Errorf("got %d waiting signups", s.svc.WaitingSignups())
	}
	for range n {
		if _, err := s.svc.CreateTask(t.Context(), mayaActor, task.New{Title: "x", Owner: "coder"}); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[task.ID]bool{}
	for _, c := range conns {
		var got struct{ Task *task.Task }
		a := s.readResponse(c).want(200)
		if json.Unmarshal(a.Body, &got) != nil || got.Task == nil || got.Task.Claim == nil || got.Task.Claim.ID != 1 {
			t.Fatalf("got %s", a.Body)
		}
		seen[got.Task.ID] = true
	}
	if len(seen) != n {
		t.Errorf("got %d tasks for %d callers", len(seen), n)
	}
	if list, err := s.svc.Signup(t.Context(), mayaActor, "coder", 1); err != nil || len(list) != 0 {
		t.Errorf("remaining tasks: got %v, %v", list, err)
	}
}
