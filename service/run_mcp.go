package service

import (
	"context"

	"taskyard/task"
)

// ReachedMCP records that the caller reached the MCP server. If there may be
// several servers, it notifies the one that executes the run.
func (s *Service) ReachedMCP(ctx context.Context, a task.Actor) {
	if a.RunID == 0 {
		return
	}
	if _, known := s.reachedMCP.LoadOrStore(a.RunID, true); known || s.serverID() == "" {
		return
	}
	err := change(ctx, s, task.SystemActor, func(tx *txn) error {
		tx.signals.MCP = append(tx.signals.MCP, a.RunID)
		return nil
	})
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "failed to tell the other servers that a run reached MCP", "run_id", a.RunID, "error", err)
	}
}

const neverReachedMCP = "Warning: its program never reached Taskyard's MCP server (/mcp), so it had none of Taskyard's tools. " +
	"It may keep MCP servers off in folders that it does not trust: see docs/runners.md"

// noteMCP says in the transcript of a run that worked, and whose program is
// given the MCP server, that it never reached it.
func (tx *txn) noteMCP(r *task.Run, f Finished) error {
	worked := r.Phase == task.PhaseWorking || r.Phase == task.PhaseCondensing
	_, reached := tx.s.reachedMCP.Load(r.ID)
	if !tx.s.runTraits(r).MCP || !worked || f.State.Phase == task.PhaseAuth || reached {
		return nil
	}
	_, err := tx.InsertMessage(task.Message{
		TaskID: r.TaskID, RunID: r.ID, Kind: task.KindRun, Author: r.Agent, Role: task.SpeakerSystem, Type: "log", Content: neverReachedMCP,
	})
	return err
}
