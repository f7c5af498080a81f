package model

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Bounds of an answer as it comes over the network.
const (
	maxEvent   = 4 << 20   // bytes of an event, which the libraries hold at once
	maxAnswer  = 256 << 20 // bytes in all; they pass through
	maxRefusal = 64 << 10  // bytes of an answer that is no success
)

// What makes no sense in an answer, however often it is asked for.
var (
	errTooMuch  = errors.New("the answer is too long")
	errNoStream = errors.New("it does not stream its answers")
	errRedirect = errors.New("it answers with a redirect: give the address that it leads to as base_url")
)

// seen is what the transport saw of an answer; the libraries hide some of it.
type seen struct {
	status int
	after  time.Duration
}

type seenKey struct{}

// watched returns a context whose request notes what it sees.
func watched(ctx context.Context) (context.Context, *seen) {
	s := &seen{}
	return context.WithValue(ctx, seenKey{}, s), s
}

// newClient makes the client of one provider. It follows no redirects, which
// would carry the key elsewhere.
func newClient() *http.Client { return &http.Client{Transport: &transport{base: connections}} }

// connections are shared by all providers.
var connections = newConnections()

func newConnections() *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConns: 32, IdleConnTimeout: 90 * time.Second}
	t.TLSHandshakeTimeout = 10 * time.Second
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	return t
}

// CloseIdle closes the connections to providers that nobody uses now.
func CloseIdle() { connections.CloseIdleConnections() }

// transport notes status and Retry-After, and bounds what comes in.
type transport struct{ base http.RoundTripper }

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if s, ok := r.Context().Value(seenKey{}).(*seen); ok {
		s.status, s.after = res.StatusCode, retryAfter(res.Header, time.Now())
	}
	switch {
	case res.StatusCode/100 == 3:
		_ = res.Body.Close()
		return nil, errRedirect
	case res.StatusCode/100 != 2:
		res.Body = &limited{ReadCloser: res.Body, left: maxRefusal}
	case strings.HasPrefix(res.Header.Get("Content-Type"), "application/json"):
		_ = res.Body.Close()
		return nil, errNoStream
	default:
		res.Body = newEvents(res.Body)
	}
	return res, nil
}

// retryAfter reads when to ask again: seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// limited is a body that ends after some bytes.
type limited struct {
	io.ReadCloser
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, io.EOF
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
