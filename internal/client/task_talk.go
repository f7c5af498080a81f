package client

import "taskyard/task"

// TaskText are the arguments for a task and a text.
type TaskText struct {
	ID   string `arg:"" optional:"" name:"id" help:"ID of the task; optional within a run." complete:"task"`
	Text string `arg:"" optional:"" name:"text" help:"The text; - reads it from stdin."`
	TextFile
}

// TaskComment adds a comment.
type TaskComment struct{ TaskText }

// Run adds the comment.
func (c *TaskComment) Run(e *Env) error {
	return e.talk(c.TaskText, "/comments", func(text string) any { return map[string]any{"content": text} }, "commented on")
}

// TaskAsk asks people a question.
type TaskAsk struct {
	TaskText
	KeepClaim bool `help:"Keep your claim while the task waits."`
}

// Run opens a question.
func (c *TaskAsk) Run(e *Env) error {
	return e.talk(c.TaskText, "/notify", func(text string) any {
		return map[string]any{"message": text, "needsReply": true, "keepClaim": c.KeepClaim}
	}, "asked people on")
}

// TaskNotify sends people a notice.
type TaskNotify struct{ TaskText }

// Run adds a notice.
func (c *TaskNotify) Run(e *Env) error {
	return e.talk(c.TaskText, "/notify", func(text string) any { return map[string]any{"message": text} }, "notified people on")
}

// TaskReply answers a question.
type TaskReply struct {
	TaskText
	Question task.ID `placeholder:"N" help:"Number of the question that you answer; refused if a different one is open now."`
}

// Run answers the open question.
func (c *TaskReply) Run(e *Env) error {
	return e.talk(c.TaskText, "/reply", func(text string) any {
		body := map[string]any{"content": text}
		if c.Question != 0 {
			body["questionId"] = c.Question
		}
		return body
	}, "answered on")
}

// talk posts a text to the thread of a task.
func (e *Env) talk(c TaskText, suffix string, body func(text string) any, done string) error {
	id, text, err := e.taskAndText(c.ID, c.Text, c.TextFile)
	if err != nil {
		return err
	}
	return printCall(e, "POST", "/api/tasks/"+id+suffix, body(text), func(m *task.Message) { e.say("%s %s", done, hash(m.TaskID)) })
}
