package handlers

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Connections are limited before anything is read from them, so that a caller
// who opens many and sends nothing does not block others. The timeouts of the
// HTTP server close silent connections.
const (
	connsTotal   = 8192
	connsAddress = 1024 // per remote address
)

// conns counts open connections and closes those that exceed the limits. It is
// safe for concurrent use.
type conns struct {
	total, address int
	trusted        []netip.Prefix // forward for many callers: only the total limit applies
	refused        atomic.Int64

	mu   sync.Mutex
	all  map[net.Conn]netip.Prefix // zero prefix: trusted
	from map[netip.Prefix]int
}

// newConns returns conns that trust this machine and the proxies.
func newConns(proxies []string) (*conns, error) {
	l := &conns{total: connsTotal, address: connsAddress, all: map[net.Conn]netip.Prefix{}, from: map[netip.Prefix]int{}}
	for _, p := range append([]string{"127.0.0.0/8", "::1/128"}, proxies...) {
		block, err := proxyRange(p)
		if err != nil {
			return nil, err
		}
		l.trusted = append(l.trusted, block)
	}
	return l, nil
}

// proxyRange parses an address or address range of trusted proxies.
func proxyRange(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, fmt.Errorf("trusted_proxies: %q is neither an address nor a range of addresses", s)
	}
	return p.Masked(), nil
}

// state is the ConnState hook of an HTTP server.
func (l *conns) state(c net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		if !l.add(c) {
			l.refused.Add(1)
			_ = c.Close() // the server notices that it is closed
		}
	case http.StateClosed, http.StateHijacked:
		l.remove(c)
	}
}

func (l *conns) add(c net.Conn) bool {
	from := l.source(c.RemoteAddr())
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) >= l.total || from.IsValid() && l.from[from] >= l.address {
		return false
	}
	l.all[c] = from
	if from.IsValid() {
		l.from[from]++
	}
	return true
}

func (l *conns) remove(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from, entered := l.all[c]
	if !entered {
		return
	}
	delete(l.all, c)
	if !from.IsValid() {
		return
	}
	if l.from[from]--; l.from[from] == 0 {
		delete(l.from, from)
	}
}

// source returns the prefix that counts as one address, the zero prefix for
// trusted ones. For IPv6, it has 64 bits, because one machine may use all
// addresses in it.
func (l *conns) source(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	for _, p := range l.trusted {
		if p.Contains(ip) {
			return netip.Prefix{}
		}
	}
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	from, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return from
}
