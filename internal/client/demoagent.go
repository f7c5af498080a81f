package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"taskyard/internal/sleep"
	"taskyard/task"
)

// DemoOptions is the environment of a run of the scripted agent.
type DemoOptions struct {
	Getenv         func(string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Fast           bool // without pauses
}

// demoAgent plays one run: it reads its task, acts through the JSON API, and
// reports what it does in the line protocol of the command runner.
type demoAgent struct {
	DemoOptions
	ctx  context.Context
	api  Client
	name string
	id   string
	task *task.Task
}

// DemoAgent implements the demo's agents planner, builder and reviewer. It
// needs the environment and the prompt of a Taskyard run.
func DemoAgent(ctx context.Context, opt DemoOptions) error {
	prompt, err := io.ReadAll(io.LimitReader(opt.Stdin, 4<<20))
	if err != nil {
		return err
	}
	if !strings.Contains(string(prompt), "<Task>") {
		return fmt.Errorf("no <Task> block on stdin: this command is started by the demo, not by hand")
	}
	a := &demoAgent{
		DemoOptions: opt, ctx: ctx, name: opt.Getenv("TASKYARD_AGENT"), id: opt.Getenv("TASKYARD_TASK_ID"),
		api: Client{URL: opt.Getenv("TASKYARD_URL"), Token: opt.Getenv("TASKYARD_TOKEN")},
	}
	a.say("Reading task #%s.", a.id)
	if err := a.read(); err != nil {
		return err
	}
	summary, err := a.play()
	if err != nil {
		return err
	}
	b, err := json.Marshal(map[string]any{"summary": summary, "success": true})
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout, string(b))
	return nil
}

// line writes one typed line of the transcript.
func (a *demoAgent) line(typ, text string, data any) {
	b, err := json.Marshal(map[string]any{"type": typ, "text": text, "data": data})
	if err == nil {
		fmt.Fprintln(a.Stdout, string(b))
	}
}

func (a *demoAgent) say(format string, args ...any) {
	a.line("text", fmt.Sprintf(format, args...), nil)
	a.pause(700 * time.Millisecond)
}

func (a *demoAgent) pause(d time.Duration) {
	if !a.Fast {
		sleep.For(a.ctx, d)
	}
}

// call makes one request and reports it as a tool call with its result.
func (a *demoAgent) call(what, method, path string, in, out any) error {
	a.line("tool_call", what, map[string]any{"tool": what, "method": method, "path": path, "input": in})
	var raw json.RawMessage
	if err := a.api.Do(a.ctx, method, path, in, &raw); err != nil {
		a.line("tool_result", err.Error(), map[string]any{"tool": what, "error": true})
		return err
	}
	a.line("tool_result", "ok", map[string]any{"tool": what})
	a.pause(900 * time.Millisecond)
	if out == nil {
		return nil
	}
	return json.Unmarshal(raw, out)
}

func (a *demoAgent) path(rest string) string { return "/api/tasks/" + a.id + rest }

func (a *demoAgent) read() error {
	a.task = &task.Task{}
	return a.call("get_task", "GET", a.path(""), nil, a.task)
}

func (a *demoAgent) plan(titles ...string) error {
	a.say("No plan yet. I will go in %d steps.", len(titles))
	steps := make([]map[string]any, len(titles))
	for i, t := range titles {
		steps[i] = map[string]any{"title": t}
	}
	return a.call("update_steps", "PUT", a.path("/steps"), map[string]any{"steps": steps}, a.task)
}

func (a *demoAgent) tick(i int, doing string) error {
	a.say("%s", doing)
	a.pause(1500 * time.Millisecond)
	return a.call("update_step", "PATCH", a.path(fmt.Sprintf("/steps/%d", i)), map[string]any{"done": true}, a.task)
}

func (a *demoAgent) complete(summary string) (string, error) {
	return summary, a.call("complete_task", "POST", a.path("/complete"), map[string]any{"summary": summary}, nil)
}
