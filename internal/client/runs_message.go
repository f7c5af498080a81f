package client

import "taskyard/task"

// RunMessage sends a message to the agent of a run.
type RunMessage struct {
	OneRun
	Text string `arg:"" help:"Message; - reads it from stdin." placeholder:"TEXT"`
}

// Run sends it.
func (c *RunMessage) Run(e *Env) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	text, err := e.text(c.Text, "")
	if err != nil {
		return err
	}
	return printCall(e, "POST", "/api/runs/"+id+"/messages", payload{"text": text}, func(m *task.RunMessage) {
		e.say("queued message %s for run %s", m.ID, m.RunID)
	})
}

// showSaid lists the messages that people sent to a run.
func (e *Env) showSaid(list []task.RunMessage) {
	if len(list) == 0 {
		return
	}
	e.part("Messages", len(list))
	for _, m := range list {
		state := "not delivered"
		if m.Delivered() {
			state = "delivered " + at(m.DeliveredAt)
		}
		e.say("  %s %s, %s", m.Author, at(m.CreatedAt), state)
		indented(e.Stdout, "    ", m.Text)
	}
}
