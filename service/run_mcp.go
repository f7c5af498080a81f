package service

import (
	"sync"

	"taskyard/task"
)

// mcpRuns remembers which running runs have reached the MCP server. A stop of
// this process ends those runs whose program is given it.
type mcpRuns struct {
	mu      sync.Mutex
	reached map[task.ID]bool
}

// ReachedMCP notes that the caller reached the MCP server.
func (s *Service) ReachedMCP(a task.Actor) {
	if a.RunID == 0 {
		return
	}
	s.mcp.mu.Lock()
	defer s.mcp.mu.Unlock()
	if s.mcp.reached == nil {
		s.mcp.reached = map[task.ID]bool{}
	}
	s.mcp.reached[a.RunID] = true
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
	if !tx.s.traitsOf(r).MCP || !worked || f.State.Phase == task.PhaseAuth || tx.s.mcp.has(r.ID) {
		return nil
	}
	_, err := tx.InsertMessage(task.Message{
		TaskID: r.TaskID, RunID: r.ID, Kind: task.KindRun, Author: r.Agent, Role: task.SpeakerSystem, Type: "log", Content: neverReachedMCP,
	})
	return err
}
