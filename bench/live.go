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
	liveTask = "1" // the task that they all show
)

// measureLive opens the live streams of many browsers, changes a task, and
// measures how long after the request was sent each of them has heard of it.
func (c *client) measureLive(s *sheet, token, cookie string, changes int) error {
	heard := make(chan time.Time, browsers)
	var streams sync.WaitGroup
	wires := make([]*wire, browsers)
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
	}
	w, err := dial(c.host)
	if err != nil {
		return err
	}
	defer w.close()
	req := request("POST", "/api/tasks/"+liveTask+"/comments", c.host, `{"content":"a change"}`, "Authorization: Bearer "+token, "Content-Type: application/json")
	var l lap
	for range changes {
		begin := time.Now()
		if _, err := w.call(req); err != nil {
			return err
		}
		for range browsers {
			select {
			case at := <-heard:
				l.took = append(l.took, at.Sub(begin))
			case <-time.After(10 * time.Second):
				return errors.New("a browser did not hear of a change within 10 s")
			}
		}
	}
	name := fmt.Sprintf("a change until %d open browsers know it", browsers)
	s.add(name+": p50", "ms", none, millis(l.percentile(0.5)))
	s.add(name+": p99", "ms", atMost(250, 50), millis(l.percentile(0.99)))
	return nil
}

// openStream opens a stream and waits for its first message, from which on it
// hears of every change.
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

// listen tells when each message came, until the stream ends.
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
