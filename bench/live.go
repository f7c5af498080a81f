package main

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	browsers = 200 // open live pages
	liveTask = "1" // the task on all pages
)

// measureLive opens the live streams of many browsers, changes a task, and
// measures how long after the request each of them is notified, and has
// refetched the board. (A real browser waits 100 ms before it refetches, so
// that a burst of changes causes one request.) If the client has another
// server, the changes are sent there.
func (c *client) measureLive(s *sheet, token, cookie string, changes int) error {
	heard, fetched := make(chan time.Time, browsers), make(chan time.Time, browsers)
	page := request("GET", "/queues", c.host, "", "Cookie: "+cookie, "Accept-Encoding: gzip")
	var streams sync.WaitGroup
	wires, boards := make([]*wire, browsers), make([]*wire, browsers)
	defer func() {
		for _, w := range wires {
			if w != nil {
				w.close()
			}
		}
		streams.Wait()
	}()
	for i := range wires {
		w, err := c.openStream(cookie)
		if err != nil {
			return err
		}
		wires[i] = w
		streams.Go(func() { listen(w, heard) })
		board, err := dial(c.host)
		if err != nil {
			return err
		}
		defer board.close()
		boards[i] = board
	}
	changed, bound, where := c.host, atMost(250, 50), ""
	if c.other != "" {
		changed, bound, where = c.other, atMost(100, 50), " on another server"
	}
	w, err := dial(changed)
	if err != nil {
		return err
	}
	defer w.close()
	req := request("POST", "/api/tasks/"+liveTask+"/comments", changed, `{"content":"a change"}`,
		"Authorization: Bearer "+token, "Content-Type: application/json")
	var l, drawn lap
	get := func(i int) {
		if _, err := boards[i].call(page); err == nil {
			fetched <- time.Now()
		}
	}
	for range changes {
		begin := time.Now()
		if err := w.ask(req); err != nil {
			return err
		}
		if err := l.browsers(begin, heard, "hear of a change", func(i int) { go get(i) }); err != nil {
			return err
		}
		if err := drawn.browsers(begin, fetched, "get the board", func(int) {}); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("a change%s until %d open browsers know it", where, browsers)
	s.add(name+": p50", "ms", none, millis(l.percentile(0.5)))
	s.add(name+": p99", "ms", bound, millis(l.percentile(0.99)))
	s.add(fmt.Sprintf("a change%s until %d browsers have the new board: p99", where, browsers), "ms", none, millis(drawn.percentile(0.99)))
	return nil
}

// browsers records how long after begin each browser does something, which it
// reports on done; then is called for each.
func (l *lap) browsers(begin time.Time, done <-chan time.Time, what string, then func(i int)) error {
	for i := range browsers {
		select {
		case at := <-done:
			l.took = append(l.took, at.Sub(begin))
			then(i)
		case <-time.After(10 * time.Second):
			return errors.New("a browser did not " + what + " within 10 s")
		}
	}
	return nil
}

// openStream opens a stream and waits for its first message, after which it
// receives every change.
func (c *client) openStream(cookie string) (*wire, error) {
	w, err := dial(c.host)
	if err != nil {
		return nil, err
	}
	if _, err := w.conn.Write(request("GET", "/live?topics=task:"+liveTask, c.host, "", "Cookie: "+cookie)); err != nil {
		w.close()
		return nil, err
	}
	a, _, err := w.head()
	if err == nil && a.status != 200 {
		err = fmt.Errorf("GET /live: %d", a.status)
	}
	for hello := false; err == nil && !hello; {
		var line []byte
		line, err = w.r.ReadSlice('\n')
		hello = bytes.HasPrefix(line, []byte("data:"))
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// listen sends the arrival time of each message, until the stream ends.
func listen(w *wire, heard chan<- time.Time) {
	for {
		line, err := w.r.ReadSlice('\n')
		if err != nil {
			return
		}
		if bytes.HasPrefix(line, []byte("data:")) {
			heard <- time.Now()
		}
	}
}
