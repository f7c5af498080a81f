package service

import (
	"context"
	"errors"
	"slices"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// Agents returns all definitions, sorted by id. Error: may not read.
func (s *Service) Agents(a task.Actor) ([]task.Agent, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	return s.agents.Agents(), nil
}

// Agent returns one definition. Error: unknown agent.
func (s *Service) Agent(a task.Actor, id string) (task.Agent, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return task.Agent{}, err
	}
	def, ok := s.agents.Agent(id)
	if !ok {
		return def, agentNotFoundError(id)
	}
	return def, nil
}

func agentNotFoundError(id string) error {
	return task.Errorf(task.NotFound, task.CodeAgentNotFound, "Agent not found: %s", id)
}

// SaveAgent writes a definition file. ifHash, if not "", must be the hash of
// the file as it is; invalid text is saved only with force. Errors: not an
// admin, invalid, a reviewer who cannot vote, the file changed meanwhile.
func (s *Service) SaveAgent(ctx context.Context, a task.Actor, id, text, ifHash string, force bool) (task.Agent, error) {
	if err := s.allowed(a, task.Admin); err != nil {
		return task.Agent{}, err
	}
	if err := s.CheckReviewers(ctx, s.agents.Check(id, text)); err != nil {
		return task.Agent{}, err
	}
	if s.db.Shared() {
		return s.saveShared(ctx, a, id, text, ifHash, force)
	}
	before, _ := s.agents.Agent(id)
	if err := s.revokeFormer(ctx, a, id); err != nil {
		return before, err
	}
	def, saved := before, false // a write may be run again; the file is written only once
	err := change(ctx, s, a, func(tx *txn) (err error) {
		if !saved {
			if def, err = s.agents.Save(id, text, ifHash, force); err != nil {
				return err
			}
			saved = true
		}
		return tx.event(task.EvAgentSaved, task.Event{Agent: id}, changes{"hash": []string{before.FileHash, def.FileHash}, "status": def.Status})
	})
	return def, err
}

// revokeFormer ends tokens that were left by an agent of this name before a new
// one takes it.
func (s *Service) revokeFormer(ctx context.Context, a task.Actor, id string) error {
	if !task.ValidAgentID(id) || s.agents.Defined(id) {
		return nil
	}
	return change(WithIdempotency(ctx, nil), s, a, func(tx *txn) error { return tx.revokeAgent(id) })
}

// DeleteAgent removes a definition file, and with it the agent's tokens. Errors: not an admin, unknown, it
// owns open tasks.
func (s *Service) DeleteAgent(ctx context.Context, a task.Actor, id string) error {
	if err := s.allowed(a, task.Admin); err != nil {
		return err
	}
	if _, done, err := answered[struct{}](ctx, s); done || err != nil { // the agent no longer exists
		return err
	}
	if s.db.Shared() {
		return s.deleteShared(ctx, a, id)
	}
	def, ok := s.agents.Agent(id)
	if !ok {
		return agentNotFoundError(id)
	}
	deleted := false // a write may be run again; the file goes only once
	return change(ctx, s, a, func(tx *txn) error {
		if err := tx.checkOwnsNothing(id); err != nil {
			return err
		}
		if !deleted {
			if err := s.agents.Delete(id); err != nil {
				return err
			}
			deleted = true
		}
		if err := tx.revokeAgent(id); err != nil {
			return err
		}
		return tx.event(task.EvAgentDeleted, task.Event{Agent: id}, changes{"hash": def.FileHash})
	})
}

// checkOwnsNothing refuses to remove an agent that owns open tasks.
func (tx *txn) checkOwnsNothing(agent string) error {
	n, err := tx.OpenCount(agent, "")
	if err == nil && n > 0 {
		err = task.Errorf(task.Conflict, task.CodeAgentBusy, "Agent %s owns %d open tasks: move or finish them first", agent, n)
	}
	return err
}

// ReloadAgents reads all definition files again. Error: not an admin.
func (s *Service) ReloadAgents(a task.Actor) error {
	if err := s.allowed(a, task.Admin); err != nil {
		return err
	}
	s.agents.Reload()
	s.AgentsChanged(nil)
	return nil
}

// StrayFiles returns a sentence for each file of the agents folder that makes no
// agent. The slice is shared: do not change it.
func (s *Service) StrayFiles() []string { return s.agents.Problems() }

// AgentsChanged notifies pages and dispatcher that definitions changed on disk.
func (s *Service) AgentsChanged(ids []string) {
	topics := []string{"agents", "queues"}
	for _, id := range ids {
		topics = append(topics, "queue:"+id)
	}
	s.hub.Publish(topics)
	s.signal()
}

// KnowsAgent reports whether an agent is defined, for callers without a right
// to read the rest.
func (s *Service) KnowsAgent(id string) bool { _, ok := s.agents.Agent(id); return ok }

// LastRuns returns the newest ended runs of an agent, without their prompts.
func (s *Service) LastRuns(ctx context.Context, a task.Actor, agent string, limit int) ([]*task.Run, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]*task.Run, error) { return rx.LastRuns(agent, limit) })
}

// CheckAgent returns what a definition would be, and what is wrong with it; it
// writes nothing. Error: not an admin.
func (s *Service) CheckAgent(ctx context.Context, a task.Actor, id, text string) (task.Agent, error) {
	if err := s.allowed(a, task.Admin); err != nil {
		return task.Agent{}, err
	}
	def := s.agents.Check(id, text)
	err := s.CheckReviewers(ctx, def)
	if e, ok := errors.AsType[*task.Error](err); ok {
		line := 1 + slices.IndexFunc(strings.Split(text, "\n"), func(l string) bool {
			return strings.HasPrefix(strings.ToLower(strings.TrimLeft(l, "# ")), "review")
		})
		for _, f := range e.AllFields() {
			def.Problems = append(def.Problems, task.Problem{Line: max(line, 1), Fatal: true, Message: f.Field + ": " + f.Message})
		}
		def.Status, err = task.AgentInvalid, nil
	}
	return def, err
}

// CheckReviewers returns an error that names those in the review policy of a
// valid definition who cannot vote, or nil.
func (s *Service) CheckReviewers(ctx context.Context, def task.Agent) error {
	if def.Review == nil || def.Status == task.AgentInvalid {
		return nil
	}
	return s.db.Read(ctx, func(rx *db.Rx) error {
		var problems task.Problems
		if err := checkVoters(rx, &problems, "review", *def.Review); err != nil {
			return err
		}
		return problems.Err()
	})
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
