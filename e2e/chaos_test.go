package e2e

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/task"
)

// chaosPlan says how much happens to a cluster.
type chaosPlan struct {
	clients   int
	kills     int           // of servers
	crashes   int           // of PostgreSQL
	failovers int           // the leader is down until another server leads
	freezes   int           // of a server, beyond its leases
	ticks     int           // of the schedule, one each minute
	gap       time.Duration // mean time between two kills; jobs of servers run every 5 s
	limit     time.Duration
}

// chaos is a cluster under load to which all of that happens. Three loops run
// concurrently: a server that one of them stops is locked for the others.
type chaos struct {
	*cluster
	t      *testing.T
	plan   chaosPlan
	load   *load
	locks  []sync.Mutex // one for each server
	notes  string       // folder of the notes of programs of runs
	person *client.Client
	over   context.Context //nolint:containedctx // ends all loops

	mu    sync.Mutex
	given map[task.ID]bool // acknowledged tasks for runs

	kills, crashes, failovers, freezes, again atomic.Int64
	slowest, slowestTake                      atomic.Int64 // of a failover and of a takeover from a frozen server, in ns
}

// chaosScript takes a lock that its children keep too, so that a second run of the
// task, or a child that outlived the first, is noticed. A task of the agent holder
// takes until a file exists. "done" notes what the server acknowledged.
const chaosScript = `exec 9>"$NOTES/lock-$TASKYARD_TASK_ID"
flock -n 9 || echo "run $TASKYARD_RUN_ID met another of task $TASKYARD_TASK_ID" >>"$NOTES/met"
echo "$TASKYARD_TOKEN" >"$NOTES/token-$TASKYARD_RUN_ID.new"
mv "$NOTES/token-$TASKYARD_RUN_ID.new" "$NOTES/token-$TASKYARD_RUN_ID"
echo "start $TASKYARD_RUN_ID $TASKYARD_TASK_ID" >>"$NOTES/log"
(setsid sleep 0.$(( $TASKYARD_RUN_ID % 7 )) >/dev/null 2>&1 &)
if [ "$TASKYARD_AGENT" = holder ]; then
  while [ ! -e "$NOTES/go-$TASKYARD_TASK_ID" ]; do sleep 0.1; done
fi
sleep 0.$(( $TASKYARD_RUN_ID % 5 ))
n=0
until "$BINARY" task complete --summary "by run $TASKYARD_RUN_ID"; do
  [ $((n += 1)) -lt 100 ] || exit 1
  sleep 0.2
done
echo "done $TASKYARD_RUN_ID $TASKYARD_TASK_ID" >>"$NOTES/log"
echo '{"summary":"through","success":true}'
`

// configure writes the files of the servers.
func (c *chaos) configure() {
	script := put(c.t, filepath.Join(c.notes, "agent.sh"), chaosScript)
	for _, s := range c.servers {
		s.claimers()
		for _, name := range []string{"worker", "holder"} {
			s.file("agents/"+name+".md", "---\nname: "+name+"\ndescription: Works a moment.\ntools: read\nrunner: script\nmax_parallel: 6\n---\nWork.\n")
		}
		s.file("taskyard.toml", fmt.Sprintf("[approval]\npolicy = \"never\"\n[runs]\nmax_parallel = 12\nattempts = 10\nequal_failures = 0\n"+
			"[runners.script]\nkind = \"command\"\ncommand = [\"/bin/sh\", %q]\nenv = { NOTES = %q, BINARY = %q }\n",
			script, c.notes, binary(c.t)))
		s.env = append(s.env, "TASKYARD_SCHEDULER_CRON=* * * * *")
	}
}

// fail records an error.
func (c *chaos) fail(format string, args ...any) { c.load.fail(fmt.Errorf(format, args...)) }

// await waits until a condition holds, or the chaos is over. Queries fail while
// PostgreSQL is down.
func (c *chaos) await(what string, so func() bool) bool {
	end := time.NewTimer(patience)
	defer end.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-c.over.Done():
			return false
		case <-end.C:
			c.fail("not within %v: %s", patience, what)
			return false
		}
	}
	return true
}

// one returns the only row of a query, or "".
func (c *chaos) one(format string, args ...any) string {
	rows, err := c.rows(fmt.Sprintf(format, args...))
	if err != nil || len(rows) == 0 {
		return ""
	}
	return rows[0]
}

// serverIndex returns the number of the server with an ID, or -1.
func (c *chaos) serverIndex(id string) int {
	return slices.IndexFunc(c.servers, func(s *server) bool { return id != "" && s.id() == id })
}

// give creates a task for a run.
func (c *chaos) give(owner string) task.ID {
	var tk task.Task
	in := map[string]any{"title": "Work a moment", "owner": owner}
	for c.over.Err() == nil {
		err := c.person.Do(c.over, "POST", "/api/tasks", in, &tk)
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.given[tk.ID] = true
			return tk.ID
		}
		var r *client.ResponseError
		if errors.As(err, &r) && r.Status != http.StatusServiceUnavailable {
			c.fail("a task was not created: %w", err)
			return 0
		}
	}
	return 0
}

