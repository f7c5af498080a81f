package client

import (
	"cmp"
	"strings"

	"taskyard/task"
)

// TaskCreate creates a task.
type TaskCreate struct {
	Title       string   `arg:"" help:"What to do, in 1 to 200 characters; - reads it from stdin."`
	Owner       string   `help:"Owner of the task (default: TASKYARD_AGENT, or the agent of the token)." placeholder:"AGENT" complete:"agent"`
	Description string   `short:"d" help:"Markdown; - reads it from stdin." placeholder:"TEXT"`
	Priority    int      `short:"p" help:"Priority; higher runs first (default 0). Write a negative one as --priority=-5." placeholder:"N"`
	Draft       bool     `help:"Create it as a draft, which no agent works on yet."`
	NoStart     bool     `help:"Do not wake the owner."`
	Step        []string `help:"A step of the plan; may be repeated." placeholder:"TITLE" sep:"none"`
	Resource    []string `help:"A URL or an absolute path to attach; may be repeated." placeholder:"URL" sep:"none"`
	Label       []string `help:"A label; may be repeated."`
	BlockedBy   []string `help:"A task that must be done first; may be repeated." placeholder:"ID" complete:"task"`
	Channel     string   `help:"Channel of the thread (default web)."`
	Project     string   `help:"Project of the task." placeholder:"KEY" complete:"project"`
	Demanded
	TextFile
	Quiet
}

// Run creates the task.
func (c *TaskCreate) Run(e *Env) error {
	body, err := c.body(e)
	if err != nil {
		return err
	}
	return e.act("", "", body, func(t *task.Task) { e.sayTask("created", t, c.Quiet.Quiet) })
}

func (c *TaskCreate) body(e *Env) (map[string]any, error) {
	title, err := e.text(c.Title, "")
	if err != nil {
		return nil, err
	}
	if c.Title == "-" && (c.Description == "-" || c.File == "-") {
		return nil, usagef("stdin is either the title or the description")
	}
	description, err := e.text(c.Description, c.File)
	if err != nil {
		return nil, err
	}
	owner, err := e.agent("with --owner", c.Owner)
	if err != nil {
		return nil, err
	}
	blockers, err := parseIDs(c.BlockedBy)
	if err != nil {
		return nil, err
	}
	body := payload{"title": title, "owner": owner}.
		text("description", description).text("channel", c.Channel).text("project", c.Project).list("labels", c.Label).list("blockedBy", blockers)
	if c.Priority != 0 {
		body["priority"] = c.Priority
	}
	if c.Draft {
		body["status"] = task.Draft
	}
	if c.NoStart {
		body["start"] = false
	}
	if len(c.Step) > 0 {
		body["steps"] = stepsFromLines(c.Step)
	}
	if len(c.Resource) > 0 {
		var list []map[string]any
		for _, r := range c.Resource {
			list = append(list, newResource(r, ""))
		}
		body["resources"] = list
	}
	return body, c.put(body, nil)
}

// payload holds the fields of a request; fields that were not given are
// omitted.
type payload map[string]any

func (b payload) text(name, value string) payload {
	if value != "" {
		b[name] = value
	}
	return b
}

func (b payload) list(name string, values []string) payload {
	if len(values) > 0 {
		b[name] = values
	}
	return b
}

func parseIDs(list []string) ([]string, error) {
	out := make([]string, len(list))
	for i, s := range list {
		id, err := parseID(s)
		if err != nil {
			return nil, err
		}
		out[i] = id
	}
	return out, nil
}

// newResource returns a file for an absolute path, and a URL for anything else.
func newResource(value, label string) map[string]any {
	kind := "url"
	if strings.HasPrefix(value, "/") {
		kind = "file"
	}
	return payload{"type": kind, "value": value}.text("label", label)
}

// sayTask prints the state of a task on one line.
func (e *Env) sayTask(what string, t *task.Task, quiet bool) {
	if quiet {
		e.say("%s", t.ID)
		return
	}
	e.say("%s %s for %s: %s", what, hash(t.ID), printable(t.Owner), printable(t.Title))
}

// TaskUpdate changes fields of a task.
type TaskUpdate struct {
	OneTask
	Title       *string  `help:"New title."`
	Description *string  `short:"d" help:"New description; - reads it from stdin." placeholder:"TEXT"`
	Priority    *int     `short:"p" help:"New priority. Write a negative one as --priority=-5." placeholder:"N"`
	Owner       *string  `help:"New owner; the task must be idle." placeholder:"AGENT" complete:"agent"`
	Status      *string  `help:"draft, active, done, canceled; or working (claim it), idle (release it), complete." complete:"active,done,canceled,working,idle,complete"`
	Label       []string `help:"Replace the labels; may be repeated." xor:"labels"`
	NoLabels    bool     `help:"Remove all labels." xor:"labels"`
	Project     *string  `help:"New project; an empty one takes the task out of its project." placeholder:"KEY" complete:"project"`
	Demanded
	Version int64 `help:"Fail if the task no longer has this version." placeholder:"N"`
	TextFile
}

// Run changes the task.
func (c *TaskUpdate) Run(e *Env) error {
	id, err := e.id(c.ID)
	if err != nil {
		return err
	}
	body := map[string]any{}
	if c.Description != nil || c.File != "" {
		given := ""
		if c.Description != nil {
			given = *c.Description
		}
		if body["description"], err = e.text(given, c.File); err != nil {
			return err
		}
	}
	put(body, "title", c.Title)
	put(body, "priority", c.Priority)
	put(body, "owner", c.Owner)
	put(body, "status", c.Status)
	put(body, "project", c.Project)
	if c.NoLabels || len(c.Label) > 0 {
		body["labels"] = append([]string{}, c.Label...)
	}
	if c.changesPolicy() {
		var now task.Task
		if _, err := e.call("GET", "/api/tasks/"+id, nil, &now); err != nil {
			return err
		}
		if err := c.put(body, now.Policy); err != nil {
			return err
		}
		c.Version = cmp.Or(c.Version, now.Version)
	} else if err := c.put(body, nil); err != nil {
		return err
	}
	if len(body) == 0 {
		return usagef("say what to change, such as --priority 5")
	}
	if c.Version != 0 {
		body["version"] = c.Version
	}
	return e.change("PATCH", id, "", body, func(t *task.Task) { e.sayTask("changed", t, false) })
}

// put sets a field if it was given.
func put[T any](body map[string]any, name string, value *T) {
	if value != nil {
		body[name] = *value
	}
}
