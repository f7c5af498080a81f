package mcpserver

import (
	"taskyard/task"
)

var taskTools = []tool{
	{
		name: "create_task", doc: "Create a task; an active one wakes its owner", run: createTask, changes: true,
		args: []arg{
			text("title", "1-200 characters").must(), text("description", "Markdown"), text("owner", "agent, default you"),
			choice("status", "default active", "draft", "active"), count("priority", "higher comes first", -task.MaxPriority, task.MaxPriority),
			list("steps", isSteps, "plan"), list("resources", isResources, "context"),
			list("labels", isTexts, "a-z, 0-9, -"), list("blockedBy", isIDs, "tasks to be done first"),
			text("project", "key").hide(), text("channel", "default web").hide(), flag("start", "false: wake nobody").hide(),
		},
	},
	{
		name: "get_task", core: true, reads: true, doc: "Read any task with its latest comments", run: getTask,
		args: []arg{
			id("taskId", "task").must(), flag("why", "explain what it waits for"),
			cursor("comments_after", "read comments after this id, 0 for all"), count("stepIndex", "include this step's details", 0, 0),
		},
	},
	{
		name: "update_task", core: true, doc: "Change fields or status of a task", run: updateTask, changes: true,
		idempotent: true,
		args: []arg{
			id("taskId", "task").must(), text("title", "1-200 characters"), text("description", "Markdown"), text("owner", "agent"),
			choice("status", "new status", "draft", "active", "done", "canceled", "idle", "working", "complete"),
			count("priority", "higher comes first", -task.MaxPriority, task.MaxPriority),
			list("labels", isTexts, "the whole list"), count("version", "the version you read", 1, 0).hide(),
		},
	},
	{
		name: "complete_task", core: true, doc: "Complete a task; this is final", run: completeTask, changes: true,
		idempotent: true,
		args:       []arg{id("taskId", "task").must(), text("summary", "what was done"), claimID},
	},
	{
		name: "cancel_task", doc: "Cancel a task and all its open subtasks", run: cancelTask, changes: true,
		destroys: true, idempotent: true,
		args: []arg{id("taskId", "task").must(), text("reason", "why")},
	},
	{
		name: "set_blocked_by", doc: "Set the tasks to finish before this one", run: setBlockedBy, changes: true,
		idempotent: true,
		args:       []arg{id("taskId", "task").must(), list("taskIds", isIDs, "the whole list; [] for none").must()},
	},
	{
		name: "list_tasks", reads: true, doc: "List your draft and active tasks", run: listTasks, as: "owner",
		args: append([]arg{
			text("owner", "agent; only for people"), choice("status", "only these", "draft", "active"),
			choice("workStatus", "only these", "idle", "working").hide(), text("project", "only its").hide(),
			text("q", "words"), text("label", "only with it").hide(), id("parent", "only subtasks of this task"),
		}, paging...),
	},
	{
		name: "list_history", reads: true, doc: "List done and canceled tasks, newest first", run: listHistory,
		args: []arg{
			text("owner", "agent"), choice("status", "only these", "done", "canceled").hide(), text("q", "full text"),
			text("project", "only its").hide(),
			text("from", "archived since, RFC 3339").hide(), text("to", "archived before").hide(),
			count("limit", "default 20", 1, 200), text("before", "next cursor"),
		},
	},
}

const historyLimit = 20

func createTask(c *call) (answer, error) {
	in := task.New{
		Title: c.text("title"), Description: c.text("description"), Owner: c.text("owner"), Status: task.Status(c.text("status")),
		Priority: c.count("priority", 0), Steps: value[[]task.Step](c.values, "steps"), Resources: value[[]task.Resource](c.values, "resources"),
		Labels: value[[]string](c.values, "labels"), BlockedBy: c.ids("blockedBy"),
		Channel: c.text("channel"), Project: c.text("project"), NoStart: c.has("start") && !c.bool("start"),
	}
	if !c.has("owner") && c.actor.IsAgent() {
		in.Owner = c.actor.Name
	}
	return c.changed(c.svc.CreateTask(c.ctx, c.actor, in))
}

func getTask(c *call) (answer, error) {
	t, err := c.svc.Task(c.ctx, c.actor, c.id("taskId"))
	if err != nil {
		return answer{}, err
	}
	v := view(t)
	if c.has("comments_after") {
		comments, err := c.svc.Comments(c.ctx, c.actor, t.ID, c.id("comments_after"), pageComments)
		if err != nil {
			return answer{}, err
		}
		v = thread(t, comments, task.BudgetFromContext(c.ctx).Cut())
	}
	if c.has("stepIndex") {
		st, err := c.svc.Step(c.ctx, c.actor, t.ID, c.count("stepIndex", 0))
		if err != nil {
			return answer{}, err
		}
		v = oneStep(v, c.count("stepIndex", 0), st)
	}
	if c.bool("why") {
		v.Why, err = c.svc.Why(c.ctx, c.actor, t.ID)
	}
	return answer{structured: v, compact: true}, err
}

func updateTask(c *call) (answer, error) {
	return c.changed(c.svc.UpdateTask(c.ctx, c.actor, c.id("taskId"), task.Patch{
		Title: pointer[string](c.values, "title"), Description: pointer[string](c.values, "description"),
		Priority: pointer[int](c.values, "priority"),
		Owner:    pointer[string](c.values, "owner"), Status: pointer[string](c.values, "status"), Version: int64(c.count("version", 0)),
		Labels: pointer[[]string](c.values, "labels"),
	}))
}

func completeTask(c *call) (answer, error) {
	return c.changed(c.svc.CompleteTask(c.ctx, c.actor, c.id("taskId"), c.text("summary"), int64(c.count("claim", 0))))
}

func cancelTask(c *call) (answer, error) {
	canceled, err := c.svc.CancelTask(c.ctx, c.actor, c.id("taskId"), c.text("reason"))
	if err != nil {
		return answer{}, err
	}
	return answer{structured: struct {
		Task     any       `json:"task"`
		Canceled []task.ID `json:"canceled"`
	}{c.short(canceled.Task), canceled.Canceled}, compact: true}, nil
}

func setBlockedBy(c *call) (answer, error) {
	return c.changed(c.svc.SetBlockedBy(c.ctx, c.actor, c.id("taskId"), c.ids("taskIds")))
}

// listTasks lists the caller's own tasks: an agent sees those of others by ID.
func listTasks(c *call) (answer, error) {
	read := c.svc.TaskLines
	if c.bool("full") {
		read = c.svc.OpenTasks
	}
	return c.page(read(c.ctx, c.actor, task.TaskFilter{
		Owner: c.agentID, Status: task.Status(c.text("status")), WorkStatus: task.WorkStatus(c.text("workStatus")),
		Query: c.text("q"), Parent: c.id("parent"), Label: c.text("label"), Project: c.text("project"),
		Limit: c.count("limit", openLimit), After: c.text("after"), Full: c.bool("full"),
	}))
}

func listHistory(c *call) (answer, error) {
	f := task.HistoryFilter{
		Owner: c.text("owner"), Status: task.Status(c.text("status")), Query: c.text("q"), Project: c.text("project"),
		Limit: c.count("limit", historyLimit), Before: c.text("before"),
	}
	for name, at := range map[string]*task.Time{"from": &f.From, "to": &f.To} {
		if !c.has(name) {
			continue
		}
		if err := at.UnmarshalText([]byte(c.text(name))); err != nil {
			return answer{}, task.FieldErrorf(name, "%s", err)
		}
	}
	return c.page(c.svc.History(c.ctx, c.actor, f))
}
