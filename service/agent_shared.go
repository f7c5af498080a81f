package service

import (
	"context"
	"slices"

	"taskyard/db"
	"taskyard/internal/agentfile"
	"taskyard/task"
)

func (tx *txn) setAgentFile(id, hash, text string) error {
	if err := tx.SaveDefinition(hash, id, text); err != nil {
		return err
	}
	return tx.SetAgentFile(id, hash)
}

func (tx *txn) saveAgentFile(id, before, hash, text string, status task.AgentStatus) error {
	if before == "" { // an agent that had the name before was another one
		if err := tx.revokeAgent(id); err != nil {
			return err
		}
	}
	if err := tx.setAgentFile(id, hash, text); err != nil {
		return err
	}
	return tx.event(task.EvAgentSaved, task.Event{Agent: id}, changes{"hash": []string{before, hash}, "status": status})
}

func (tx *txn) removeAgentFile(id, before string) error {
	if err := tx.SetAgentFile(id, ""); err != nil {
		return err
	}
	if err := tx.revokeAgent(id); err != nil {
		return err
	}
	return tx.event(task.EvAgentDeleted, task.Event{Agent: id}, changes{"hash": before})
}

// saveShared is SaveAgent where the database says what defines agents.
func (s *Service) saveShared(ctx context.Context, a task.Actor, id, text, ifHash string, force bool) (task.Agent, error) {
	def, err := s.agents.Accept(id, text, force)
	if err != nil {
		return def, err
	}
	if err := s.SyncAgents(ctx); err != nil { // what the author has seen may be a change of the folder
		return def, err
	}
	files, err := s.agents.Files()
	if err != nil {
		return def, err
	}
	if files[id].Unfit {
		return def, task.Errorf(task.Conflict, task.CodeStaleAgent,
			"%s.md in the agents folder of this server is not a text file or cannot be read; remove it first", id)
	}
	err = change(ctx, s, a, func(tx *txn) error {
		now, err := tx.AgentFile(id)
		if err != nil {
			return err
		}
		if ifHash != "" && now.Hash != ifHash {
			return agentfile.Stale(id, now.Hash == "")
		}
		return tx.saveAgentFile(id, now.Hash, def.FileHash, text, def.Status)
	})
	if err != nil {
		return task.Agent{}, err
	}
	s.writeStored(ctx)
	if saved, ok := s.agents.Agent(id); ok && saved.FileHash == def.FileHash {
		return saved, nil
	}
	return def, nil
}

// deleteShared is DeleteAgent where the database says what defines agents.
func (s *Service) deleteShared(ctx context.Context, a task.Actor, id string) error {
	if err := s.SyncAgents(ctx); err != nil {
		return err
	}
	err := change(ctx, s, a, func(tx *txn) error {
		now, err := tx.AgentFile(id)
		if err != nil {
			return err
		}
		if now.Hash == "" {
			return agentNotFoundError(id)
		}
		if err := tx.checkOwnsNothing(id); err != nil {
			return err
		}
		return tx.removeAgentFile(id, now.Hash)
	})
	if err == nil {
		s.writeStored(ctx)
	}
	return err
}

// writeStored brings a change that was committed to the folder. Where that fails,
// the change is made all the same, and later syncs write the file.
func (s *Service) writeStored(ctx context.Context) {
	if err := s.SyncAgents(context.WithoutCancel(ctx)); err != nil {
		s.log.ErrorContext(ctx, "failed to update the agents folder", "error", err)
	}
}

// undefinedAgents returns the agents that the database does not define. Before the
// first server has stored its folder, nobody knows of any.
func undefinedAgents(rx *db.Rx, agents []string) ([]string, error) {
	list, err := rx.AgentFiles()
	if err != nil || len(list) == 0 {
		return nil, err
	}
	defined := map[string]bool{}
	for _, f := range list {
		defined[f.Agent] = f.Hash != ""
	}
	return slices.DeleteFunc(agents, func(id string) bool { return defined[id] }), nil
}

// definitionIsCurrent reports whether this server knows the definition of an agent that the
// database has. A change by another server reaches the folder a moment later.
func (tx *txn) definitionIsCurrent(agent string) (bool, error) {
	if !tx.s.db.Shared() {
		return true, nil
	}
	stored, err := tx.AgentFile(agent)
	def, _ := tx.s.agents.Agent(agent)
	return stored.Hash == def.FileHash || stored.Version <= tx.s.agentFiles.version.Load(), err
}
