package client

import (
	"cmp"
	"strconv"
	"strings"

	"taskyard/internal/lazyregexp"
	"taskyard/task"
)

// TaskSteps sets the plan.
type TaskSteps struct {
	OneTask
	Step []string `help:"Title of a step; may be repeated. Without it and --file, stdin is read." placeholder:"TITLE" sep:"none"`
	TextFile
}

// Run replaces the whole plan.
func (c *TaskSteps) Run(e *Env) error {
	if c.ID == "-" { // "steps - < plan" means stdin
		c.ID = ""
	}
	id, err := e.id(c.ID)
	if err != nil {
		return err
	}
	lines := c.Step
	switch {
	case len(c.Step) > 0 && c.File != "":
		return usagef("give the plan once: by --step, or with --file")
	case len(c.Step) == 0:
		text, err := e.text("", cmp.Or(c.File, "-"))
		if err != nil {
			return err
		}
		lines = strings.Split(text, "\n")
	}
	steps := stepsFromLines(lines)
	if len(steps) == 0 {
		return usagef("the plan is empty: give one step per line")
	}
	return e.change("PUT", id, "/steps", map[string]any{"steps": steps}, e.stepLines)
}

// listMark matches the beginning of a line in a Markdown list.
var listMark = lazyregexp.New(`^(?:[-*](?: |$)|\d+[.)] )?\s*(?:\[([ xX])\] )?\s*`)

// stepsFromLines converts each non-blank line to a step. Markdown list markers
// are dropped, and [x] ticks the step.
func stepsFromLines(lines []string) []map[string]any {
	var steps []map[string]any
	for _, l := range lines {
		l = strings.TrimSpace(l)
		m := listMark().FindStringSubmatch(l)
		if title := strings.TrimSpace(l[len(m[0]):]); title != "" {
			step := map[string]any{"title": title}
			if strings.EqualFold(m[1], "x") {
				step["done"] = true
			}
			steps = append(steps, step)
		}
	}
	return steps
}

// TaskStep changes one step.
type TaskStep struct {
	First   string  `arg:"" name:"id" help:"ID of the task; optional within a run." complete:"task"`
	Second  string  `arg:"" optional:"" name:"index" help:"Index of the step, counted from 0."`
	Done    bool    `help:"Mark the step as done." xor:"done"`
	Undone  bool    `help:"Mark the step as not done." xor:"done"`
	Title   *string `help:"New title."`
	Details *string `help:"New details; - reads them from stdin." placeholder:"TEXT"`
}

// Run changes the step.
func (c *TaskStep) Run(e *Env) error {
	id, index, err := e.taskAndIndex(c.First, c.Second)
	if err != nil {
		return err
	}
	body := map[string]any{}
	put(body, "title", c.Title)
	if c.Details != nil {
		if body["details"], err = e.text(*c.Details, ""); err != nil {
			return err
		}
	}
	if c.Done || c.Undone {
		body["done"] = c.Done
	}
	if len(body) == 0 {
		return usagef("say what to change: --done, --undone, --title or --details")
	}
	return e.change("PATCH", id, "/steps/"+index, body, e.stepLines)
}

// TaskAddStep adds a step.
type TaskAddStep struct {
	TaskText
	At      *int    `help:"Index of the step before which it comes, counted from 0 (default: at the end)." placeholder:"INDEX"`
	Details *string `help:"Details." placeholder:"TEXT"`
}

// Run adds the step.
func (c *TaskAddStep) Run(e *Env) error {
	id, title, err := e.taskAndText(c.ID, c.Text, c.TextFile)
	if err != nil {
		return err
	}
	body := map[string]any{"title": title}
	put(body, "index", c.At)
	put(body, "details", c.Details)
	return e.change("POST", id, "/steps", body, e.stepLines)
}

// taskAndIndex parses a task ID and the index of a step; a single argument is
// an index in the run's own task.
func (e *Env) taskAndIndex(first, second string) (id, index string, err error) {
	if second == "" {
		first, second = "", first
	}
	return e.idAndIndex(first, second)
}

