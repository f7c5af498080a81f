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

// losing drops the first so many connections after it has read the request.
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

// A proxy that lost the connection to one of several servers passes the repeat on
// to another.
func TestABadGatewayIsTriedOnceMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method  string
		status, calls int
		ok            bool
	}{
		{"a POST goes again", "POST", http.StatusBadGateway, 2, true},
		{"a GET too", "GET", http.StatusBadGateway, 2, true},
		{"a PATCH may have been done: it does not", "PATCH", http.StatusBadGateway, 1, false},
		{"no server is there: a repeat would be in vain", "POST", http.StatusServiceUnavailable, 1, false},
		{"the server takes too long: so would the repeat", "POST", http.StatusGatewayTimeout, 1, false},
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

func TestALostConnectionIsTriedOnceMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method string
		drop, calls  int
		ok           bool
	}{
		{"a POST goes again", "POST", 1, 2, true},
		{"a GET too", "GET", 1, 2, true},
		{"but once only", "POST", 2, 2, false},
		{"a PATCH may have been done: it does not", "PATCH", 1, 1, false},
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
				t.Errorf("the repeat has another key: %v", calls)
			}
			if c.method == "POST" && calls[0] == "POST " {
				t.Error("a POST has no key")
			}
		})
	}
	t.Run("a server that went away after the first time may have done it", func(t *testing.T) {
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
	t.Run("a connection that was used before is no exception", func(t *testing.T) {
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
	t.Run("each command has a key of its own", func(t *testing.T) {
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
