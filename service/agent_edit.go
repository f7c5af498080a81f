package service

import (
	"context"

	"taskyard/db"
	"taskyard/task"
)

// CheckAgent returns what a definition would be, and what is wrong with it; it
// writes nothing. Error: not an admin.
func (s *Service) CheckAgent(a task.Actor, id, text string) (task.Agent, error) {
	if err := s.allowed(a, task.Admin); err != nil {
		return task.Agent{}, err
	}
	return s.agents.Check(id, text), nil
}

// AgentTemplates returns what a new definition may begin with. Error: not an
// admin.
func (s *Service) AgentTemplates(a task.Actor) ([]task.AgentTemplate, error) {
	if err := s.allowed(a, task.Admin); err != nil {
		return nil, err
	}
	return s.agents.Templates(), nil
}

// AgentSaved returns the newest save or deletion of a definition through
// Taskyard, or nil. Edits of the file by other programs leave none. Error: may
// not read.
func (s *Service) AgentSaved(ctx context.Context, a task.Actor, id string) (*task.Event, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) (*task.Event, error) { return rx.AgentSaved(id) })
}
