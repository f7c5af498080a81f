package client

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// losing drops the first connections after it has read their requests.
type losing struct {
	mu    sync.Mutex
	drop  int
	calls []string // method and key of each request
}

func (l *losing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.calls = append(l.calls, r.Method+" "+r.Header.Get("Idempotency-Key"))
	drop := len(l.calls) <= l.drop
	l.mu.Unlock()
	if !drop {
		_, _ = w.Write([]byte(`{}`))
		return
	}
	c, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = c.Close()
	}
}

func (l *losing) seen() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

// A proxy that lost its connection to one of several servers sends the repeated
// request to another.
func TestABadGatewayIsRetriedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method  string
		status, calls int
		ok            bool
	}{
		{"a POST is repeated", "POST", http.StatusBadGateway, 2, true},
		{"so is a GET", "GET", http.StatusBadGateway, 2, true},
		{"a PATCH may have succeeded: it is not repeated", "PATCH", http.StatusBadGateway, 1, false},
		{"without a server, nothing is repeated", "POST", http.StatusServiceUnavailable, 1, false},
		{"after a timeout, nothing is repeated", "POST", http.StatusGatewayTimeout, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var keys []string
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if keys = append(keys, r.Header.Get("Idempotency-Key")); len(keys) == 1 {
					w.WriteHeader(c.status)
					return
				}
				_, _ = w.Write([]byte(`{}`))
			}))
			defer web.Close()
			err := (&Client{URL: web.URL}).Do(t.Context(), c.method, "/x", map[string]int{"a": 1}, nil)
			if (err == nil) != c.ok || len(keys) != c.calls || len(slices.Compact(keys)) != 1 {
				t.Errorf("%v after the keys %q", err, keys)
			}
			if !c.ok && ExitCode(err) != ExitUnreachable {
				t.Errorf("exit code %d", ExitCode(err))
			}
		})
	}
}

func TestALostConnectionIsRetriedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method string
		drop, calls  int
		ok           bool
	}{
		{"a POST is repeated", "POST", 1, 2, true},
		{"so is a GET", "GET", 1, 2, true},
		{"but only once", "POST", 2, 2, false},
		{"a PATCH may have succeeded: it is not repeated", "PATCH", 1, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &losing{drop: c.drop}
			web := httptest.NewServer(l)
			defer web.Close()
			err := (&Client{URL: web.URL}).Do(t.Context(), c.method, "/x", map[string]int{"a": 1}, nil)
			calls := l.seen()
			if (err == nil) != c.ok || len(calls) != c.calls {
				t.Fatalf("%v after %v", err, calls)
			}
			if !c.ok && ExitCode(err) != ExitUnreachable {
				t.Errorf("exit code %d", ExitCode(err))
			}
			if len(slices.Compact(slices.Clone(calls))) != 1 {
				t.Errorf("the repeated request has another key: %v", calls)
			}
			if c.method == "POST" && calls[0] == "POST " {
				t.Error("a POST has no key")
			}
		})
	}
	t.Run("a server that stopped after the first request may have executed it", func(t *testing.T) {
		l := &losing{drop: 1}
		web := httptest.NewServer(nil)
		web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = web.Listener.Close()
			l.ServeHTTP(w, r)
		})
		defer web.Close()
		err := (&Client{URL: web.URL}).Do(t.Context(), "POST", "/x", nil, nil)
		var dial *net.OpError
		if ExitCode(err) != ExitUnreachable || errors.As(err, &dial) && dial.Op == "dial" || len(l.seen()) != 1 {
			t.Errorf("%v after %v", err, l.seen())
		}
	})
	t.Run("a reused connection is no exception", func(t *testing.T) {
		l := &losing{}
		web := httptest.NewServer(l)
		defer web.Close()
		c := &Client{URL: web.URL}
		if err := c.Do(t.Context(), "POST", "/x", nil, nil); err != nil {
			t.Fatal(err)
		}
		l.mu.Lock()
		l.drop = 3 // the second and the third
		l.mu.Unlock()
		if err := c.Do(t.Context(), "POST", "/x", nil, nil); ExitCode(err) != ExitUnreachable || len(l.seen()) != 3 {
			t.Errorf("%v after %v", err, l.seen())
		}
	})
	t.Run("each command has its own key", func(t *testing.T) {
		l := &losing{}
		web := httptest.NewServer(l)
		defer web.Close()
		c := &Client{URL: web.URL}
		if err := errors.Join(c.Do(t.Context(), "POST", "/x", nil, nil), c.Do(t.Context(), "POST", "/x", nil, nil)); err != nil ||
			l.seen()[0] == l.seen()[1] {
			t.Errorf("%v, %v", l.seen(), err)
		}
	})
}
