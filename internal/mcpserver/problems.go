package mcpserver

import (
	"errors"

	"taskyard/task"
)

const (
	maxMembers = 64   // of an object in the arguments; no tool has so many
	maxListed  = 1000 // of a list in the arguments; the service takes fewer
)

// problems are the wrong arguments of one call.
type problems struct{ task.Problems }

// take notes what another check has found, under the place where it looked.
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

// checkText notes a text that nothing may hold.
func (p *problems) checkText(field, s string) { p.CheckText(field, s, task.MaxText) }
