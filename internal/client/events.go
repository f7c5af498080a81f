package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"taskyard/internal/sleep"
	"taskyard/task"
)

// Events is the command for the log.
type Events struct {
	Follow bool     `short:"f" help:"Print what happens from now on, until interrupted; reconnects when the server is back."`
	After  string   `help:"Start after this event (default: now with --follow, otherwise the beginning)." placeholder:"ID"`
	Limit  int      `help:"Without --follow: maximum number of events (1 to 500; default 100)." placeholder:"N"`
	JSON   JSONFlag `name:"json" help:"Print the server's JSON answer; with --follow, one event per line."`
}

// Limits for following the log.
const (
	readTimeout = 45 * time.Second // the server sends something every 15 s
	firstPause  = 200 * time.Millisecond
	longPause   = 5 * time.Second
	maxLine     = 4 << 20 // bytes
)

// Run prints a page of the log, or follows it.
func (c *Events) Run(e *Env) error {
	if c.Follow {
		return e.follow(c.After)
	}
	type page struct {
		Events []task.Event
		Next   string
	}
	return printCall(e, "GET", params{}.set("after", c.After).num("limit", c.Limit).appendTo("/api/events"), nil, func(p *page) {
		for _, ev := range p.Events {
			e.sayEvent(&ev)
		}
		e.more("--after", p.Next)
	})
}

func (e *Env) sayEvent(ev *task.Event) {
	about := []string{}
	if ev.TaskID != 0 {
		about = append(about, hash(ev.TaskID))
	}
	if ev.RunID != 0 {
		about = append(about, "run "+ev.RunID.String())
	}
	if ev.Agent != "" {
		about = append(about, ev.Agent)
	}
	line := fmt.Sprintf("%s  %s  %s  %s  %s", ev.At.Std().Format("15:04:05Z"), ev.Kind, ev.Actor, strings.Join(about, " "), ev.Changes)
	e.say("%s", e.oneLine(strings.TrimRight(line, " ")))
}

// follow prints events as they arrive, each once. If the stream breaks, it
// reconnects after the last event. The first connection must succeed.
func (e *Env) follow(after string) error {
	c, err := e.api()
	if err != nil {
		return err
	}
	pause, connected := firstPause, false
	for {
		opened, err := e.stream(c, &after)
		var halt *printError
		switch {
		case e.Ctx.Err() != nil:
			return nil // interrupted: the normal end
		case errors.As(err, &halt):
			return halt.error
		case opened:
			pause, connected = firstPause, true
		case !connected || !isTemporary(err):
			return err
		}
		if !sleep.For(e.Ctx, pause) {
			return nil
		}
		pause = min(2*pause, longPause)
	}
}

// isTemporary reports whether an error may be temporary.
func isTemporary(err error) bool {
	var unreachable *UnreachableError
	var r *ResponseError
	return errors.As(err, &unreachable) || errors.As(err, &r) &&
		(r.Status >= http.StatusInternalServerError || r.Status == http.StatusTooManyRequests)
}

// printError is an error of our own output, after which reconnecting is
// pointless.
type printError struct{ error }

// stream reads one connection to its end, and reports whether it was
// established. It advances after.
func (e *Env) stream(c *Client, after *string) (opened bool, err error) {
	ctx, cancel := context.WithCancel(e.Ctx)
	defer cancel()
	watch := time.AfterFunc(readTimeout, cancel)
	defer watch.Stop()
	req, err := c.request(ctx, http.MethodGet, "/api/events", nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if *after != "" {
		req.Header.Set("Last-Event-ID", *after)
	}
	_, hc := c.connect()
	res, err := hc.Do(req)
	if err != nil {
		return false, &UnreachableError{URL: c.URL, Err: err}
	}
	defer res.Body.Close()
	if err := c.refused(res); err != nil {
		return false, err
	}
	return true, e.messages(res.Body, after, func() { watch.Reset(readTimeout) })
}

// messages prints the events of a stream. An event counts as read after its
// final blank line.
func (e *Env) messages(stream io.Reader, after *string, alive func()) error {
	sc := bufio.NewScanner(stream)
	sc.Buffer(nil, maxLine)
	id, data := *after, ""
	for sc.Scan() {
		alive()
		name, value, _ := strings.Cut(sc.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case sc.Text() == "":
			if data != "" {
				if err := e.event(data); err != nil {
					return &printError{err}
				}
			}
			*after, data = id, ""
		case name == "id":
			id = value
		case name == "data":
			data = value
		}
	}
	return sc.Err()
}

// event prints one event.
func (e *Env) event(data string) error {
	if e.JSON {
		_, err := fmt.Fprintln(e.Stdout, data)
		return err
	}
	var ev task.Event
	if err := json.Unmarshal([]byte(data), &ev); err != nil {
		return err
	}
	e.sayEvent(&ev)
	return nil
}
