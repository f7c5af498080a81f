package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// load is many clients that create, claim, complete and release concurrently.
type load struct {
	clients int
	tasks   int64           // to create in total
	pace    <-chan struct{} // one for each task that may be created; nil: as fast as possible
	enough  <-chan struct{} // closed to stop creating tasks; nil: when all are created
	owners  []string
	api     func(owner string) *client.Client
	// again is called after a failed connection and returns when a retry makes
	// sense.
	again func()
	// mayCrash reports whether the database may be down, so that requests fail.
	mayCrash bool

	hist    *history
	created atomic.Int64
	ops     atomic.Int64
	done    chan struct{} // closed when all clients are done
	mu      sync.Mutex
	acked   map[string]task.ID // acknowledged creates, by title, which is unique
	errs    []error
}

func (l *load) run() {
	l.hist, l.done, l.acked = newHistory(), make(chan struct{}), map[string]task.ID{}
	var wg sync.WaitGroup
	for i := range l.clients {
		owner := l.owners[i%len(l.owners)]
		w := &worker{load: l, id: i, owner: owner, api: l.api(owner)}
		wg.Go(w.work)
	}
	go func() { wg.Wait(); close(l.done) }()
}

func (l *load) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

// worker is one client.
type worker struct {
	*load
	id    int
	owner string
	api   *client.Client
}

// outcome says what a client knows after a request.
type outcome int

const (
	did     outcome = iota
	refused         // the server refused it
	unknown         // the connection failed
	never           // the request was not sent
)

func (w *worker) request(method, path string, in, out any) outcome {
	err := w.api.Do(context.Background(), method, path, in, out)
	w.ops.Add(1)
	var r *client.ResponseError
	var broken *url.Error
	var dial *net.OpError
	switch {
	case err == nil:
		return did
	case errors.As(err, &r) && r.Status == http.StatusServiceUnavailable && w.mayCrash:
		return unknown // the change may have been made, and a read after it may have failed
	case errors.As(err, &r):
		if r.Status != http.StatusConflict {
			w.fail(fmt.Errorf("%s %s: %w", method, path, err))
		}
		return refused
	case !errors.As(err, &broken) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET):
		w.fail(fmt.Errorf("%s %s: invalid response: %w", method, path, err))
		return refused
	}
	w.again()
	if errors.As(err, &dial) && dial.Op == "dial" {
		return never
	}
	return unknown
}

func (w *worker) work() {
	for n, more := w.next(); more; n, more = w.next() {
		w.create(fmt.Sprintf("task %d of client %d", n, w.id))
		w.use(w.signup())
	}
	// The remaining tasks are claimed and completed until the queue is empty.
	for {
		tk := w.signup()
		if tk == nil {
			return
		}
		w.use(tk)
	}
}

// next returns the number of the next task to create, if there is one.
func (l *load) next() (n int64, more bool) {
	if l.pace != nil {
		select {
		case <-l.pace:
		case <-l.enough:
			return 0, false
		}
	}
	n = l.created.Add(1)
	return n, n <= l.tasks
}

func (w *worker) create(title string) {
	for {
		var tk task.Task
		switch w.request("POST", "/api/tasks", map[string]any{"title": title, "owner": w.owner, "description": strings.Repeat("x", 200)}, &tk) {
		case did:
			w.mu.Lock()
			w.acked[title] = tk.ID
			w.mu.Unlock()
			return
		case refused:
			w.fail(errors.New("a create was refused"))
			return
		case unknown:
			return // it may exist or not; it is not acknowledged
		case never:
		}
	}
}

func (w *worker) signup() *task.Task {
	for {
		var out struct{ Task *task.Task }
		call := w.hist.now()
		switch w.request("POST", "/api/agents/"+w.owner+"/signup", nil, &out) {
		case did:
			if out.Task != nil {
				w.hist.add(w.id, call, act{Task: out.Task.ID, Kind: doClaim}, claimAnswer(out.Task))
			}
			return out.Task
		case refused:
			w.fail(errors.New("a sign-up was refused"))
			return nil
		case unknown:
			w.hist.lostSignup(call)
		case never:
		}
	}
}

func claimAnswer(tk *task.Task) answer {
	a := answer{Known: true, OK: true}
	if tk.Claim != nil {
		a.Claim = tk.Claim.ID
	}
	return a
}

// use ends the claim of a task: by release, by completion, or by completion together
// with the next sign-up.
func (w *worker) use(tk *task.Task) {
	for tk != nil {
		switch n := rand.IntN(10); {
		case n == 0:
			w.end(tk, doRelease)
			return
		case n < 5:
			tk = w.completeAndSignup(tk)
		default:
			w.end(tk, doComplete)
			return
		}
	}
}

