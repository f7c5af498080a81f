package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"taskyard/runner/builtin/model"
	"taskyard/runner/builtin/tools"
	"taskyard/task"
)

// The tools for an agent's own task: few, because each costs tokens. Agents
// that may delegate, and those whose definition allows all tools, have more.
var (
	taskTools = []string{
		"get_task", "update_task", "update_steps", "update_step", "append_step", "add_comment", "notify_user", "move_task", "complete_task",
	}
	delegateTools = []string{"create_subtask", "task", "task_status", "task_wait", "task_stop"}
	otherTools    = []string{
		"insert_step", "cancel_task", "list_tasks", "list_history", "add_resource", "remove_resource",
		"todo_lpush", "todo_rpush", "todo_lpop", "todo_rpop", "todo_lpeek", "todo_rpeek", "todo_list", "todo_count",
	}
)

// following names the tools that watch a delegated run.
var following = map[string]bool{"task_status": true, "task_wait": true}

// toolset holds all tools of a run, and is the only place that authorizes them.
type toolset struct {
	agent   string
	box     Toolbox // nil: none
	server  *serverTools
	offered []model.Tool

	// The tools that the run may use, by name: whether the server executes
	// them, otherwise the box. Whoever executes a tool validates its arguments.
	fromServer map[string]bool
}

// open finds out which tools exist. It returns an error if the server did not
// answer.
func (t *toolset) open(ctx context.Context, plan task.Spec) error {
	t.fromServer = map[string]bool{}
	if t.box != nil {
		for _, tool := range t.box.Declared(plan.Tools) {
			t.add(model.Tool(tool), false)
		}
	}
	names, profile := slices.Clone(taskTools), "core"
	delegates := slices.Contains(plan.Tools, "task")
	if delegates {
		names, profile = append(names, delegateTools...), ""
	}
	if plan.TaskTools == task.AllTaskTools {
		names, profile = append(names, otherTools...), ""
		if delegates { // other runs may not call it
			names = append(names, "create_task")
		}
	}
	if plan.Project != "" {
		names, profile = append(names, "reply_review", "add_resource"), "" // the prompt, and URL checks, require them
	}
	list, err := t.server.list(ctx, profile)
	for _, tool := range list {
		if slices.Contains(names, tool.Name) {
			t.add(tool, true)
		}
	}
	return err
}

func (t *toolset) add(tool model.Tool, fromServer bool) {
	if _, known := t.fromServer[tool.Name]; !known {
		t.fromServer[tool.Name] = fromServer
		t.offered = append(t.offered, tool)
	}
}

// call executes a call that is allowed and whose arguments are an object. If
// the server answered with a task, it returns that too.
func (t *toolset) call(ctx context.Context, c model.Call) (tools.Result, *taskAnswer) {
	fromServer, ok := t.fromServer[c.Name]
	if !ok {
		return tools.Result{
			Text:    fmt.Sprintf("agent %s may not use the tool %s: its tools are %s", t.agent, task.CutText(c.Name, 100), t.names()),
			IsError: true, Denied: true,
		}, nil
	}
	if err := wantObject(c.Args); err != nil {
		return tools.Result{Text: fmt.Sprintf("the arguments of %s do not fit: %v", c.Name, err), IsError: true}, nil
	}
	if fromServer {
		return t.server.call(ctx, c.Name, c.Args)
	}
	return t.box.Call(ctx, c.Name, c.Args), nil
}

func (t *toolset) names() string {
	if len(t.offered) == 0 {
		return "none"
	}
	names := make([]string, len(t.offered))
	for i, o := range t.offered {
		names[i] = o.Name
	}
	return strings.Join(names, ", ")
}

// wantObject returns an error unless the arguments are one JSON object.
func wantObject(args json.RawMessage) error {
	var v map[string]any
	if err := json.Unmarshal(args, &v); err != nil {
		return fmt.Errorf("they are no JSON object (%w)", err)
	}
	if v == nil {
		return fmt.Errorf("they are no JSON object")
	}
	return nil
}
