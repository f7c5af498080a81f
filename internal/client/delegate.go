package client

import (
	"time"

	"taskyard/task"
)

// Delegate contains the commands for work of subagents.
type Delegate struct {
	Start DelegateStart `cmd:"" default:"withargs" help:"Delegate work to an agent (the default): creates a subtask and its run."`
	Show  DelegateShow  `cmd:"" help:"Show its state, or wait for its end; exit code 1 if it ended without success."`
	Stop  DelegateStop  `cmd:"" help:"Cancel it, with its task and all subtasks."`

	JSON JSONFlag `name:"json" help:"Print the server's JSON answer."`
}

// Waiting bounds how long the server delays its answer.
type Waiting struct {
	Wait int `help:"Seconds to wait for the end (0 to 50)." placeholder:"SECONDS"`
}

func (w Waiting) long() time.Duration { return time.Duration(w.Wait) * time.Second }

// DelegateStart delegates.
type DelegateStart struct {
	Task       string   `arg:"" optional:"" help:"What to do; its first line becomes the title; - reads it from stdin."`
	Agent      string   `help:"Agent (default general-purpose)." placeholder:"AGENT" complete:"agent"`
	Model      string   `help:"Model."`
	Complexity string   `help:"low, medium or high: chooses among the agent's models." complete:"low,medium,high"`
	Parent     string   `help:"Parent task (default within a run: the task of the run)." placeholder:"ID" complete:"task"`
	Step       *int     `help:"Link it to this step of your task, counted from 0." placeholder:"INDEX"`
	Resource   []int    `help:"Pass on this resource of your task, counted from 0; may be repeated." placeholder:"INDEX"`
	Tool       []string `help:"Allow only this tool; may be repeated."`
	Waiting
	TextFile
	Quiet
}

// Run delegates. Work that ended without success returns Failed.
func (c *DelegateStart) Run(e *Env) error {
	if c.Task == "" && c.File == "" {
		return usagef("say what to do: as an argument, from stdin with -, or with --file FILE")
	}
	text, err := e.text(c.Task, c.File)
	if err != nil {
		return err
	}
	body := payload{"task": text}.text("agentType", c.Agent).text("model",
		c.Model).text("estimatedComplexity", c.Complexity).list("tools", c.Tool)
	put(body, "stepIndex", c.Step)
	if len(c.Resource) > 0 {
		body["resources"] = c.Resource
	}
	if c.Parent != "" {
		if body["taskId"], err = parseID(c.Parent); err != nil {
			return err
		}
	}
	if c.Wait != 0 {
		body["waitSeconds"] = c.Wait
	}
	return e.delegated(c.Waiting, "POST", "/api/delegate", body, c.Quiet.Quiet)
}

// DelegateShow shows the state of delegated work.
type DelegateShow struct {
	OneRun
	Waiting
}

// Run shows the state. Work that ended without success returns Failed.
func (c *DelegateShow) Run(e *Env) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	return e.delegated(c.Waiting, "GET", params{}.num("waitSeconds", c.Wait).appendTo("/api/delegate/"+id), nil, false)
}

// DelegateStop stops delegated work.
type DelegateStop struct {
	OneRun
	Reason string `help:"Reason; - reads it from stdin." placeholder:"TEXT"`
}

// Run stops the work.
func (c *DelegateStop) Run(e *Env) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	reason, err := e.text(c.Reason, "")
	if err != nil {
		return err
	}
	body := payload{}.text("reason", reason)
	return printCall(e, "POST", "/api/delegate/"+id+"/stop", body, func(d *task.Delegated) { e.sayDelegated(d, false) })
}

func (e *Env) delegated(w Waiting, method, path string, body any, quiet bool) error {
	var d task.Delegated
	raw, err := e.wait(w.long(), method, path, body, &d)
	if err != nil {
		return err
	}
	if err := e.answer(raw, func() { e.sayDelegated(&d, quiet) }); err != nil {
		return err
	}
	if d.Ended() && !d.Success {
		return &WaitError{"run " + d.RunID.String() + " is " + string(d.Status) + ": " + hanging("  ", d.Error)}
	}
	return nil
}

func (e *Env) sayDelegated(d *task.Delegated, quiet bool) {
	if quiet {
		e.say("%s", d.RunID)
		return
	}
	e.say("run %s of %s: %s (%s)", d.RunID, hash(d.TaskID), printable(string(d.Status)), printable(string(d.Phase)))
	if d.Summary != "" {
		indented(e.Stdout, "  ", d.Summary)
	}
}
