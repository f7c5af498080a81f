package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// httpRows is the table of what is measured over HTTP, in this order: what
// is created first is claimed later, and the last task created is read.
var httpRows = []struct {
	name    string
	callers int
	op      func(*client, context.Context) error
	aim     string
}{
	{"HTTP create", 64, (*client).create, "≥ 8,000/s, goal 18,000"},
	{"HTTP GET task", 64, (*client).get, "≥ 10,000/s, goal 22,000"},
	{"HTTP claim", 1, (*client).claim, "p50 ≤ 0.5 ms, goal 0.2"},
	{"HTTP claim", 64, (*client).claim, "≥ 6,000/s, p99 ≤ 30 ms, goal 12,000"},
}

// client speaks to one server as many callers.
type client struct {
	http  *http.Client
	base  string
	token string
	agent string
	last  atomic.Pointer[string] // id of a task that was created
}

func newClient(o options) *client {
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	return &client{
		http: &http.Client{Transport: transport, Timeout: 30 * time.Second},
		base: strings.TrimSuffix(o.url, "/"), token: o.token, agent: o.agent,
	}
}

// measure runs every HTTP row. A round goes through all rows, so that claims
// find what the creates of their round made.
func (c *client) measure(ctx context.Context, rounds int, d time.Duration) ([]*row, error) {
	rows := make([]*row, len(httpRows))
	for i, spec := range httpRows {
		rows[i] = &row{Name: spec.name, Callers: spec.callers, Aim: spec.aim}
	}
	for range rounds {
		for i, spec := range httpRows {
			l, err := drive(spec.callers, d, func(int64) error { return spec.op(c, ctx) })
			if err != nil {
				return nil, fmt.Errorf("%s: %w", spec.name, err)
			}
			rows[i].round(l, 0)
		}
	}
	for _, r := range rows {
		r.finish()
	}
	return rows, nil
}

func (c *client) create(ctx context.Context) error {
	var made struct {
		ID string `json:"id"`
	}
	body := map[string]any{"title": "a task of the bench", "description": description, "owner": c.agent, "start": false}
	if err := c.do(ctx, http.MethodPost, "/api/tasks", body, &made); err != nil {
		return err
	}
	c.last.Store(&made.ID)
	return nil
}

func (c *client) get(ctx context.Context) error {
	id := c.last.Load()
	if id == nil {
		return errEmpty
	}
	return c.do(ctx, http.MethodGet, "/api/tasks/"+*id, nil, nil)
}

func (c *client) claim(ctx context.Context) error {
	var got struct {
		Task *struct{} `json:"task"`
	}
	err := c.do(ctx, http.MethodPost, "/api/agents/"+c.agent+"/signup", map[string]any{}, &got)
	if err == nil && got.Task == nil {
		return errEmpty
	}
	return err
}

// do sends one request and reads the whole answer, so that the connection is
// used again. An answer outside 2xx is an error that shows it.
func (c *client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, res.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}
