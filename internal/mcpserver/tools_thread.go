package mcpserver

import (
	"taskyard/task"
)

var threadTools = []tool{
	{
		name: "add_comment", core: true, doc: "Comment on any task; wakes nobody", run: addComment,
		args: []arg{taskID, text("content", "Markdown").must()},
	},
	{
		name: "notify_user", core: true, doc: "Notify people, or ask them a question", run: notifyUser,
		args: []arg{
			taskID, text("message", "Markdown").must(),
			flag("needs_reply", "a question: the task waits, your claim ends; signup returns it with the answer"),
			flag("keep_claim", "keep the claim meanwhile"),
		},
	},
}

func messageAnswer(m task.Message, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{structured: m}, nil
}

func addComment(c *call) (answer, error) {
	return messageAnswer(c.svc.Comment(c.ctx, c.actor, c.id("taskId"), c.text("content")))
}

func notifyUser(c *call) (answer, error) {
	if c.yes("needs_reply") {
		return messageAnswer(c.svc.Ask(c.ctx, c.actor, c.id("taskId"), c.text("message"), c.yes("keep_claim")))
	}
	return messageAnswer(c.svc.Notify(c.ctx, c.actor, c.id("taskId"), c.text("message")))
}
