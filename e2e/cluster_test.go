package e2e

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // reads the database from outside

	"taskyard/internal/testkit"
	"taskyard/task"
)

// cluster is several servers on one PostgreSQL.
type cluster struct {
	servers  []*server
	postgres *testkit.PostgresServer
	db       *sql.DB // reads the database from outside
}

// newCluster returns servers on one PostgreSQL, none of which is started.
func newCluster(t *testing.T, n int) *cluster {
	t.Helper()
	return clusterOn(t, n, startPostgres(t))
}

func clusterOn(t *testing.T, n int, p *testkit.PostgresServer) *cluster {
	t.Helper()
	k := &cluster{postgres: p}
	var err error
	if k.db, err = sql.Open("pgx", p.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.db.Close() })
	for range n {
		s := newProcess(t, "serve")
		s.store = p.URL
		k.servers = append(k.servers, s)
	}
	return k
}

// startPostgres starts a PostgreSQL server. If its programs are missing, the test is
// skipped, but not in CI.
func startPostgres(t testing.TB) *testkit.PostgresServer {
	t.Helper()
	p, err := testkit.StartPostgres()
	needPostgres(t, err)
	return p
}

func needPostgres(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("CI") == "":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

// rows is like server.rows, on PostgreSQL, which may be down.
func (k *cluster) rows(query string) ([]string, error) { return queryRows(k.db, query) }

// balanced returns a client of all servers: each request goes to any of them, as
// through a proxy. Servers that are down are skipped, and those that kept a request
// waiting longer than limit are skipped for a while.
func (k *cluster) balanced(t *testing.T, limit time.Duration) *http.Client {
	return &http.Client{Timeout: limit, Transport: newBalancer(t, k.servers)}
}

type balancer struct {
	addresses []string
	late      []atomic.Int64 // when each last kept a request waiting, in Unix nanoseconds
	next      http.RoundTripper
	keepHost  bool // keep the Host header of the client, as a proxy does
}

func newBalancer(t testing.TB, servers []*server) *balancer {
	to := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(to.CloseIdleConnections)
	b := &balancer{next: to, late: make([]atomic.Int64, len(servers))}
	for _, s := range servers {
		b.addresses = append(b.addresses, s.address)
	}
	return b
}

func (b *balancer) RoundTrip(r *http.Request) (res *http.Response, err error) {
	for _, i := range b.order() {
		to := r.Clone(r.Context())
		if to.URL.Host = b.addresses[i]; !b.keepHost {
			to.Host = b.addresses[i]
		}
		if r.GetBody != nil {
			if to.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		res, err = b.next.RoundTrip(to)
		if err != nil && r.Context().Err() != nil {
			b.late[i].Store(time.Now().UnixNano())
		}
		var op *net.OpError
		if err == nil || !errors.As(err, &op) || op.Op != "dial" {
			return res, err
		}
	}
	return nil, err
}

// order returns the order in which the servers are tried.
func (b *balancer) order() []int {
	list, since := rand.Perm(len(b.addresses)), time.Now().Add(-3*time.Second).UnixNano()
	late := func(i int) bool { return b.late[i].Load() > since }
	slices.SortStableFunc(list, func(i, j int) int {
		switch {
		case late(i) == late(j):
			return 0
		case late(i):
			return 1
		}
		return -1
	})
	return list
}

// What happens on one of several servers is known immediately on the others, and
// the work of a server that dies is continued by another.
func TestServersOnOneDatabase(t *testing.T) {
	t.Parallel()
	k := newCluster(t, 3)
	goDir := t.TempDir() + "/"
	script := filepath.Join(t.TempDir(), "agent.sh")
	put(t, script, "echo here >> \"$GO_FOLDER/started\"\nwhile [ ! -e \"$GO_FOLDER/go\" ]; do sleep 0.1; done\necho done\n")
	for _, s := range k.servers {
		s.file("taskyard.toml", fmt.Sprintf("[approval]\npolicy = \"never\"\n[runners.script]\nkind = \"command\"\n"+
			"command = [\"/bin/sh\", %q]\nenv = { GO_FOLDER = %q }\n", script, goDir))
		s.file("agents/ada.md", "---\nname: ada\ndescription: Claims its work itself.\ntools: read\n---\nWork.\n")
		s.file("agents/worker.md", "---\nname: worker\ndescription: Waits for a file.\ntools: read\nrunner: script\n---\nWork.\n")
		s.start()
	}
	all := k.servers
	person, ada := all[0].token("--scope", "operate"), all[0].token("--agent", "ada")

	t.Run("a signup that waits on one gets what is created on another", func(t *testing.T) {
		got := make(chan time.Time, 1)
		go func() {
			var out struct{ Task *task.Task }
			err := all[0].api(ada).Do(t.Context(), "POST", "/api/agents/ada/signup", map[string]any{"waitSeconds": 30}, &out)
			if err != nil || out.Task == nil {
				t.Errorf("got %v, %v", out.Task, err)
			}
			got <- time.Now()
		}()
		testkit.Eventually(t, "the signup waits", func() bool {
			answer, err := http.Get(all[0].url() + "/metrics")
			testkit.NoError(t, err)
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			return err == nil && bytes.Contains(text, []byte("taskyard_signups_waiting 1\n"))
		})
		call[task.Task](t, all[1].api(person), "POST", "/api/tasks", map[string]any{"title": "Over there", "owner": "ada"})
		created := time.Now()
		t.Logf("it took %v", (<-got).Sub(created).Round(time.Millisecond))
	})
	t.Run("the run of a killed server is repeated by another", func(t *testing.T) {
		made := call[task.Task](t, all[2].api(person), "POST", "/api/tasks", map[string]any{"title": "Long work", "owner": "worker"})
		var first *server
		testkit.Eventually(t, "a server has started the run", func() bool {
			for _, s := range all {
				if strings.Contains(s.log.String(), `"run started"`) && lines(t, goDir+"started") == 1 {
					first = s
				}
			}
			return first != nil
		})
		first.kill()
		died := time.Now()
		testkit.Eventually(t, "another server has started it again", func() bool { return lines(t, goDir+"started") == 2 })
		t.Logf("it was continued after %v", time.Since(died).Round(time.Millisecond))
		put(t, goDir+"go", "")
		survivor := all[0]
		if survivor == first {
			survivor = all[1]
		}
		testkit.Eventually(t, "the run has ended", func() bool {
			list := call[struct{ Runs []task.Run }](t, survivor.api(person), "GET", "/api/tasks/"+made.ID.String()+"/runs", nil).Runs
			return len(list) > 0 && list[0].Status == task.RunCompleted
		})
		first.start()
	})
	if out, errs, code := all[0].command("", "check"); code != exitOK {
		t.Errorf("check: exit code %d: %s %s", code, out, errs)
	}
}

// lines counts the lines of a file, which need not exist.
func lines(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return bytes.Count(b, []byte("\n"))
}

// TestAnUnreachableDatabaseIsNamedOnlyInTheLog makes requests without signing in.
func TestAnUnreachableDatabaseIsNamedOnlyInTheLog(t *testing.T) {
	t.Parallel()
	k := newCluster(t, 1)
	s := k.servers[0]
	s.start()
	testkit.NoError(t, k.postgres.End())
	for _, path := range []string{"/readyz", "/api/tasks"} {
		r := answerTo(t, http.DefaultClient, newRequest(t.Context(), http.MethodGet, s.url()+path, "ty_guessed", ""))
		if r.status != http.StatusServiceUnavailable || strings.Contains(r.body, "user=taskyard") {
			t.Errorf("%s returned %d, %s", path, r.status, r.body)
		}
	}
	if log := s.log.String(); !strings.Contains(log, `"msg":"the database cannot be reached","reason":"`) {
		t.Errorf("the log does not name what cannot be reached: %s", log)
	}
}
