package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"taskyard/task"
)

// httpRow is one kind of request.
type httpRow struct {
	takes   bool // consumes tasks, many: runs half as long, so that some are left
	name    string
	callers int
	op      func(*client, *wire, int64) error
	rate    target
	p50     target
	p99     target
	units   target // CPU time in units of the empty handler
	base    string // name of an earlier row, whose last rate is the unit of share
	share   target
	syncs   target // median time in units of one write and fsync of the disk, measured right after it
}

var none target

// against returns what a row's rate is compared with.
func (r httpRow) against() string {
	if r.name == "claim over MCP" {
		return "that over JSON"
	}
	return r.base
}

// httpRows are measured in this order. The first is the empty handler, the unit
// of CPU time for the others. Those that need the results of creates come last.
var httpRows = []httpRow{
	{name: "empty handler", callers: 64, op: (*client).empty},
	{name: "GET task", callers: 64, op: (*client).get, rate: atLeast(10_000, 22_000), units: atMost(4, 2)},
	{name: "claim", callers: 1, op: (*client).claim, p50: atMost(0.5, 0.2), syncs: atMost(2, 1.5)},
	{name: "claim", callers: 64, op: (*client).claim, takes: true, rate: atLeast(6_000, 12_000), p99: atMost(30, 15), units: atMost(8, 4)},
	{name: "claim over MCP", callers: 64, op: (*client).claimMCP, takes: true, base: "claim", share: atLeast(0.25, 0.5)},
	{name: "finish and claim", callers: 64, op: (*client).finish, takes: true, base: "claim"},
	{name: "GET task of 60 kB", callers: 64, op: (*client).getLong},
	{name: "queue of 50", callers: 1, op: (*client).queue},
	{name: "queue of 50, deep", callers: 1, op: (*client).queueDeep, base: "queue of 50", share: atLeast(0.8, 0.95)},
	{name: "create", callers: 64, op: (*client).create, rate: atLeast(8_000, 18_000)},
}

// client sends requests to one server. Every caller has its own wire.
type client struct {
	host                          string
	other                         string    // another server on the same database, "" if there is none
	server                        *instance // nil: an external server
	gets                          [][]byte
	claimReq, createReq, emptyReq []byte
	mcpReq                        []byte
	queueReq, deepReq, longReq    []byte
	agent, auth                   string
	held                          sync.Map // by *wire: the ID of the task that its caller completes next
}

const createBody = `{"title":"a task of the bench","description":"%s","owner":"%s","start":false}`

// newClient prepares the requests. ids is the number of tasks on the server.
func newClient(host, token, agent string, inst *instance, ids int) *client {
	auth := "Authorization: Bearer " + token
	c := &client{host: host, server: inst, agent: agent, auth: auth}
	for id := 1; id <= ids; id++ {
		c.gets = append(c.gets, request("GET", fmt.Sprintf("/api/tasks/%d", id), host, "", auth))
	}
	c.emptyReq = request("GET", "/healthz", host, "")
	c.claimReq = request("POST", "/api/agents/"+agent+"/signup", host, "", auth)
	c.createReq = request("POST", "/api/tasks", host, fmt.Sprintf(createBody, description, agent), auth, "Content-Type: application/json")
	c.queueReq = request("GET", "/api/agents/"+agent+"/queue?limit=50", host, "", auth)
	c.mcpReq = request("POST", "/mcp", host, fmt.Sprintf(mcpBody, agent), auth,
		"Content-Type: application/json", "Accept: application/json, text/event-stream")
	return c
}