func (w *worker) end(tk *task.Task, kind string) {
	in := act{Task: tk.ID, Kind: kind, Claim: tk.Claim.ID}
	for {
		call := w.hist.now()
		switch got := w.request("POST", "/api/tasks/"+tk.ID.String()+"/"+kind, map[string]any{"claim": tk.Claim.ID}, nil); got {
		case did, refused:
			w.hist.add(w.id, call, in, answer{Known: true, OK: got == did})
			return
		case unknown:
			// A retry shows whether it happened: then the fence refuses it.
			w.hist.add(w.id, call, in, answer{})
		case never:
		}
	}
}

func (w *worker) completeAndSignup(tk *task.Task) *task.Task {
	in := act{Task: tk.ID, Kind: doComplete, Claim: tk.Claim.ID}
	var out struct{ Completed, Task *task.Task }
	for {
		call := w.hist.now()
		switch got := w.request("POST", "/api/agents/"+w.owner+"/complete-and-signup",
			map[string]any{"taskId": tk.ID.String(), "claim": tk.Claim.ID}, &out); got {
		case did:
			w.hist.add(w.id, call, in, answer{Known: true, OK: true})
			if out.Task != nil {
				w.hist.add(w.id, call, act{Task: out.Task.ID, Kind: doClaim}, claimAnswer(out.Task))
			}
			return out.Task
		case refused:
			w.hist.add(w.id, call, in, answer{Known: true})
			return nil
		case unknown:
			w.hist.add(w.id, call, in, answer{})
			w.hist.lostSignup(call)
		case never:
		}
	}
}

// readAll reads every acknowledged task at the end.
func (l *load) readAll(t *testing.T) {
	t.Helper()
	if all := min(l.created.Load(), l.tasks); int64(len(l.acked)) < all/2 {
		t.Errorf("got only %d of %d creates acknowledged", len(l.acked), all)
	}
	titles := make(chan string)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			api := l.api(l.owners[0])
			for title := range titles {
				var tk task.Task
				id := l.acked[title]
				call := l.hist.now()
				if err := api.Do(t.Context(), "GET", "/api/tasks/"+id.String(), nil, &tk); err != nil {
					l.fail(fmt.Errorf("acknowledged task %d does not exist: %w", id, err))
					continue
				}
				if tk.Title != title {
					l.fail(fmt.Errorf("task %d has the title %q, want %q as acknowledged", id, tk.Title, title))
				}
				a := claimAnswer(&tk)
				a.Done = tk.Status == task.Done
				l.hist.add(0, call, act{Task: id, Kind: doRead}, a)
			}
		})
	}
	for title := range l.acked {
		titles <- title
	}
	close(titles)
	wg.Wait()
	for _, err := range l.errs[:min(len(l.errs), 10)] {
		t.Error(err)
	}
}

// killer kills the server at random moments of a load and restarts it.
type killer struct {
	*server
	postgres *testkit.PostgresServer // crashes instead every second time; nil: SQLite
	mu       sync.RWMutex            // held while the server is down
}

// again waits until the server is up.
func (k *killer) again() {
	k.mu.RLock()
	defer k.mu.RUnlock()
}

func (k *killer) rampage(l *load, kills int, opsInAll int64) (done int) {
	moments := make([]int64, kills)
	for i := range moments {
		moments[i] = rand.Int64N(opsInAll)
	}
	slices.Sort(moments)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i, at := range moments {
		for l.ops.Load() < at {
			select {
			case <-tick.C:
			case <-l.done:
				return done
			}
		}
		if k.postgres != nil && i%2 == 1 {
			if err := k.postgres.Crash(); err != nil {
				l.fail(err)
			}
			done++
			continue
		}
		k.mu.Lock()
		k.kill()
		err := k.tryStart()
		k.mu.Unlock()
		if err != nil {
			l.fail(err)
			return done
		}
		done++
	}
	<-l.done
	return done
}

func TestClaimsAreLinearizableUnderKill(t *testing.T) {
	t.Parallel()
	linearizableUnderKill(t, &killer{server: newServer(t, "serve")})
}

// The same with PostgreSQL, which crashes as often as the server.
func TestClaimsOnPostgreSQLAreLinearizableUnderKill(t *testing.T) {
	t.Parallel()
	k := &killer{server: newServer(t, "serve"), postgres: startPostgres(t)}
	k.store = k.postgres.URL
	linearizableUnderKill(t, k)
}

// claimers are the agents of a load.
var claimers = []string{"ada", "bob", "cleo"}

// claimers writes their definitions.
func (s *server) claimers() {
	s.t.Helper()
	for _, o := range claimers {
		s.file("agents/"+o+".md", "---\nname: "+o+"\ndescription: Claims its work itself.\ntools: read\n---\nWork.\n")
	}
}