// restart starts a killed server. A start that fails because PostgreSQL crashed
// meanwhile is repeated, as a service manager would do.
func (c *chaos) restart(s *server) {
	for tries := 1; ; tries++ {
		err := s.tryStart()
		if err == nil {
			return
		}
		c.again.Add(1)
		if tries == 5 {
			c.fail("a server did not start: %w\n%s", err, s.log.Tail(2000))
			return
		}
		s.kill()
	}
}

// kill kills a server, which must be running.
func (c *chaos) kill(s *server) {
	select {
	case <-s.ended:
		c.fail("a server ended by itself:\n%s", s.log.Tail(3000))
	default:
	}
	s.kill()
}

// storm kills servers and PostgreSQL at random moments, and requests a failover or
// a freeze now and then, until everything planned has happened.
func (c *chaos) storm(failover, freeze chan<- struct{}) {
	defer close(failover)
	defer close(freeze)
	p := &c.plan
	every := func(n int) int { return max(1, p.kills/max(1, n)) }
	asked := [2]int{}
	for done, crashed := 0, 0; c.over.Err() == nil; done++ {
		if done%every(p.failovers) == 0 && asked[0] < p.failovers {
			asked[0]++
			failover <- struct{}{}
		}
		if done%every(p.freezes) == 0 && asked[1] < p.freezes {
			asked[1]++
			freeze <- struct{}{}
		}
		if done >= p.kills && int(c.failovers.Load()) >= p.failovers && int(c.freezes.Load()) >= p.freezes && c.ticked(p.ticks) {
			return
		}
		c.give("worker")
		if done%every(p.crashes) == every(p.crashes)-1 && (crashed < p.crashes || done > p.kills) {
			crashed++
			if err := c.postgres.Crash(); err != nil {
				c.fail("PostgreSQL: %w", err)
			}
			c.crashes.Add(1)
		}
		c.moment()
		for _, i := range rand.Perm(len(c.servers)) {
			if !c.locks[i].TryLock() {
				continue
			}
			c.kill(c.servers[i])
			c.restart(c.servers[i])
			c.locks[i].Unlock()
			c.kills.Add(1)
			break
		}
	}
}

// ticked reports whether there were n ticks.
func (c *chaos) ticked(n int) bool {
	return n == 0 || c.one("SELECT 1 FROM ticks WHERE cause = 'cron' AND ended IS NOT NULL HAVING count(*) >= %d", n) != ""
}

// moment waits for a random moment under load.
func (c *chaos) moment() {
	select {
	case <-time.After(rand.N(2 * c.plan.gap)):
	case <-c.over.Done():
	}
	until := c.load.ops.Load() + rand.Int64N(20)
	c.await("the load continues", func() bool { return c.load.ops.Load() >= until })
}

// failover keeps the leader down until another server leads.
func (c *chaos) failover() {
	var i int
	var number string
	led := func() string {
		return c.one("SELECT number FROM leader WHERE until > extract(epoch FROM now()) * 1000")
	}
	if !c.await("a server leads", func() bool {
		leader := c.one("SELECT server, number FROM leader WHERE until > extract(epoch FROM now()) * 1000")
		id, n, _ := strings.Cut(leader, "|")
		i, number = c.serverIndex(id), n
		return i >= 0
	}) {
		return
	}
	begin := time.Now()
	if c.locks[i].TryLock() {
		c.kill(c.servers[i])
		defer c.locks[i].Unlock()
		defer c.restart(c.servers[i])
	} // otherwise it is frozen, which serves as well
	if c.await("another server leads", func() bool { n := led(); return n != "" && n != number }) {
		c.failovers.Add(1)
		c.slowest.Store(max(c.slowest.Load(), int64(time.Since(begin))))
	}
}

// freeze stops a server that executes a run until another one has taken over the
// run. Then, requests of the lost run's program are refused, and the server, which
// continues after that, changes nothing.
func (c *chaos) freeze() {
	id := c.give("holder")
	var i int
	var run string
	works := func() bool {
		var at string
		run, at, _ = strings.Cut(c.one("SELECT id, server FROM runs WHERE task_id = %d AND status = 'running'", id), "|")
		_, err := os.Stat(filepath.Join(c.notes, "token-"+run))
		i = c.serverIndex(at)
		return run != "" && i >= 0 && err == nil
	}
	for locked := false; !locked; {
		if !c.await("a run is working", works) {
			return
		}
		c.locks[i].Lock()
		now, was := run, i
		if locked = works() && run == now && i == was; !locked {
			c.locks[was].Unlock()
		}
	}
	defer c.locks[i].Unlock()
	s := c.servers[i]
	if err := c.comment(run, id); err != nil && works() {
		c.fail("run %s is working, but requests of its program are refused: %w", run, err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		c.fail("freeze: %w", err)
		return
	}
	begin := time.Now()
	lost := c.await("the run of a frozen server is lost", func() bool {
		return c.one("SELECT status, phase FROM runs WHERE id = %s", run) == "failed|lost"
	})
	c.slowestTake.Store(max(c.slowestTake.Load(), int64(time.Since(begin))))
	if lost && c.comment(run, id) == nil {
		c.fail("run %s is lost, but requests of its program are accepted", run)
	}
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		c.fail("thaw: %w", err)
	}
	if err := os.WriteFile(filepath.Join(c.notes, "go-"+id.String()), nil, 0o600); err != nil {
		c.fail("%w", err)
	}
	if lost && c.await("a thawed server is in the cluster again", func() bool {
		return c.one("SELECT count(*) FROM servers WHERE id = '%s'", s.id()) == "1"
	}) {
		c.freezes.Add(1)
	}
}

