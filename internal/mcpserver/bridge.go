package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrNotReached is the error of Bridge if the server never answered.
var ErrNotReached = errors.New("cannot reach the server")

// ErrRefused is the error of Bridge if the server rejects the token.
var ErrRefused = errors.New("the server refuses the token")

// BridgeOptions configures both ends of a Bridge.
type BridgeOptions struct {
	URL     string // of the server, such as http://127.0.0.1:8080
	Token   string
	Profile string // all or core; "": all
	Stdin   io.Reader
	Stdout  io.Writer // receives only protocol messages
	HTTP    http.RoundTripper
}

const (
	inFlight = 32              // concurrent requests to the server
	grace    = 5 * time.Second // for pending answers after the end of stdin
)

// Bridge passes messages between a client on pipes and the server's /mcp, until
// stdin ends. Each message is a separate request, so that a failed one does not
// affect others.
func Bridge(ctx context.Context, opt BridgeOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b := &bridge{
		opt: opt, pipe: newPipe(opt.Stdin, opt.Stdout), stop: cancel, slots: make(chan struct{}, inFlight),
		calls: map[jsonrpc.ID]context.CancelFunc{},
	}
	err := b.forward(ctx)
	// The client that closed stdin has ended, or piped its calls in and still
	// reads: wait briefly for answers, but a waiting signup must claim nothing.
	late := time.AfterFunc(grace, func() { cancel(nil) })
	b.open.Wait()
	late.Stop()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

type bridge struct {
	opt   BridgeOptions
	pipe  *pipe
	stop  context.CancelCauseFunc
	slots chan struct{}
	open  sync.WaitGroup

	mu       sync.Mutex
	answered bool   // the server was reached at least once
	version  string // protocol version of the server's answer

	calls map[jsonrpc.ID]context.CancelFunc // pending calls
}

// forward reads messages and passes each to a goroutine. It waits for the
// initialization, because the answer determines the protocol version.
func (b *bridge) forward(ctx context.Context) error {
	lines := b.lines(ctx)
	for {
		var l pipedLine
		select {
		case l = <-lines:
		case <-ctx.Done():
			return ctx.Err()
		}
		if l.err != nil {
			return l.err
		}
		for _, msg := range l.messages {
			if err := b.begin(ctx, msg); err != nil {
				return err
			}
		}
	}
}

// pipedLine is a line from the client, or the reason why there are no more.
type pipedLine struct {
	messages []jsonrpc.Message
	err      error
}

// lines reads lines until the client or ctx ends, because a read cannot be
// interrupted.
func (b *bridge) lines(ctx context.Context) <-chan pipedLine {
	lines := make(chan pipedLine)
	go func() {
		for {
			list, err := b.pipe.read()
			select {
			case lines <- pipedLine{list, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// begin passes a message to a goroutine.
func (b *bridge) begin(ctx context.Context, msg jsonrpc.Message) error {
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	b.open.Add(1)
	r, isRequest := msg.(*jsonrpc.Request)
	done := func() {}
	switch {
	case isRequest && r.IsCall():
		ctx, done = b.cancelable(ctx, r.ID)
	case isRequest && r.Method == cancelled:
		b.cancel(r)
	}
	send := func() {
		defer b.open.Done()
		defer func() { <-b.slots }()
		defer done()
		b.send(ctx, msg)
	}
	if isRequest && r.Method == "initialize" {
		send()
	} else {
		go send()
	}
	return nil
}

// cancelable returns the context of a call that its client may cancel. done
// must be called after the call.
func (b *bridge) cancelable(ctx context.Context, id jsonrpc.ID) (call context.Context, done func()) {
	call, end := context.WithCancel(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[id] = end
	return call, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.calls, id)
		end()
	}
}

// cancel ends the request of a canceled call, for which the client expects no
// answer. The notification alone might reach another server than the call.
func (b *bridge) cancel(notification *jsonrpc.Request) {
	id, err := canceledCall(notification)
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if end := b.calls[id]; end != nil {
		end()
	}
}

// send posts one message and writes the answer.
func (b *bridge) send(ctx context.Context, msg jsonrpc.Message) {
	err := b.exchange(ctx, msg)
	if err == nil || ctx.Err() != nil {
		return
	}
	err = b.unwrapError(err)
	if errors.Is(err, ErrRefused) || errors.Is(err, ErrNotReached) && b.neverAnswered() {
		b.stop(err)
	}
	if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() {
		res := &jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}}
		_ = b.pipe.write(res) // if it fails, the client has ended
	}
}

// neverAnswered reports whether the server never answered.
func (b *bridge) neverAnswered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.answered
}

// unwrapError removes the wrapping of an error by other layers.
func (b *bridge) unwrapError(err error) error {
	var answer *answerError
	var op *net.OpError
	switch {
	case errors.As(err, &answer):
		return answer
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%w at %s: %w", ErrNotReached, b.opt.URL, op.Err)
	}
	return err
}

func (b *bridge) exchange(ctx context.Context, msg jsonrpc.Message) error {
	endpoint := strings.TrimSuffix(b.opt.URL, "/") + "/mcp"
	if p := b.opt.Profile; p != "" && p != string(profileFull) { // older servers do not support the profile "all"
		endpoint += "?profile=" + b.opt.Profile
	}
	conn, err := (&mcp.StreamableClientTransport{
		Endpoint: endpoint, MaxRetries: -1, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: b, Timeout: longest},
	}).Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Write(ctx, msg); err != nil {
		return err
	}
	call, ok := msg.(*jsonrpc.Request)
	if !ok || !call.IsCall() {
		return nil
	}
	for {
		back, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		res, last := back.(*jsonrpc.Response)
		if last && call.Method == "initialize" {
			b.note(res)
		}
		if err := b.pipe.write(back); err != nil || last {
			return err
		}
	}
}

// note stores the protocol version, which all later requests send.
func (b *bridge) note(res *jsonrpc.Response) {
	var r struct {
		Version string `json:"protocolVersion"`
	}
	if json.Unmarshal(res.Result, &r) == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.version = r.Version
	}
}

// RoundTrip adds the token, and returns why the server rejects a request.
func (b *bridge) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.opt.Token)
	b.mu.Lock()
	if b.version != "" && r.Header.Get("Mcp-Protocol-Version") == "" {
		r.Header.Set("Mcp-Protocol-Version", b.version)
	}
	b.mu.Unlock()
	base := b.opt.HTTP
	if base == nil {
		base = http.DefaultTransport
	}
	res, err := base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.answered = true
	b.mu.Unlock()
	if err := protocolError(res); err != nil {
		return nil, err
	}
	return res, nil
}

// protocolError returns an error for an answer outside the protocol.
func protocolError(res *http.Response) error {
	if res.StatusCode < http.StatusBadRequest || strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 4096))
	if err != nil {
		return err
	}
	var p struct {
		Detail string `json:"detail"`
	}
	why := strings.TrimSpace(string(text))
	if json.Unmarshal(text, &p) == nil && p.Detail != "" {
		why = p.Detail
	}
	return &answerError{res.StatusCode, why}
}

// answerError is an answer of the server outside the protocol.
type answerError struct {
	status int
	why    string
}

func (e *answerError) Error() string {
	return fmt.Sprintf("%s (%d %s)", e.why, e.status, http.StatusText(e.status))
}

// Is reports whether the answer means ErrRefused.
func (e *answerError) Is(target error) bool {
	return target == ErrRefused && (e.status == http.StatusUnauthorized || e.status == http.StatusForbidden)
}
