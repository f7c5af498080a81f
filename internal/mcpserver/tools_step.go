package mcpserver

import (
	"taskyard/task"
)

var (
	taskID    = id("taskId", "task").must()
	stepIndex = count("stepIndex", "0-based", 0, 0).must()
	stepTitle = text("title", "1-60 characters").must()
)

var stepTools = []tool{
	{
		name: "update_steps", core: true, doc: "Replace the plan; only while no step has a subtask", run: updateSteps, changes: true,
		args: []arg{taskID, list("steps", isSteps, "all steps").must()},
	},
	{
		name: "update_step", core: true, doc: "Change one step, or mark it done", run: updateStep, changes: true,
		idempotent: true,
		args:       []arg{taskID, stepIndex, text("title", "1-60 characters"), text("details", "how"), flag("done", "finished")},
	},
	{
		name: "append_step", core: true, doc: "Add a step at the end", run: insertStep, changes: true,
		args: []arg{taskID, stepTitle, text("details", "how")},
	},
	{
		name: "insert_step", doc: "Add a step before another", run: insertStep, changes: true,
		args: []arg{taskID, stepIndex, stepTitle, text("details", "how")},
	},
	{
		name: "create_subtask", core: true, doc: "Turn a step of your task into a subtask", run: createSubtask, changes: true,
		args: []arg{
			taskID, stepIndex, text("title", "1-200 characters").must(), text("owner", "agent, default you"),
			text("description", "Markdown"), count("priority", "higher comes first", -task.MaxPriority, task.MaxPriority),
		},
	},
	{
		name: "add_resource", doc: "Attach a URL or file to a task", run: addResource, changes: true,
		args: append([]arg{taskID}, resourceArgs...),
	},
	{
		name: "remove_resource", doc: "Remove a resource", run: removeResource, changes: true,
		destroys: true,
		args:     []arg{taskID, count("index", "0-based", 0, 0).must()},
	},
}

func updateSteps(c *call) (answer, error) {
	return c.changed(c.svc.ReplaceSteps(c.ctx, c.actor, c.id("taskId"), value[[]task.Step](c.values, "steps")))
}

func updateStep(c *call) (answer, error) {
	t, err := c.svc.UpdateStep(c.ctx, c.actor, c.id("taskId"), c.count("stepIndex", 0), task.StepPatch{
		Title: pointer[string](c.values, "title"), Details: pointer[string](c.values, "details"), Done: pointer[bool](c.values, "done"),
	})
	if err != nil || c.bool("full") || !c.bool("done") {
		return c.changed(t, err)
	}
	v := changedTask(t)
	v.NextDetails = nextDetails(t)
	return answer{structured: v, compact: true}, nil
}

func insertStep(c *call) (answer, error) {
	return c.changed(c.svc.InsertStep(c.ctx, c.actor, c.id("taskId"), c.count("stepIndex", task.MaxSteps),
		task.Step{Title: c.text("title"), Details: c.text("details")}))
}

func createSubtask(c *call) (answer, error) {
	return c.changed(c.svc.CreateSubtask(c.ctx, c.actor, c.id("taskId"), c.count("stepIndex", 0), task.New{
		Title: c.text("title"), Owner: c.text("owner"), Description: c.text("description"), Priority: c.count("priority", 0),
	}))
}

func addResource(c *call) (answer, error) {
	return c.changed(c.svc.AddResource(c.ctx, c.actor, c.id("taskId"),
		task.Resource{Type: c.text("type"), Value: c.text("value"), Label: c.text("label")}))
}

func removeResource(c *call) (answer, error) {
	return c.changed(c.svc.RemoveResource(c.ctx, c.actor, c.id("taskId"), c.count("index", 0)))
}
