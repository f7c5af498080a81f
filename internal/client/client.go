// Package client contains what talks to a server from outside, over the JSON
// API: the commands for people and agents in a shell, the small client that
// they use, and the scripted agent of the demo.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Client calls the JSON endpoints of a server.
type Client struct {
	URL   string // such as http://127.0.0.1:8080, or unix: and the path of a socket
	Token string
	HTTP  *http.Client // nil: a client that follows no redirects, with calls of at most 30 s

	connected sync.Once
	base      string
	plain     *http.Client
}

// maxAnswer bounds how much of an answer is read, in bytes.
const maxAnswer = 16 << 20

// callTime bounds a call, in addition to what the server may wait
// intentionally.
const callTime = 30 * time.Second

// plainHTTP follows no redirects, which would turn a POST into a GET.
var plainHTTP = &http.Client{CheckRedirect: noRedirect}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// connect returns the base URL of requests, and a client without a timeout.
func (c *Client) connect() (base string, hc *http.Client) {
	c.connected.Do(func() {
		var transport http.RoundTripper
		if c.base, transport = BaseURL(c.URL); transport == nil {
			c.plain = plainHTTP
			return
		}
		c.plain = &http.Client{CheckRedirect: noRedirect, Transport: transport}
	})
	return c.base, c.plain
}

// Do sends one request and decodes the answer into out; in and out may be nil.
// It returns a problem body as a *ResponseError, and an unreachable server as
// an *UnreachableError.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	b, err := c.send(ctx, method, path, in, 0)
	if err != nil || out == nil || len(b) == 0 {
		return err
	}
	return json.Unmarshal(b, out)
}

// send returns the body of a successful answer. The server may delay the answer
// by wait. A POST has a key by which the server recognizes a repetition, so
// POST and GET are retried once if the connection is lost, either our own or
// that of a proxy, which may use another server for the retry. If the retry
// fails, the error is the first one, because the server may have handled the
// request.
func (c *Client) send(ctx context.Context, method, path string, in any, wait time.Duration) ([]byte, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
	}
	key := ""
	if method == http.MethodPost {
		key = rand.Text()
	}
	b, err := c.once(ctx, method, path, body, key, wait)
	if connectionBroken(err) && ctx.Err() == nil && (key != "" || method == http.MethodGet) {
		var unreachable *UnreachableError
		again, second := c.once(ctx, method, path, body, key, wait)
		if !errors.As(second, &unreachable) {
			b, err = again, second
		}
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // canceled: not the server's fault
	}
	return b, err
}

// connectionBroken reports whether a connection broke after it was established, so that the
// server may have handled the request. A bad gateway means the same.
func connectionBroken(err error) bool {
	var u *UnreachableError
	if !errors.As(err, &u) {
		return false
	}
	if u.Gateway {
		var r *ResponseError
		return errors.As(err, &r) && r.Status == http.StatusBadGateway
	}
	var op *net.OpError
	return !errors.As(err, &op) || op.Op != "dial"
}

func (c *Client) once(ctx context.Context, method, path string, body []byte, key string, wait time.Duration) ([]byte, error) {
	hc := c.HTTP
	if hc == nil {
		_, hc = c.connect()
		limited, cancel := context.WithTimeout(ctx, callTime+wait)
		defer cancel()
		ctx = limited
	}
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if key != "" {
		// The spelling hides the key from net/http, which would otherwise retry
		// the request by itself and hide that the first one may have been
		// received.
		req.Header["idempotency-key"] = []string{key}
	}
	res, err := hc.Do(req)
	if err != nil {
		return nil, &UnreachableError{URL: c.URL, Err: err}
	}
	defer res.Body.Close()
	if err := c.refused(res); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, &UnreachableError{URL: c.URL, Err: err}
	}
	return b, nil
}

func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	base, _ := c.connect()
	req, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return nil, usagef("TASKYARD_URL: %v", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// refused returns nil for a successful answer, whose body has not been read. A
// gateway that lost its server is not the server: its answers have no code.
func (c *Client) refused(res *http.Response) error {
	switch {
	case res.StatusCode < http.StatusMultipleChoices:
		return nil
	case res.StatusCode < http.StatusBadRequest:
		return usagef("%s redirects to %s: set TASKYARD_URL to the address of the server", c.URL, res.Header.Get("Location"))
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return &UnreachableError{URL: c.URL, Err: err}
	}
	r := &ResponseError{Status: res.StatusCode, Detail: http.StatusText(res.StatusCode)}
	_ = json.Unmarshal(body, r) // if it is not a problem body, the status remains
	r.RetryAfter, _ = strconv.Atoi(res.Header.Get("Retry-After"))
	if r.Code == "" && r.Status >= http.StatusBadGateway && r.Status <= http.StatusGatewayTimeout {
		return &UnreachableError{URL: c.URL, Err: r, Gateway: true}
	}
	return r
}