const mcpBody = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"signup_for_task","arguments":{"agent_name":"%s"}}}`

func (c *client) claimMCP(w *wire, _ int64) error {
	body, err := w.call(c.mcpReq)
	if err == nil && bytes.Contains(body, []byte(`"structuredContent":{"task":null}`)) {
		return errEmpty
	}
	return err
}

// finish completes the caller's task and claims the next; its first call only
// claims.
func (c *client) finish(w *wire, n int64) error {
	if _, ok := c.held.Load(w); !ok {
		if err := c.claim(w, n); err != nil {
			return err
		}
		return c.recordTask(w, w.body)
	}
	id, _ := c.held.Load(w)
	body, err := w.call(request("POST", "/api/agents/"+c.agent+"/complete-and-signup", c.host,
		fmt.Sprintf(`{"taskId":%q,"summary":"done"}`, id), c.auth, "Content-Type: application/json"))
	if err != nil {
		return err
	}
	_, next, _ := bytes.Cut(body, []byte(`"task":{`))
	return c.recordTask(w, next)
}

var idPrefix = []byte(`"id":"`)

// recordTask records the task of a caller: the first ID of an answer. Without one,
// the queue is empty.
func (c *client) recordTask(w *wire, answer []byte) error {
	_, rest, ok := bytes.Cut(answer, idPrefix)
	id, _, end := bytes.Cut(rest, []byte(`"`))
	if !ok || !end {
		c.held.Delete(w)
		return errEmpty
	}
	c.held.Store(w, string(id))
	return nil
}

// prepare creates what the rows request: a long task, and a cursor near the end
// of the queue.
func (c *client) prepare() error {
	w, err := dial(c.host)
	if err != nil {
		return err
	}
	defer w.close()
	text := strings.Repeat("A line of a long task.\\n", 2500)
	body, err := w.call(request("POST", "/api/tasks", c.host, fmt.Sprintf(createBody, text, c.agent),
		c.auth, "Content-Type: application/json"))
	if err != nil {
		return err
	}
	_, rest, _ := bytes.Cut(body, idPrefix)
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	last, err := strconv.Atoi(string(id))
	if err != nil {
		return fmt.Errorf("id of the long task: %w", err)
	}
	c.longReq = request("GET", "/api/tasks/"+string(id), c.host, "", c.auth)
	// All tasks have the same priority, so the cursor consists of that, an age
	// and an ID.
	deep := max(1, last-max(200, last/100))
	var at struct{ CreatedAt task.Time }
	if body, err = w.call(request("GET", "/api/tasks/"+strconv.Itoa(deep), c.host, "", c.auth)); err != nil {
		return err
	}
	if err := json.Unmarshal(body, &at); err != nil {
		return err
	}
	c.deepReq = request("GET", fmt.Sprintf("/api/agents/%s/queue?limit=50&after=0.%d.%d", c.agent, at.CreatedAt, deep), c.host, "", c.auth)
	return nil
}

// The rows with constant requests; see prepare for getLong and queueDeep.
func (c *client) empty(w *wire, _ int64) error     { return w.ask(c.emptyReq) }
func (c *client) create(w *wire, _ int64) error    { return w.ask(c.createReq) }
func (c *client) queue(w *wire, _ int64) error     { return w.ask(c.queueReq) }
func (c *client) queueDeep(w *wire, _ int64) error { return w.ask(c.deepReq) }
func (c *client) getLong(w *wire, _ int64) error   { return w.ask(c.longReq) }

func (c *client) get(w *wire, n int64) error {
	return w.ask(c.gets[n%int64(len(c.gets))])
}

func (c *client) claim(w *wire, _ int64) error {
	body, err := w.call(c.claimReq)
	if err == nil && bytes.Contains(body[:min(len(body), 20)], []byte(`"task":null`)) {
		return errEmpty
	}
	return err
}

// lap runs op with callers for d and returns the results and the server's CPU
// time per operation, 0 for an external server.
func (c *client) lap(callers int, d time.Duration, op func(*wire, int64) error) (lap, time.Duration, error) {
	var before, after time.Duration
	if c.server != nil {
		// The server closes a connection that is idle for 5 s.
		if err := c.server.settle(); err != nil {
			return lap{}, 0, err
		}
	}
	wires := make([]*wire, callers)
	for i := range wires {
		w, err := dial(c.host)
		if err != nil {
			return lap{}, 0, err
		}
		defer w.close()
		wires[i] = w
	}
	if c.server != nil {
		var err error
		if before, err = c.server.cpu(); err != nil {
			return lap{}, 0, err
		}
	}
	l, err := drive(callers, d, func(i int, n int64) error { return op(wires[i], n) })
	if err == nil && l.ops == 0 {
		err = errEmpty
	}
	if err != nil || c.server == nil {
		return l, 0, err
	}
	after, err = c.server.cpu()
	return l, (after - before) / time.Duration(l.ops), err
}

// measure runs all rows in rounds, so that each is compared with the empty
// handler of the same round.
func (c *client) measure(s *sheet, rows []httpRow, rounds int, d time.Duration) error {
	if err := c.prepare(); err != nil {
		return err
	}
	for range rounds {
		var unit time.Duration
		rates := map[string]float64{}
		for _, r := range rows {
			long := d
			if r.takes {
				long = d / 2
			}
			l, cpu, err := c.lap(r.callers, long, func(w *wire, n int64) error { return r.op(c, w, n) })
			if err != nil {
				return fmt.Errorf("HTTP %s: %w", r.name, err)
			}
			name := fmt.Sprintf("HTTP %s, %d callers", r.name, r.callers)
			if r.callers == 1 {
				name = strings.TrimSuffix(name, "s")
			}
			s.add(name, "/s", r.rate, l.rate())
			s.add(name+": p50", "ms", r.p50, millis(l.percentile(0.5)))
			s.add(name+": p99", "ms", r.p99, millis(l.percentile(0.99)))
			if r.syncs != none && c.server != nil {
				sync, err := syncTime(c.server.data)
				if err != nil {
					return err
				}
				s.add(name+": p50 in fsyncs", "", r.syncs, float64(l.percentile(0.5))/float64(sync))
			}
			rates[r.name] = l.rate()
			if r.base != "" {
				s.add(name+": against "+r.against(), "", r.share, l.rate()/rates[r.base])
			}
			if c.server == nil {
				continue
			}
			s.add(name+": CPU", "µs", none, float64(cpu.Nanoseconds())/1000)
			if unit == 0 {
				unit = cpu
				continue
			}
			s.add(name+": CPU in empty handlers", "", r.units, float64(cpu)/float64(unit))
		}
	}
	return nil
}

// checkURL returns the host of -url.
func checkURL(url string) (string, error) {
	host, ok := strings.CutPrefix(strings.TrimSuffix(url, "/"), "http://")
	if !ok || host == "" || strings.Contains(host, "/") {
		return "", errors.New("-url must look like http://127.0.0.1:8080")
	}
	return host, nil
}