// comment writes a comment with the token of a run, and returns the error.
func (c *chaos) comment(run string, id task.ID) error {
	token, err := os.ReadFile(filepath.Join(c.notes, "token-"+run))
	if err != nil {
		c.fail("%w", err)
		return err
	}
	api := &client.Client{URL: c.person.URL, Token: strings.TrimSpace(string(token)), HTTP: c.person.HTTP}
	c.await("a response", func() bool {
		err = api.Do(c.over, "POST", "/api/tasks/"+id.String()+"/comments", map[string]any{"content": "I am run " + run}, nil)
		var r *client.ResponseError
		return err == nil || errors.As(err, &r) && r.Status != http.StatusServiceUnavailable
	})
	return err
}

// unleash lets everything happen, and returns when it is over and the load has ended.
func (c *chaos) unleash() {
	over, cancel := context.WithTimeout(c.t.Context(), c.plan.limit)
	defer cancel()
	c.over = over
	enough, pace := make(chan struct{}), make(chan struct{}, c.plan.clients)
	c.load.tasks, c.load.pace, c.load.enough = math.MaxInt64, pace, enough
	begin := time.Now()
	c.load.run()
	var helpers, loops sync.WaitGroup
	helpers.Go(func() {
		permits := time.NewTicker(400 * time.Millisecond)
		defer permits.Stop()
		for told := begin; ; {
			select {
			case <-enough:
				return
			case <-permits.C:
			}
			for range c.plan.clients { // all at the same time, because they are to compete
				select {
				case pace <- struct{}{}:
				default:
				}
			}
			if time.Since(told) >= 30*time.Second {
				told = time.Now()
				c.t.Log(c.figures(time.Since(begin)))
			}
		}
	})
	failover, freeze := make(chan struct{}, c.plan.failovers), make(chan struct{}, c.plan.freezes)
	loops.Go(func() {
		for range failover {
			c.failover()
		}
	})
	loops.Go(func() {
		for range freeze {
			c.freeze()
		}
	})
	loops.Go(func() { c.storm(failover, freeze) })
	loops.Wait()
	close(enough)
	helpers.Wait()
	c.t.Log(c.figures(time.Since(begin)))
	<-c.load.done
	c.t.Logf("%v: the load has ended", time.Since(begin).Round(time.Second))
}

func (c *chaos) figures(after time.Duration) string {
	c.load.mu.Lock()
	defer c.load.mu.Unlock()
	return fmt.Sprintf("%v: %d kills, %d crashes of PostgreSQL, %d failovers (slowest %v), %d freezes (slowest takeover %v), "+
		"%d starts repeated; %d requests, %d acknowledged creates, %d errors", after.Round(time.Second), c.kills.Load(), c.crashes.Load(),
		c.failovers.Load(), time.Duration(c.slowest.Load()).Round(100*time.Millisecond),
		c.freezes.Load(), time.Duration(c.slowestTake.Load()).Round(100*time.Millisecond), c.again.Load(),
		c.load.ops.Load(), len(c.load.acked), len(c.load.errs))
}

// newChaos starts three servers with a load that waits for unleash.
func newChaos(t *testing.T, plan chaosPlan) *chaos {
	t.Helper()
	c := &chaos{
		cluster: newCluster(t, 3), t: t, plan: plan, locks: make([]sync.Mutex, 3), notes: t.TempDir(), given: map[task.ID]bool{},
	}
	c.configure()
	for _, s := range c.servers {
		s.start()
	}
	tokens := c.servers[0].tokens()
	// Shorter than a freeze, so that a client of a frozen server tries another one.
	balanced := c.balanced(t, 4*time.Second)
	c.person = &client.Client{URL: "http://taskyard.invalid", Token: c.servers[0].token("--scope", "operate"), HTTP: balanced}
	c.load = &load{
		clients: plan.clients, owners: claimers, mayCrash: true, again: func() { <-time.After(20 * time.Millisecond) },
		api: func(owner string) *client.Client {
			return &client.Client{URL: c.person.URL, Token: tokens[owner], HTTP: balanced}
		},
	}
	return c
}
