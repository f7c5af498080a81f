package mcpserver

import (
	"taskyard/task"
)

var threadTools = []tool{
	{
		name: "add_comment", core: true, doc: "Comment on any task; does not wake its owner", run: addComment,
		args: []arg{taskID, text("content", "Markdown").must()},
	},
	{
		name: "notify_user", core: true, doc: "Notify people, or ask them a question", run: notifyUser,
		args: []arg{
			taskID, text("message", "Markdown").must(),
			flag("needs_reply", "a question: the task waits, your claim ends; signup returns it with the answer"),
			flag("keep_claim", "keep your claim while waiting"),
		},
	},
	{
		name: "reply_review", doc: "Reply to an open review comment on your task", run: replyReview,
		args: []arg{
			taskID, id("comment", "its id").must(), choice("state", "outcome", "fixed", "declined").must(),
			text("text", "reason"),
		},
	},
}

// repliedView is the answer of reply_review, without the known comment.
type repliedView struct {
	ID    task.ID           `json:"id"`
	State task.CommentState `json:"state"`
}

func replyReview(c *call) (answer, error) {
	r, err := c.svc.ReplyReview(c.ctx, c.actor, c.id("taskId"), c.id("comment"), task.CommentState(c.text("state")), c.text("text"))
	return answer{structured: repliedView{r.ID, r.State}}, err
}

func messageAnswer(m task.Message, err error) (answer, error) {
	return answer{structured: m}, err
}

func addComment(c *call) (answer, error) {
	return messageAnswer(c.svc.Comment(c.ctx, c.actor, c.id("taskId"), c.text("content")))
}

func notifyUser(c *call) (answer, error) {
	if c.bool("needs_reply") {
		return messageAnswer(c.svc.Ask(c.ctx, c.actor, c.id("taskId"), c.text("message"), c.bool("keep_claim")))
	}
	return messageAnswer(c.svc.Notify(c.ctx, c.actor, c.id("taskId"), c.text("message")))
}
