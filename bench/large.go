package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"taskyard/db/dbfill"
)

// largeCase is an instance that is large in one way, with the requests to
// measure.
type largeCase struct {
	name   string // of its size
	size   dbfill.Size
	agents int    // in addition to those of a year
	first  target // time of the first page after a start, in ms
	pages  []largePage
}

// largePage is a page with the CPU time that it may take, in ms, and its
// uncompressed size in kB.
type largePage struct {
	path  string
	cpu   target
	bytes target
}

// largeCases are typical requests of people and monitors to large instances.
// Lists name no agent, so that each could read all tasks.
func (b *bench) largeCases() []largeCase {
	n := func(tasks int) int {
		if b.quick {
			return max(tasks/50, 1000)
		}
		return tasks
	}
	year := func(open, archived int) dbfill.Size {
		return dbfill.Size{Open: n(open), Archived: n(archived), Approvals: n(open) / 100, Subtasks: 1000, Comments: 2000, Lines: 1000}
	}
	named := func(tasks int, what string) string { return number(float64(n(tasks))) + " " + what }
	home, list := atMost(2, 1), atMost(20, 5)
	return []largeCase{
		{
			name: named(100_000, "open"), size: year(100_000, 10_000), pages: []largePage{
				{"/", home, none}, {"/?only=question", home, none}, {"/queues", none, none},
			},
		},
		{
			name: named(1_290_000, "open"), size: year(1_290_000, 1000), pages: []largePage{
				{"/", none, none},
				{"/tasks", list, none},
				{"/tasks?sort=id", list, none},
				{"/tasks?sort=age", list, none},
				{"/tasks?sort=-changed", list, none},
				{"/tasks?sort=title", list, none},
				{"/tasks?sort=priority", list, none},
				{"/tasks?status=working", list, none},
				{"/tasks?status=waiting", list, none},
				{"/tasks?status=failed", list, none},
				{"/tasks?status=failed&agent=coder", list, none},
				{"/tasks?status=draft", list, none},
				{"/tasks?blocked=yes", list, none},
				{"/tasks?label=none-has-it", atMost(30, 10), none},
				{"/tasks?q=nobodysaysthis", atMost(30, 10), none},
			},
		},
		{
			name: named(1_000_000, "archived"), size: year(1000, 1_000_000), pages: []largePage{
				{"/metrics", atMost(5, 2), none}, {"/settings/about", atMost(5, 2), none}, {"/history?by=user:maya", atMost(10, 3), none},
			},
		},
		{
			name: "1,000 agents", size: year(10_000, 10_000), agents: 1000 - len(yearAgents), pages: []largePage{
				{"/queues", atMost(20, 10), atMost(500, 250)}, {"/agents", none, none}, {"/settings", none, none},
			},
		},
	}
}

// large measures all cases, one after another; each instance is deleted before
// the next.
func (b *bench) large(ctx context.Context) error {
	for _, c := range b.largeCases() {
		agents := yearAgents[:len(yearAgents):len(yearAgents)]
		for i := range c.agents {
			agents = append(agents, fmt.Sprintf("agent-%04d", i))
		}
		inst, m, err := b.yearInstance(ctx, "large", c.size, agents)
		if err == nil {
			_, err = inst.start(ctx)
		}
		if err != nil {
			return err
		}
		err = b.onYear(ctx, inst, func(y *yearClient) error {
			y.open = m.Open
			if err := b.largePages(y, inst, c); err != nil {
				return err
			}
			return b.firstPages(ctx, y, inst, c)
		})
		if err := errors.Join(err, inst.stop(), os.RemoveAll(inst.data)); err != nil {
			return err
		}
	}
	return nil
}

// largeTries is how often each page is requested per round. The minimum counts,
// because other programs on the machine only add to it.
const largeTries = 5

func (b *bench) largePages(c *yearClient, inst *instance, of largeCase) error {
	for range b.rounds {
		for _, p := range of.pages {
			f := &pageFigure{Path: p.path}
			least := time.Duration(0)
			for range largeTries {
				took, err := c.askPage(inst, f)
				if err != nil {
					return err
				}
				if least == 0 || took < least {
					least = took
				}
			}
			name := of.name + ": " + p.path
			b.sheet.add(name+": CPU", "ms", p.cpu, millis(least))
			b.sheet.add(name+": size", "kB", p.bytes, float64(f.Bytes)/1000)
			b.sheet.add(name+": on the wire, compressed", "kB", none, float64(f.Wire)/1000)
		}
	}
	return nil
}

// firstPages restarts the server in each round and requests the inbox at once.
func (b *bench) firstPages(ctx context.Context, c *yearClient, inst *instance, of largeCase) error {
	for range b.rounds {
		if err := inst.stop(); err != nil {
			return err
		}
		if _, err := inst.start(ctx); err != nil {
			return err
		}
		w, err := dial(inst.addr)
		if err != nil {
			return err
		}
		begin := time.Now()
		err = w.ask(request("GET", "/", inst.addr, "", "Cookie: "+c.cookie, "Accept: text/html"))
		took := time.Since(begin)
		w.close()
		if err != nil {
			return err
		}
		b.sheet.add(of.name+": first page after a start", "ms", of.first, millis(took))
	}
	return nil
}
