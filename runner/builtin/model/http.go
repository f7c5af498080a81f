package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"taskyard/runner/retryafter"
)

// client is shared by all providers. It follows no redirects, because they
// would send the key elsewhere.
var client = &http.Client{
	Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConns: 32, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// CloseIdle closes idle connections to providers.
func CloseIdle() { client.CloseIdleConnections() }

// endpoint is the URL that turns are sent to.
type endpoint struct {
	url    string
	header map[string]string // includes the key
}

// errDone ends a stream: its reply is complete.
var errDone = errors.New("done")

// stream sends a turn and calls take with the data of each event of the
// response, until take returns an error or the stream ends. Errors: an *Error,
// or the cause of ctx. If take returns errDone, stream returns nil.
func (e endpoint) stream(ctx context.Context, turn any, take func(data []byte) error) error {
	body, err := json.Marshal(turn)
	if err != nil {
		return &Error{Kind: KindRequest, Message: err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return &Error{Kind: KindRequest, Message: err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "taskyard")
	for name, value := range e.header {
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		return connectionError(ctx, err.Error())
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 || strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		err = refused(res)
	} else {
		err = eachEvent(ctx, res.Body, take)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		failed.After = retryafter.Parse(res.Header, time.Now())
	}
	return err
}

// refused returns the error of a response that is not a stream.
func refused(res *http.Response) *Error {
	if res.StatusCode/100 == 3 {
		return protocolError("it answers with a redirect: give the address that it leads to as base_url")
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxError))
	if e := providerError(res.StatusCode, body); e != nil {
		return e
	}
	if res.StatusCode/100 == 2 {
		return protocolError("it does not stream its answers")
	}
	if err != nil && len(body) == 0 {
		body = []byte(err.Error())
	}
	return failure(res.StatusCode, "", string(body))
}

func eachEvent(ctx context.Context, body io.Reader, take func([]byte) error) error {
	in := newEvents(body)
	for {
		data, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			if e := providerError(0, in.other); e != nil {
				return e
			}
			return nil
		case errors.Is(err, errTooLong):
			return protocolError("%v", err)
		case err != nil:
			return connectionError(ctx, err.Error())
		}
		if e := providerError(0, data); e != nil {
			return e
		}
		if err := take(data); errors.Is(err, errDone) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// providerError returns the error in a body or event, in the form that both
// APIs use, or nil if there is none. status is that of HTTP, 0 if the reply had
// begun.
func providerError(status int, body []byte) *Error {
	if !bytes.Contains(body, []byte(`"error"`)) {
		return nil
	}
	var b struct{ Error *json.RawMessage }
	if json.Unmarshal(body, &b) != nil || b.Error == nil {
		return nil
	}
	if status/100 == 2 {
		status = 0
	}
	var e struct {
		Type, Message string
		Code          any // a string or a number
	}
	if json.Unmarshal(*b.Error, &e) != nil {
		_ = json.Unmarshal(*b.Error, &e.Message) // some servers send only the message
	}
	if code, ok := e.Code.(float64); ok && status == 0 && code >= 400 && code < 600 {
		status = int(code)
	}
	words := e.Type
	if e.Code != nil {
		words = strings.TrimSpace(words + " " + fmt.Sprint(e.Code))
	}
	return failure(status, words, cmp.Or(e.Message, string(*b.Error)))
}

// decode reads the data of an event.
func decode(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return protocolError("%v", err)
	}
	return nil
}
