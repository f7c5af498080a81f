package client

import (
	"strings"

	"taskyard/task"
)

// Merges contains the commands for the merge queue.
type Merges struct {
	List MergeList `cmd:"" default:"withargs" help:"List pending merges and the latest finished ones (the default)."`

	JSON JSONFlag `name:"json" help:"Print the server's JSON answer."`
}

// MergeList lists merges.
type MergeList struct {
	Project string `help:"Only merges of this project." placeholder:"KEY" complete:"project"`
	Limit   int    `help:"Maximum number of ended merges (1 to 200; default 50)." placeholder:"N"`
	Before  string `help:"Only ended merges with a smaller number." placeholder:"N"`
	Quiet
}

// Run lists the queue in its order, then finished merges, newest first.
func (c *MergeList) Run(e *Env) error {
	q := params{}.set("project", c.Project).num("limit", c.Limit).set("before", c.Before)
	return printCall(e, "GET", q.appendTo("/api/merges"), nil, func(out *struct{ Queue, Ended []*task.MergeEntry }) {
		var rows [][]string
		for _, m := range append(out.Queue, out.Ended...) {
			moved, when := "", m.CreatedAt
			if m.EndedAt != 0 {
				when = m.EndedAt
			}
			if m.State == task.MergeDone {
				moved = shortHash(m.After)
			}
			text := m.TaskTitle
			if m.Reason != "" {
				text += ": " + strings.Join(strings.Fields(m.Reason), " ")
			}
			rows = append(rows, []string{m.ID.String(), string(m.State), m.Project, m.Into, hash(m.TaskID), at(when), moved, text})
		}
		e.listed(c.Quiet.Quiet, []string{"MERGE", "STATE", "PROJECT", "INTO", "TASK", "SINCE", "COMMIT", "TITLE"}, rows)
	})
}

// shortHash returns the beginning of a commit name or digest.
func shortHash(name string) string { return name[:min(len(name), 12)] }
