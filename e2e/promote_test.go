package e2e

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// promotion is a cluster under load whose primary ends for good, and whose standby
// is promoted.
type promotion struct {
	*cluster
	former *testkit.PostgresServer // the primary that ended
	load   *load
	behind int           // creates acknowledged while the standby got no data
	took   time.Duration // from the end of the primary to the next acknowledged create
}

// promote runs three servers, whose database URL names both hosts, through a
// promotion in the middle of a load.
func promote(t *testing.T, synchronous bool) *promotion {
	t.Helper()
	primary, standby, err := testkit.StartReplicatedPostgres(synchronous)
	needPostgres(t, err)
	p := &promotion{cluster: clusterOn(t, 3, primary), former: primary}
	for _, s := range p.servers {
		s.claimers()
		s.start()
	}
	tokens, balanced := p.servers[0].tokens(), p.balanced(t, patience) // waiting clients get a response
	tasks := testkit.ByForm(int64(300), 900, 1_500)
	p.load = &load{
		clients: testkit.ByForm(8, 32, 64), tasks: tasks, owners: claimers, mayCrash: true, again: func() {},
		api: func(owner string) *client.Client {
			return &client.Client{URL: "http://taskyard.invalid", Token: tokens[owner], HTTP: balanced}
		},
	}
	p.load.run()
	testkit.Eventually(t, "half of the load is done", func() bool { return p.load.created.Load() >= tasks/2 })
	if !synchronous {
		p.holdReplication(t)
	}
	testkit.NoError(t, primary.End())
	begin := time.Now()
	testkit.NoError(t, standby.Promote())
	before := p.load.count()
	testkit.Eventually(t, "tasks are created again", func() bool { return p.load.count() > before })
	p.took = time.Since(begin)
	<-p.load.done
	if out, errs, code := p.servers[0].command("", "check"); code != exitOK {
		t.Errorf("check: exit code %d: %s %s", code, out, errs)
	}
	return p
}

// holdReplication stops the replication, as over a slow connection, and returns
// after some more creates.
func (p *promotion) holdReplication(t *testing.T) {
	t.Helper()
	for _, row := range p.list(t, "SELECT pid FROM pg_stat_replication") {
		pid, err := strconv.Atoi(row)
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGSTOP)
		}
		testkit.NoError(t, err)
	}
	before := p.load.count()
	testkit.Eventually(t, "tasks are created meanwhile", func() bool { return p.load.count() >= before+50 })
	p.behind = p.load.count() - before
}

// count returns the number of acknowledged creates.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// A synchronous standby has everything that was acknowledged, and nothing is claimed
// twice. The former primary, which is first in the URL, comes back unchanged, and
// servers that start then do not use it.
func TestAPromotedSynchronousStandbyHasEveryAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	p := promote(t, true)
	testkit.NoError(t, p.former.Return())
	for _, s := range p.servers {
		s.kill()
		s.start()
	}
	p.load.readAll(t)
	p.load.hist.explain(t)
	if got := p.load.hist.check(); got != porcupine.Ok {
		t.Errorf("the checker says that the history of claims is %s", got)
	}
	t.Logf("%d acknowledged creates, %d requests; %v from the end of the primary to the next create",
		len(p.load.acked), p.load.ops.Load(), p.took.Round(time.Millisecond))
}

// An asynchronous standby misses only what it had not received. Its data is
// consistent, and the load continues.
func TestAPromotedAsynchronousStandbyIsConsistent(t *testing.T) {
	t.Parallel()
	p := promote(t, false)
	status := map[string]string{}
	for _, row := range p.list(t, "SELECT title, id, status FROM tasks") {
		title, rest, _ := strings.Cut(row, "|")
		status[title] = rest
	}
	creates, ends := 0, 0
	titles := map[task.ID]string{}
	for title, id := range p.load.acked {
		if status[title] == "" {
			creates++
			continue
		}
		titles[id] = title
	}
	done := 0
	for _, op := range p.load.hist.ops {
		in, out := op.Input.(act), op.Output.(answer)
		if title := titles[in.Task]; in.Kind == doComplete && out.OK && title != "" {
			done++
			if !strings.HasSuffix(status[title], "|"+string(task.Done)) {
				ends++
			}
		}
	}
	t.Logf("lost: %d of %d acknowledged creates (the standby had not received %d), %d of %d acknowledged completions; %v from the end of the primary to the next create",
		creates, len(p.load.acked), p.behind, ends, done, p.took.Round(time.Millisecond))
	if limit := p.behind + 2*p.load.clients; creates == 0 || creates > limit {
		t.Errorf("%d acknowledged creates were lost, want at most the %d that the standby had not received", creates, limit)
	}
}
