package mcpserver

import (
	"errors"

	"taskyard/task"
)

const (
	maxMembers = 64   // of an object in the arguments; no tool has as many
	maxListed  = 1000 // of a list in the arguments; the service accepts fewer
)

// problems are the wrong arguments of one call.
type problems struct{ task.Problems }

// take adds the problems of another check, below the given position.
func (p *problems) take(at string, err error) {
	var e *task.Error
	if !errors.As(err, &e) {
		return
	}
	for _, f := range e.AllFields() {
		p.Add(at+f.Field, "%s", f.Message)
	}
	if len(e.AllFields()) == 0 {
		p.Add(at, "%s", e.Message)
	}
	p.AddMore(e.More)
}

// checkText checks a text against the general limits.
func (p *problems) checkText(field, s string) { p.CheckText(field, s, task.MaxText) }
