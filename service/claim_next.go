package service

import (
	"context"

	"taskyard/db"
	"taskyard/task"
)

// CompletedAndNext is the answer of CompleteAndSignup.
type CompletedAndNext struct {
	Completed *task.Task `json:"completed"`
	Task      *task.Task `json:"task" doc:"null when the queue is empty"`
	Paused    string     `json:"paused,omitempty" doc:"why nothing was claimed, if a pause prevents it"`
	Held      []task.ID  `json:"held,omitempty" doc:"tasks that the agent still holds, if nothing was claimed"`
}

// CompleteAndSignup completes one task of an agent and claims its next, in
// one transaction, unless the task is done only with a result.
func (s *Service) CompleteAndSignup(ctx context.Context, a task.Actor, agent string,
	id task.ID, summary string, claim int64,
) (CompletedAndNext, error) {
	if err := s.mayClaim(a, agent); err != nil {
		return CompletedAndNext{}, err
	}
	if err := checkText("summary", summary); err != nil {
		return CompletedAndNext{}, err
	}
	if proven, err := s.taskNeedsResult(ctx, id); err != nil {
		return CompletedAndNext{}, err
	} else if proven {
		return s.submitAndSignup(ctx, a, agent, id, summary, claim)
	}
	return mutate(ctx, s, a, func(tx *txn) (out CompletedAndNext, err error) {
		tk, err := tx.find(id, false)
		if err != nil {
			return out, err
		}
		if tk.Owner != agent {
			return out, notAssignedError(tk, agent)
		}
		if err := mayEnd(&tx.Rx, a, tk, task.Done, claim); err != nil {
			return out, err
		}
		if err := tx.complete(tk, summary); err != nil {
			return out, err
		}
		if out.Completed, err = tx.Task(id); err != nil {
			return out, err
		}
		return out, tx.signupNext(agent, &out)
	})
}

// taskNeedsResult reports whether a task is done only with a result.
func (s *Service) taskNeedsResult(ctx context.Context, id task.ID) (bool, error) {
	return read(ctx, s, func(rx *db.Rx) (bool, error) {
		tk, err := rx.TaskRow(id)
		if err != nil {
			return false, err
		}
		return s.needsResult(rx, tk)
	})
}

// submitAndSignup is CompleteAndSignup of a task of a project, in two writes: a
// task is claimed only for who still waits when the checks have run.
func (s *Service) submitAndSignup(ctx context.Context, a task.Actor, agent string,
	id task.ID, summary string, claim int64,
) (CompletedAndNext, error) {
	if out, known, err := answered[CompletedAndNext](ctx, s); known || err != nil {
		return out, err
	}
	tk, err := s.Task(ctx, a, id)
	if err != nil {
		return CompletedAndNext{}, err
	}
	if tk.Owner != agent {
		return CompletedAndNext{}, notAssignedError(tk, agent)
	}
	if tk, err = s.CompleteTask(WithIdempotency(ctx, idempotencyFromContext(ctx).firstWrite()), a, id, summary, claim); err != nil {
		return CompletedAndNext{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (out CompletedAndNext, err error) {
		out.Completed = tk
		return out, tx.signupNext(agent, &out)
	})
}

// signupNext claims the next task of an agent that has handed one in.
func (tx *txn) signupNext(agent string, out *CompletedAndNext) error {
	next, err := tx.signup(agent, 1)
	if task.IsCode(err, task.CodePaused) {
		out.Paused, err = err.Error(), nil // a pause must not keep finished work from being handed in
	}
	if err == nil && len(next) == 1 {
		out.Task = next[0]
		return nil
	}
	if err == nil {
		out.Held, err = tx.ClaimedIDs(agent, task.MaxReassign)
	}
	return err
}
