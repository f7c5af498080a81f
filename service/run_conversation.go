package service

import (
	"context"
	"slices"

	"taskyard/db"
	"taskyard/task"
)

// continues returns the run whose conversation a run of an agent begins with, 0
// for none: the last run of the task, if the same agent ended its turn there,
// worked under the same instructions, and something has now woken it. A retry
// begins where the run began that it repeats. What the conversation leaves out
// the prompt has.
func (tx *txn) continues(def task.Agent, now Runner, r *task.Run) (task.ID, error) {
	if !now.Converses {
		return 0, nil
	}
	var last *task.Run
	var err error
	switch r.Cause {
	case task.CauseWake, task.CauseFollowUp:
		last, err = tx.LastEndedRun(r.TaskID)
	case task.CauseRetry:
		var failed *task.Run
		if failed, err = tx.Run(r.RetryOf); err == nil && failed.Spec != nil && failed.Spec.Continues != 0 {
			last, err = tx.Run(failed.Spec.Continues)
		}
	}
	if err != nil || last == nil || last.Status != task.RunCompleted || last.Agent != def.ID || last.Spec == nil {
		return 0, err
	}
	tools, limits := tx.s.runRights(def, r.Ask)
	if s := last.Spec; s.Runner != def.Runner || tx.s.runTraits(last).Kind != now.Kind || s.Model != now.runModel(def, r.Ask) ||
		s.SystemPrompt != def.Prompt || s.TaskTools != def.TaskTools || !slices.Equal(s.Tools, tools) {
		return 0, nil
	}
	list, err := conversation(&tx.Rx, last.ID, limits.ConversationRoom())
	if err != nil || list == nil {
		return 0, err
	}
	return last.ID, nil
}

// conversation returns what was said up to the end of a run, oldest first, or
// nil when that is more than room.
func conversation(rx *db.Rx, id task.ID, room int) (list []task.Exchange, err error) {
	for id != 0 {
		r, err := rx.Run(id)
		if err != nil || r.Spec == nil {
			return nil, err
		}
		lines, complete, err := rx.RunConversation(id)
		if err != nil {
			return nil, err
		}
		e := task.Exchange{Prompt: r.Spec.Prompt, Lines: lines}
		if room -= e.Size(); room < 0 || !complete {
			return nil, nil
		}
		list = append(list, e)
		id = r.Spec.Continues
	}
	slices.Reverse(list)
	return list, nil
}

// Conversation returns the conversation with which a run begins, oldest first;
// nil for none.
func (s *Service) Conversation(ctx context.Context, r *task.Run) ([]task.Exchange, error) {
	if r.Spec == nil || r.Spec.Continues == 0 {
		return nil, nil
	}
	return read(ctx, s, func(rx *db.Rx) ([]task.Exchange, error) {
		return conversation(rx, r.Spec.Continues, task.MaxConversation)
	})
}
