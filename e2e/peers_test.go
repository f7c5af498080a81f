package e2e

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// serversKey is the environment variable that says as how many servers on one
// PostgreSQL each server of the tests runs; one on SQLite without it.
const serversKey = "TASKYARD_TEST_SERVERS"

// serversWanted is read once and removed: a server knows no such variable.
var serversWanted = sync.OnceValues(func() (int, error) {
	text, ok := os.LookupEnv(serversKey)
	if !ok {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err == nil && n < 1 {
		err = strconv.ErrRange
	}
	return n, errors.Join(err, os.Unsetenv(serversKey))
})

// shareWith puts the server on a PostgreSQL with more servers of the same files,
// and a proxy before them that sends each request to any of them.
func (s *server) shareWith(more int) {
	s.t.Helper()
	s.store = startPostgres(s.t).URL
	for range more {
		p := newProcess(s.t, s.args...)
		p.store = s.store
		s.peers = append(s.peers, p)
	}
	to := &http.Transport{MaxIdleConnsPerHost: 64}
	b := &balancer{next: to, keepHost: true, late: make([]atomic.Int64, 1+more)}
	for _, p := range append([]*server{s}, s.peers...) {
		b.addresses = append(b.addresses, p.address)
	}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Transport: b, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", b.addresses[0] },
	})
	s.t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		to.CloseIdleConnections()
	})
	s.front = front.URL
}

// startPeers starts the other servers, with the files and the environment of this
// one.
func (s *server) startPeers() error {
	for _, p := range s.peers {
		p.env, p.program = s.env, s.program
		for _, name := range []string{"taskyard.toml", "agents"} {
			from, to := filepath.Join(s.data, name), filepath.Join(p.data, name)
			info, err := os.Stat(from)
			switch {
			case os.IsNotExist(err):
				continue
			case err != nil:
				return err
			case info.IsDir():
				err = copyAgents(from, to)
			default:
				err = copyFile(from, to)
			}
			if err != nil {
				return err
			}
		}
		if err := p.tryStart(); err != nil {
			return fmt.Errorf("%w\n%s", err, p.log.tail(4000))
		}
	}
	return nil
}

// copyAgents copies the definitions of agents, at the first start alone: later on
// the database has them.
func copyAgents(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.md"))
	if err != nil {
		return err
	}
	if there, _ := filepath.Glob(filepath.Join(to, "*.md")); len(there) > 0 {
		return nil
	}
	for _, f := range files {
		if err := copyFile(f, filepath.Join(to, filepath.Base(f))); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}

// readPostgres is readRows for PostgreSQL, whose parameters have numbers.
func readPostgres(url, query string, args ...any) ([]string, error) {
	d, err := sql.Open("pgx", url)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var numbered strings.Builder
	n := 0
	for _, c := range query {
		if c != '?' {
			numbered.WriteRune(c)
			continue
		}
		n++
		fmt.Fprintf(&numbered, "$%d", n)
	}
	return queryRows(d, numbered.String(), args...)
}
