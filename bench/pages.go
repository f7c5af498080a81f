package main

import (
	"bytes"
	"fmt"
	"net/url"
	"time"
)

// boardCards is how many cards a signed-in person sees of two long queues: two
// full columns.
const boardCards = 50

// measureBoard measures the board, and the cost of a session for a request that
// does nothing else.
func (c *client) measureBoard(s *sheet, what, cookie string, rounds int, d time.Duration) error {
	page := request("GET", "/queues", c.host, "", "Cookie: "+cookie)
	if err := c.checkBoard(page); err != nil {
		return err
	}
	for range rounds {
		_, unit, err := c.lap(16, d/2, c.empty)
		if err != nil {
			return err
		}
		l, cpu, err := c.lap(16, d, func(w *wire, _ int64) error { return w.ask(page) })
		if err != nil {
			return err
		}
		name := fmt.Sprintf("queue page, %d cards, %s", boardCards, what)
		s.add(name, "/s", none, l.rate())
		s.add(name+": CPU", "ms", atMost(5, 1), float64(cpu.Nanoseconds())/1e6)
		s.add(name+": CPU in empty handlers", "", atMost(25, 6), float64(cpu)/float64(unit))
	}
	return nil
}

// checkBoard starts work on one of the queues, and verifies that the page
// contains what the row says.
func (c *client) checkBoard(page []byte) error {
	w, err := dial(c.host)
	if err != nil {
		return err
	}
	defer w.close()
	for range 3 {
		if err := c.claim(w, 0); err != nil {
			return err
		}
	}
	body, err := w.call(page)
	if err != nil {
		return err
	}
	if n := bytes.Count(body, []byte(` data-row `)); n != boardCards {
		return fmt.Errorf("the queue page shows %d cards, not %d", n, boardCards)
	}
	return nil
}

// measureSession compares an anonymous request with the same request of a
// person.
func (c *client) measureSession(s *sheet, cookie string, rounds int, d time.Duration) error {
	reqs := [][]byte{c.emptyReq, request("GET", "/readyz", c.host, ""), request("GET", "/readyz", c.host, "", "Cookie: "+cookie)}
	for range rounds {
		var cpu [3]time.Duration
		for i, req := range reqs {
			var err error
			if _, cpu[i], err = c.lap(64, d, func(w *wire, _ int64) error { return w.ask(req) }); err != nil {
				return err
			}
		}
		s.add("session check: CPU in empty handlers", "", atMost(3, 0.3), float64(cpu[2]-cpu[1])/float64(cpu[0]))
	}
	return nil
}

// searches are typical searches in the history; see words for the frequency of
// each word.
var searches = []struct {
	name, query string
	aim         target
}{
	{"rare word", rareWord, atMost(100, 20)},
	{"common word", commonWord, atMost(100, 20)},
	{"two words", pairA + " " + pairB, atMost(100, 20)},
	{"two common words", commonWord + " " + pairA, atMost(100, 20)},
	{"two common words that never meet", apartA + " " + apartB, none},
}

// measureSearch requests the newest 50 matches, one caller after another.
func (c *client) measureSearch(s *sheet, token string, size int, d time.Duration) error {
	for _, q := range searches {
		req := request("GET", "/api/tasks/history?limit=50&q="+url.QueryEscape(q.query), c.host, "", "Authorization: Bearer "+token)
		l, _, err := c.lap(1, d, func(w *wire, _ int64) error { return w.ask(req) })
		if err != nil {
			return fmt.Errorf("search for a %s: %w", q.name, err)
		}
		s.add(fmt.Sprintf("search in %s archived tasks, %s: p95", number(float64(size)), q.name), "ms", q.aim, millis(l.percentile(0.95)))
	}
	return nil
}
