package service

import (
	"context"
	"sync"

	"taskyard/task"
)

// mcpRuns remembers which running runs have reached the MCP server. A stop of
// this process ends those runs whose program is given it.
type mcpRuns struct {
	mu      sync.Mutex
	reached map[task.ID]bool
}

// ReachedMCP notes that the caller reached the MCP server. Where there may be
// several servers, the one that executes the run is told.
func (s *Service) ReachedMCP(ctx context.Context, a task.Actor) {
	if a.RunID == 0 || !s.mcp.add(a.RunID) || s.serverID() == "" {
		return
	}
	err := change(ctx, s, task.SystemActor, func(tx *txn) error {
		tx.news.MCP = append(tx.news.MCP, a.RunID)
		return nil
	})
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "failed to tell the other servers that a run reached MCP", "run_id", a.RunID, "error", err)
	}
}

// add reports whether the run had not been noted.
func (m *mcpRuns) add(run task.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reached == nil {
		m.reached = map[task.ID]bool{}
	}
	known := m.reached[run]
	m.reached[run] = true
	return !known
}

func (m *mcpRuns) has(run task.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reached[run]
}

// forget drops runs that have ended.
func (m *mcpRuns) forget(runs []task.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range runs {
		delete(m.reached, id)
	}
}

const neverReachedMCP = "Warning: its program never reached Taskyard's MCP server (/mcp), so it had none of Taskyard's tools. " +
	"It may keep MCP servers off in folders that it does not trust: see docs/runners.md"

// noteMCP says in the transcript of a run that worked, and whose program is
// given the MCP server, that it never reached it.
func (tx *txn) noteMCP(r *task.Run, f Finished) error {
	worked := r.Phase == task.PhaseWorking || r.Phase == task.PhaseCondensing
	if !tx.s.runTraits(r).MCP || !worked || f.State.Phase == task.PhaseAuth || tx.s.mcp.has(r.ID) {
		return nil
	}
	_, err := tx.InsertMessage(task.Message{
		TaskID: r.TaskID, RunID: r.ID, Kind: task.KindRun, Author: r.Agent, Role: task.SpeakerSystem, Type: "log", Content: neverReachedMCP,
	})
	return err
}
