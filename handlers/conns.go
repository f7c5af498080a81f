package handlers

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Connections are limited before anything is read from them: a caller who opens
// many and sends nothing leaves room for all others. Silent connections are
// closed by the timeouts of the HTTP server.
const (
	connsTotal   = 8192
	connsAddress = 1024 // from one remote address
)

// conns counts open connections and closes those beyond the limits. It is safe
// for concurrent use.
type conns struct {
	total, address int
	trusted        []netip.Prefix // speak for many: only the total holds for them
	refused        atomic.Int64

	mu   sync.Mutex
	all  map[net.Conn]netip.Prefix // the zero prefix: trusted
	from map[netip.Prefix]int
}

// newConns trusts this machine and the proxies.
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

// proxyRange reads an address or a range of addresses of trusted proxies.
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

// state is the ConnState of an HTTP server.
func (l *conns) state(c net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		if !l.enter(c) {
			l.refused.Add(1)
			_ = c.Close() // the server finds it closed
		}
	case http.StateClosed, http.StateHijacked:
		l.leave(c)
	}
}

func (l *conns) enter(c net.Conn) bool {
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

func (l *conns) leave(c net.Conn) {
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

// source returns what counts as one address, the zero prefix for trusted ones.
// For IPv6 it is a network of 64 bits: one machine may use all addresses of it.
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