func (e *Env) idAndIndex(first, second string) (id, index string, err error) {
	if n, err := strconv.Atoi(second); err != nil || n < 0 {
		return "", "", usagef("%q is not the index of a step: the first is 0", second)
	}
	id, err = e.id(first)
	return id, second, err
}

// TaskSubtask creates a subtask.
type TaskSubtask struct {
	First       string `arg:"" name:"id" help:"ID of the task; optional within a run." complete:"task"`
	Second      string `arg:"" name:"index" help:"Index of the step, counted from 0."`
	Third       string `arg:"" optional:"" name:"title" help:"What to do; - reads it from stdin."`
	Owner       string `help:"Owner (default: the caller)." placeholder:"AGENT" complete:"agent"`
	Description string `short:"d" help:"Markdown; - reads it from stdin." placeholder:"TEXT"`
	Priority    int    `short:"p" help:"Priority; higher runs first (default 0)." placeholder:"N"`
	TextFile
	Quiet
}

// Run creates the subtask and links it to the step.
func (c *TaskSubtask) Run(e *Env) error {
	first, second, title := c.First, c.Second, c.Third
	if title == "" {
		first, second, title = "", c.First, c.Second
	}
	id, index, err := e.idAndIndex(first, second)
	if err != nil {
		return err
	}
	if title, err = e.text(title, ""); err != nil {
		return err
	}
	description, err := e.text(c.Description, c.File)
	if err != nil {
		return err
	}
	b := payload{"title": title}.text("owner", c.Owner).text("description", description)
	if c.Priority != 0 {
		b["priority"] = c.Priority
	}
	return e.act(id, "/steps/"+index+"/subtask", b, func(t *task.Task) { e.sayTask("created", t, c.Quiet.Quiet) })
}

// TaskAttach attaches a resource.
type TaskAttach struct {
	First  string `arg:"" name:"id" help:"ID of the task; optional within a run." complete:"task"`
	Second string `arg:"" optional:"" name:"url" help:"A URL, or the absolute path of a file." complete:"file"`
	Label  string `help:"What it is."`
}

// Run attaches the resource.
func (c *TaskAttach) Run(e *Env) error {
	id, value := c.First, c.Second
	if value == "" {
		id, value = "", c.First
	}
	id, err := e.id(id)
	if err != nil {
		return err
	}
	return e.act(id, "/resources", newResource(value, c.Label), e.resourceLines)
}

// TaskDetach removes a resource.
type TaskDetach struct {
	First  string `arg:"" name:"id" help:"ID of the task; optional within a run." complete:"task"`
	Second string `arg:"" optional:"" name:"index" help:"Index of the resource, counted from 0."`
}

// Run removes the resource.
func (c *TaskDetach) Run(e *Env) error {
	id, index, err := e.taskAndIndex(c.First, c.Second)
	if err != nil {
		return err
	}
	return e.change("DELETE", id, "/resources/"+index, nil, e.resourceLines)
}

// TaskBlock sets the blockers of a task.
type TaskBlock struct {
	ID   string   `arg:"" name:"id" help:"The task that waits." complete:"task"`
	By   []string `arg:"" optional:"" name:"blocker" help:"Every task that must be done first." complete:"task"`
	None bool     `help:"Remove all blockers."`
}

// Run replaces the whole list of blockers.
func (c *TaskBlock) Run(e *Env) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	if c.None == (len(c.By) > 0) {
		return usagef("name the tasks that must be done first, or give --none")
	}
	ids, err := parseIDs(c.By)
	if err != nil {
		return err
	}
	return e.change("PUT", id, "/blocked-by", map[string]any{"taskIds": ids}, func(*task.Task) {
		if c.None {
			e.say("#%s waits for no other task", id)
			return
		}
		e.say("#%s waits for #%s", id, strings.Join(ids, " #"))
	})
}
