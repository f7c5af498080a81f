package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"taskyard/db"
	"taskyard/db/dbfill"
	"taskyard/task"
)

// yearAgents own the tasks of an instance with a year of work. Their runner
// needs a worker, which never connects, so that the instance does not change.
var yearAgents = []string{
	"coder", "planner", "reviewer", "researcher", "tester", "writer", "translator", "designer", "releaser",
	"keeper", "support", "analyst", "auditor", "builder", "scout", "painter",
}

const (
	farAgent = "---\nname: %s\ndescription: Does the part of the work that is called %[1]s.\ntools: " +
		"read, grep, edit, bash, task\nrunner: far\ntimeout: 15m\n---\nWork through the plan one step " +
		"after the other. Run the tests before you say that something works.\n"
	farConfig = "log.level = \"warn\"\n[scheduler]\ncron = \"0 5 1 1 *\"\n[backup]\ncron = \"0 5 1 1 *\"\n[runners.far]\nkind = \"worker\"\n"
)

// yearSize returns the size for measuring pages.
func (b *bench) yearSize() dbfill.Size {
	s := dbfill.Size{Open: 10_000, Archived: 100_000, Approvals: 1000, Subtasks: 1000, Comments: 2000, Lines: 10_000}
	if b.quick {
		s.Archived = 10_000
	}
	return s
}

// yearInstance creates an instance with a year of work.
func (b *bench) yearInstance(ctx context.Context, folder string, s dbfill.Size, agents []string) (*instance, dbfill.Marks, error) {
	begin := time.Now()
	inst, err := newInstance(b.bin, filepath.Join(b.folder, folder), nil)
	if err != nil {
		return nil, dbfill.Marks{}, err
	}
	for _, a := range agents {
		if err := inst.write(filepath.Join("agents", a+".md"), fmt.Sprintf(farAgent, a)); err != nil {
			return nil, dbfill.Marks{}, err
		}
	}
	if err := inst.write("taskyard.toml", farConfig); err != nil {
		return nil, dbfill.Marks{}, err
	}
	var m dbfill.Marks
	err = inst.fill(ctx, nil, func(*db.DB) error { return nil }) // creates the schema
	if err == nil {
		m, err = dbfill.Year(ctx, filepath.Join(inst.data, "taskyard.db"), s, agents, time.Now())
	}
	if err == nil {
		err = inst.fill(ctx, nil, func(d *db.DB) error { return errors.Join(catchUp(ctx, d), catchUpOpen(ctx, d)) })
	}
	if err != nil {
		return nil, m, err
	}
	b.progress("%d open and %d archived tasks written and indexed in %.1f s", s.Open, s.Archived, time.Since(begin).Seconds())
	return inst, m, nil
}

// yearPages returns the pages that people open, each in its most expensive
// state.
func yearPages(m dbfill.Marks) []string {
	at := func(before string, id task.ID, after string) string { return before + id.String() + after }
	return []string{
		"/", "/?only=question", "/queues", "/queues/coder", "/queues?q=limiter",
		"/queues?status=waiting", "/tasks?status=failed",
		"/tasks", "/tasks?sort=title", "/tasks?sort=-changed", "/tasks?status=waiting", "/tasks?agent=coder&priority=5",
		"/tasks?label=api-3", "/tasks?q=retry+policy", "/tasks?blocked=yes&sort=age", "/tasks/new",
		at("/tasks/", m.Much, ""), at("/tasks/", m.Much, "/cancel"), at("/tasks/", m.Sub, ""),
		at("/tasks/", m.Open, ""), at("/tasks/", m.Asking, ""), at("/tasks/", m.Archived, ""),
		"/approvals", at("/approvals/", m.Approval, ""), "/runs", "/runs?status=failed",
		"/runs?agent=coder&status=running", at("/runs?task=", m.Much, ""),
		at("/runs/", m.LongRun, ""), at("/runs/", m.LongLive, ""), at("/runs/", m.FailedRun, ""), at("/runs/", m.LongRun, "/diff"),
		"/history", "/history?agent=coder&status=canceled", "/history?q=quokka", "/history?q=the+rate+limiter",
		"/history?q=bucket&agent=writer", "/history?q=re",
		"/agents", "/agents/coder", "/agents/coder/edit", "/scheduler", "/views",
		"/settings", "/settings/people", "/settings/tokens", "/settings/limits", "/settings/about", "/api/docs",
	}
}

// pages measures every page of an instance with a year of work.
func (b *bench) pages(ctx context.Context, start func(*instance, context.Context) (time.Duration, error)) error {
	inst, m, err := b.yearInstance(ctx, "year", b.yearSize(), yearAgents)
	if err != nil {
		return err
	}
	if _, err := start(inst, ctx); err != nil {
		return err
	}
	return errors.Join(b.onYear(ctx, inst, func(c *yearClient) error {
		c.open = m.Open
		return b.measurePages(c, inst, yearPages(m))
	}), inst.stop())
}

// yearClient is a person who views pages, and a program that makes changes.
type yearClient struct {
	look, act    *wire
	cookie, auth string
	host         string
	open         task.ID // the task to change
	priority     int     // its priority
}

func (b *bench) onYear(ctx context.Context, inst *instance, fn func(*yearClient) error) error {
	token, err := inst.token(ctx)
	if err != nil {
		return err
	}
	c := &yearClient{priority: 1, host: inst.addr, auth: "Authorization: Bearer " + token}
	if c.cookie, err = inst.session(ctx, "admin"); err != nil {
		return err
	}
	if c.look, err = dial(inst.addr); err != nil {
		return err
	}
	defer c.look.close()
	if c.act, err = dial(inst.addr); err != nil {
		return err
	}
	defer c.act.close()
	return fn(c)
}

// change changes a task, so that all caches are invalid. It does not add a
// comment, because a token may not write as many per minute.
func (c *yearClient) change() error {
	c.priority = 3 - c.priority
	_, err := c.act.call(request("PATCH", "/api/tasks/"+c.open.String(), c.host,
		fmt.Sprintf(`{"priority":%d}`, c.priority), c.auth, "Content-Type: application/json"))
	return err
}
