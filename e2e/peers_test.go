package e2e

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"strconv"
	"strings"
	"sync"
)

// serversKey is the environment variable with the number of servers on one
// PostgreSQL that each server of the tests runs as; without it, one on SQLite.
const serversKey = "TASKYARD_TEST_SERVERS"

// serversWanted is read once and removed, because servers do not know this variable.
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

// shareWith moves the server to a PostgreSQL with more servers of the same files,
// and a proxy in front of them that sends each request to any of them.
func (s *server) shareWith(more int) {
	s.t.Helper()
	s.store = startPostgres(s.t).URL
	for range more {
		p := newProcess(s.t, s.args...)
		p.store = s.store
		s.peers = append(s.peers, p)
	}
	b := newBalancer(s.t, s.instance())
	b.keepHost = true
	front := httptest.NewServer(&httputil.ReverseProxy{
		Transport: b, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", b.addresses[0] },
	})
	s.t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	s.front = front.URL
}

// instance returns all servers on its database, itself first.
func (s *server) instance() []*server { return append([]*server{s}, s.peers...) }

// startPeers starts the other servers, with the environment of this one.
func (s *server) startPeers() error {
	for _, p := range s.peers {
		p.env, p.program = s.env, s.program
		if err := p.tryStart(); err != nil {
			return fmt.Errorf("%w\n%s", err, p.log.Tail(4000))
		}
	}
	return nil
}

// readPostgres is readRows for PostgreSQL, whose parameters are numbered.
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