// tokens creates a token for each of them.
func (s *server) tokens() map[string]string {
	s.t.Helper()
	tokens := map[string]string{}
	for _, o := range claimers {
		tokens[o] = s.token("--agent", o)
	}
	return tokens
}

func linearizableUnderKill(t *testing.T, k *killer) {
	kills, tasks := 3, int64(600)
	if testkit.Whole() {
		kills, tasks = max(12, testkit.Trials()), max(3_000, 100*int64(testkit.Trials()))
	}
	k.claimers()
	k.start()
	tokens := k.tokens()
	shared := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	defer shared.CloseIdleConnections()
	l := &load{clients: 16, tasks: tasks, owners: claimers, again: k.again, mayCrash: k.postgres != nil}
	l.api = func(owner string) *client.Client {
		return &client.Client{URL: k.url(), Token: tokens[owner], HTTP: shared}
	}
	begin := time.Now()
	l.run()
	done := k.rampage(l, kills, 5*tasks/2)
	took := time.Since(begin)
	l.readAll(t)
	l.hist.explain(t)
	t.Logf("%d acknowledged creates, %d requests, %d kills in %v (%.0f requests/s)", len(l.acked), l.ops.Load(),
		done, took.Round(time.Millisecond), float64(l.ops.Load())/took.Seconds())
	if done < kills*4/5 {
		t.Errorf("got only %d kills", done)
	}
	if got := l.hist.check(); got != porcupine.Ok {
		t.Errorf("the checker says that the history of claims is %s", got)
	}
	if out, errs, code := k.command("", "check"); code != exitOK {
		t.Errorf("check: exit code %d: %s %s", code, out, errs)
	}
}

// memoryServer answers the requests of a load from memory. A racy one reads the
// free task and writes the claim in two steps.
type memoryServer struct {
	racy   bool
	meet   chan struct{} // two readers meet between read and write
	mu     sync.Mutex
	tasks  []*task.Task
	claims map[task.ID]int64
}

func (srv *memoryServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	var in struct {
		Title  string
		TaskID task.ID
		Claim  int64
	}
	_ = json.NewDecoder(r.Body).Decode(&in) // a sign-up has no body
	var out any
	switch {
	case strings.HasSuffix(r.URL.Path, "/complete-and-signup"):
		if srv.act(in.TaskID, doComplete, in.Claim) != nil {
			out = map[string]any{"task": srv.signup()}
		}
	case parts[0] == "agents":
		out = map[string]any{"task": srv.signup()}
	case len(parts) == 1:
		out = srv.add(in.Title)
	default:
		id, _ := task.ParseID(parts[1])
		out = srv.act(id, strings.Join(parts[2:], ""), in.Claim)
	}
	if out == nil {
		w.WriteHeader(http.StatusConflict)
		return
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (srv *memoryServer) add(title string) any {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	id := task.ID(len(srv.tasks) + 1)
	tk := &task.Task{ID: id, ThreadID: id, Title: title, Status: task.Active}
	srv.tasks = append(srv.tasks, tk)
	return *tk
}

func (srv *memoryServer) signup() *task.Task {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	i := slices.IndexFunc(srv.tasks, func(tk *task.Task) bool { return tk.Status == task.Active && tk.Claim == nil })
	if i < 0 {
		return nil
	}
	tk := srv.tasks[i]
	if srv.racy {
		srv.mu.Unlock()
		select {
		case srv.meet <- struct{}{}:
		case <-srv.meet:
		case <-time.After(5 * time.Millisecond):
		}
		srv.mu.Lock()
	}
	srv.claims[tk.ID]++
	tk.Claim = &task.Claim{ID: srv.claims[tk.ID]}
	taken := *tk
	return &taken
}

func (srv *memoryServer) act(id task.ID, what string, claim int64) any {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	tk := srv.tasks[id-1]
	if what == "" {
		return *tk
	}
	if tk.Claim == nil || tk.Claim.ID != claim {
		return nil
	}
	tk.Claim = nil
	if what == doComplete {
		tk.Status = task.Done
	}
	return *tk
}

func TestCheckerFlagsARacyClaim(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		racy bool
		want porcupine.CheckResult
	}{
		{"a claim in one step is linearizable", false, porcupine.Ok},
		{"a claim that reads and then writes is flagged", true, porcupine.Illegal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			web := httptest.NewServer(&memoryServer{racy: tt.racy, meet: make(chan struct{}), claims: map[task.ID]int64{}})
			defer web.Close()
			l := &load{clients: 8, tasks: 200, owners: []string{"ada"}, again: func() {}, api: func(string) *client.Client {
				return &client.Client{URL: web.URL, HTTP: web.Client()}
			}}
			l.run()
			<-l.done
			l.readAll(t)
			l.hist.explain(t)
			if got := l.hist.check(); got != tt.want {
				t.Errorf("the checker says %s, want %s", got, tt.want)
			}
		})
	}
}
