//go:build linux

package handlers

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
)

// connSite serves a site with its real HTTP limits, few connections, and
// 127.0.0.1 as the only trusted address.
func connSite(t *testing.T, with ...func(*http.Server)) (s *site, address string) {
	t.Helper()
	s = newSite(t)
	s.srv.conns.total, s.srv.conns.address = 400, 300
	s.srv.conns.trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	h := s.srv.HTTP()
	for _, w := range with {
		w(h)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	s.ok(err)
	done := make(chan error)
	go func() { done <- h.Serve(ln) }()
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return s, ln.Addr().String()
}

func dialFrom(t *testing.T, ip, address string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	c, err := d.DialContext(t.Context(), "tcp", address)
	testkit.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// canConnect reports whether a new connection from an address gets a response.
func canConnect(t *testing.T, ip, address string) bool {
	t.Helper()
	c := dialFrom(t, ip, address)
	defer c.Close()
	testkit.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n") // if refused, this or the read fails
	b, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("neither served nor refused within a minute")
	}
	return strings.HasPrefix(string(b), "HTTP/1.1 200 ")
}

func TestIdleConnectionsLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	patient := func(h *http.Server) { h.ReadHeaderTimeout = 10 * time.Minute } // idle connections outlast the test
	t.Run("connections from one address are bounded", func(t *testing.T) {
		t.Parallel()
		s, address := connSite(t, patient)
		var silent []net.Conn
		for range 500 {
			silent = append(silent, dialFrom(t, "127.0.0.2", address))
		}
		testkit.Eventually(t, "200 of 500 are refused", func() bool { return s.srv.conns.refused.Load() == 200 })
		if canConnect(t, "127.0.0.2", address) {
			t.Error("a connection over the address limit got a response")
		}
		for _, ip := range []string{"127.0.0.3", "127.0.0.1"} {
			if !canConnect(t, ip, address) {
				t.Errorf("%s got no response", ip)
			}
		}
		if b := string(s.do("admin", "GET", "/metrics", "").want(200).Body); !strings.Contains(b, "taskyard_connections_refused_total 201\n") {
			t.Error("the metrics do not count 201 refused connections")
		}
		for _, c := range silent {
			_ = c.Close()
		}
		testkit.Eventually(t, "the address is served after it closes the others", func() bool { return canConnect(t, "127.0.0.2", address) })
	})
	t.Run("a trusted address may use all connections", func(t *testing.T) {
		t.Parallel()
		s, address := connSite(t, patient)
		var silent []net.Conn
		for range 350 {
			silent = append(silent, dialFrom(t, "127.0.0.1", address))
		}
		if !canConnect(t, "127.0.0.1", address) {
			t.Error("a trusted address is subject to the address limit")
		}
		for range 60 {
			silent = append(silent, dialFrom(t, "127.0.0.1", address))
		}
		testkit.Eventually(t, "connections over the total are refused", func() bool { return s.srv.conns.refused.Load() >= 10 })
		if canConnect(t, "127.0.0.1", address) {
			t.Error("a connection over the total got a response")
		}
		for _, c := range silent {
			_ = c.Close()
		}
		testkit.Eventually(t, "the count falls as connections end", func() bool { return canConnect(t, "127.0.0.1", address) })
	})
	t.Run("idle connections are closed, before and after the first request", func(t *testing.T) {
		t.Parallel()
		_, address := connSite(t, func(h *http.Server) {
			if h.ReadHeaderTimeout <= 0 || h.IdleTimeout <= 0 || h.ReadHeaderTimeout > 10*time.Second || h.IdleTimeout > 2*time.Minute {
				t.Errorf("got ReadHeaderTimeout %v, IdleTimeout %v", h.ReadHeaderTimeout, h.IdleTimeout)
			}
			h.ReadHeaderTimeout, h.IdleTimeout = 100*time.Millisecond, 100*time.Millisecond
		})
		for _, first := range []string{"", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"} {
			c := dialFrom(t, "127.0.0.1", address)
			testkit.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
			_, _ = io.WriteString(c, first) // in a slow test it is already closed
			if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("after %q the connection is still open", first)
			}
		}
	})
}

func TestClientAddressGroups(t *testing.T) {
	t.Parallel()
	l, err := newConns([]string{"10.0.0.0/8", "fd00::/8"})
	testkit.NoError(t, err)
	for address, want := range map[string]string{
		"127.0.0.1": "", "127.8.0.1": "", "::1": "", "10.2.3.4": "", "fd00::7": "", "::ffff:10.2.3.4": "",
		"192.0.2.7": "192.0.2.7/32", "::ffff:192.0.2.7": "192.0.2.7/32", "2001:db8:0:1:2::3": "2001:db8:0:1::/64",
		"2001:db8:0:1:ffff::4": "2001:db8:0:1::/64",
	} {
		got := l.source(&net.TCPAddr{IP: net.ParseIP(address), Port: 1})
		if text := strings.TrimPrefix(got.String(), "invalid Prefix"); text != want {
			t.Errorf("%s: got %q, want %q", address, text, want)
		}
	}
}
