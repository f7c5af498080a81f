// Package cli holds what speaks to a yard from outside, over the JSON
// endpoints: a small client, and the scripted agent of the demo.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Client calls the JSON endpoints of a yard.
type Client struct {
	URL   string // such as http://127.0.0.1:8080
	Token string
	HTTP  *http.Client // nil means a client with a timeout of 30 s
}

// Refusal is an answer with a problem body.
type Refusal struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s (%d %s)", r.Detail, r.Status, r.Code) }

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// Do sends one request and reads the answer into out; in and out may be nil.
// A problem body is returned as a *Refusal.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	hc := c.HTTP
	if hc == nil {
		hc = &http.Client{Timeout: 30 * time.Second}
	}
	res, err := hc.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusBadRequest {
		r := &Refusal{Status: res.StatusCode, Detail: http.StatusText(res.StatusCode)}
		_ = json.Unmarshal(b, r) // a body that is no problem leaves the status
		return r
	}
	if out == nil || len(b) == 0 {
		return nil
	}
	return json.Unmarshal(b, out)
}
