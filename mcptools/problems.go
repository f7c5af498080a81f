package mcptools

import (
	"errors"

	"taskyard/task"
)

const (
	maxMembers  = 64   // of an object in the arguments; no tool has so many
	maxListed   = 1000 // of a list in the arguments; the service takes fewer
	maxProblems = 20   // that an answer names: a mebibyte of mistakes would make fifty of answer
)

// problems are the first of what is wrong with a call, and the number of the
// rest.
type problems struct {
	list       task.Problems
	told, more int
}

// Add notes a wrong argument.
func (p *problems) Add(field, format string, args ...any) {
	if p.told == maxProblems {
		p.more++
		return
	}
	p.told++
	p.list.Add(field, format, args...)
}

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
}

// checkText notes a text that nothing may hold.
func (p *problems) checkText(field, s string) {
	var one task.Problems
	one.CheckText(field, s, task.MaxText)
	p.take("", one.Err())
}

// Err returns nil, or one error that names the first problems.
func (p *problems) Err() error {
	if p.more > 0 {
		p.list.Add("arguments", "%d more are wrong", p.more)
	}
	return p.list.Err()
}
