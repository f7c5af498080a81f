package client

import (
	"fmt"

	"taskyard/task"
)

// Inbox contains the commands for the inbox.
type Inbox struct {
	List        InboxList `cmd:"" default:"1" help:"List questions, permissions, approvals, results, stuck tasks, canceled blockers, notices (default)."`
	Acknowledge InboxAck  `cmd:"" help:"Dismiss a notice from the inbox."`

	JSON JSONFlag `name:"json" help:"Print the server's JSON answer."`
}

// InboxList lists what waits for people.
type InboxList struct{}

// Run prints each kind with how to handle it.
func (InboxList) Run(e *Env) error {
	return printCall(e, "GET", "/api/inbox", nil, func(in *task.Inbox) {
		for _, a := range in.Alerts {
			what := "the last scheduled " + printable(a.Job) + " failed"
			if a.Job == task.AlertMerge {
				what = "a merge waits"
			}
			e.say("%s (%s): %s", what, a.At, hanging("  ", a.Text))
		}
		if in.Totals.All() == 0 && len(in.Alerts) == 0 {
			e.say("nothing is waiting for people")
			return
		}
		e.inboxPart("Questions: taskyard task reply ID TEXT --question N", in.Questions)
		e.inboxPermissions(in.Permissions)
		e.inboxRuns(in.Approvals)
		e.inboxPart("Results: taskyard review show ID", in.Reviews)
		e.inboxPart("Stuck: taskyard task run ID, or update it", in.Stuck)
		e.inboxPart("Blocker canceled: taskyard task block ID …, or cancel it", in.BlockerCanceled)
		e.inboxPart("Notices: taskyard inbox acknowledge N", in.Notices)
		shown := len(in.Questions) + len(in.Permissions) + len(in.Approvals) +
			len(in.Reviews) + len(in.Stuck) + len(in.BlockerCanceled) + len(in.Notices)
		if shown < in.Totals.All() {
			e.say("\n%d more are not shown", in.Totals.All()-shown)
		}
	})
}

func (e *Env) inboxPart(title string, list []task.InboxItem) {
	e.heading(title, len(list))
	for _, i := range list {
		line := hash(i.TaskID) + " " + i.Title
		if i.MessageID != 0 && i.Author != "" {
			line += "  (" + i.MessageID.String() + ", " + i.Author + ", " + at(i.At) + ")"
		}
		e.say("  %s", printable(line))
		if i.Text != "" {
			indented(e.Stdout, "    ", i.Text)
		}
	}
}

func (e *Env) inboxRuns(list []*task.Run) {
	e.heading("Approvals: taskyard run show ID", len(list))
	for _, r := range list {
		e.say("  run %s of %s %s", r.ID, hash(r.TaskID), printable(r.TaskTitle+"  ("+r.Agent+", asked by "+r.AskedBy+")"))
	}
}

func (e *Env) inboxPermissions(list []*task.Run) {
	e.heading("Permissions: taskyard run allow RUN N, or taskyard run deny RUN N --reason TEXT", len(list))
	for _, r := range list {
		e.say("  run %s of %s %s", r.ID, hash(r.TaskID), printable(r.TaskTitle+"  ("+r.Agent+")"))
		e.showPermission(r.Permission)
	}
}

// showPermission prints a run's permission request.
func (e *Env) showPermission(p *task.Permission) {
	if p == nil {
		return
	}
	e.say("    %s", printable(fmt.Sprintf("permission %d: asks to call %s, until %s", p.N, p.Tool, at(p.ExpiresAt))))
	if p.Reason != "" {
		indented(e.Stdout, "    ", p.Reason)
	}
	indented(e.Stdout, "    ", string(p.Input))
}

// heading prints the heading of a section if it is not empty.
func (e *Env) heading(title string, n int) {
	if n > 0 {
		e.say("%s", title)
	}
}

// InboxAck acknowledges notices.
type InboxAck struct {
	ID string `arg:"" name:"n" help:"Number of the notice, as the inbox shows it."`
}

// Run removes the notice from the inbox.
func (c *InboxAck) Run(e *Env) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	return printCall(e, "POST", "/api/inbox/notices/"+id+"/acknowledge", nil, func(m *task.Message) {
		e.say("acknowledged on %s", hash(m.TaskID))
	})
}
