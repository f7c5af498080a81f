package service

import (
	"context"
	"errors"
	"slices"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// Pause stops dispatch and signups of an agent, or of the whole instance with
// agent "", until a person resumes it. Running runs and claims continue, and
// runs that wakes ask for queue up. It returns what is paused by now. Errors:
// not a person, blank reason, unknown agent, paused already.
func (s *Service) Pause(ctx context.Context, a task.Actor, agent, reason string) (task.Pauses, error) {
	if err := s.mayPause(a, agent, reason); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(tx *txn) (task.Pauses, error) {
		now, err := tx.Pauses()
		if err != nil {
			return nil, err
		}
		if p := now.Own(agent); p != nil {
			e := p.Err()
			e.Message += "; resume it first to change the reason"
			e.Retry = 0 // pausing again later is no better
			return nil, e
		}
		if err := tx.pause(agent, strings.TrimSpace(reason)); err != nil {
			return nil, err
		}
		return tx.Pauses()
	})
}

func (s *Service) mayPause(a task.Actor, agent, reason string) error {
	if err := s.allowed(a, task.Person); err != nil {
		return err
	}
	if err := checkComment("reason", reason); err != nil {
		return err
	}
	if agent == "" {
		return nil
	}
	_, err := s.knownAgent("agent", agent)
	return err
}

// pause writes a pause that is not there yet.
func (tx *txn) pause(agent, reason string) error {
	if err := tx.InsertPause(task.Pause{Agent: agent, By: tx.actor.Name, Reason: reason}); err != nil {
		return err
	}
	kind := task.EvAgentPaused
	if agent == "" {
		kind = task.EvInstancePaused
	}
	return tx.event(kind, task.Event{Agent: agent}, changes{"reason": reason})
}

// Resume ends a pause; what queued up starts. It returns what is still
// paused. Errors: not a person, overlong reason, unknown agent, not paused.
func (s *Service) Resume(ctx context.Context, a task.Actor, agent, reason string) (task.Pauses, error) {
	out, err := s.resume(ctx, a, agent, reason, false)
	return out.Pauses, err
}

// ResumeAndRestart is Resume of the whole instance, and makes a run of each
// task whose run was stopped by StopEverything meanwhile, where one can be made.
func (s *Service) ResumeAndRestart(ctx context.Context, a task.Actor, reason string) (task.Restarted, error) {
	return s.resume(ctx, a, "", reason, true)
}

func (s *Service) resume(ctx context.Context, a task.Actor, agent, reason string, restart bool) (task.Restarted, error) {
	if err := s.allowed(a, task.Person); err != nil {
		return task.Restarted{}, err
	}
	if err := checkText("reason", reason); err != nil {
		return task.Restarted{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (out task.Restarted, err error) {
		now, err := tx.Pauses()
		if err != nil {
			return out, err
		}
		p := now.Own(agent)
		if p == nil {
			return out, s.notPausedError(agent)
		}
		if err := tx.resume(p, strings.TrimSpace(reason)); err != nil {
			return out, err
		}
		if restart {
			if out.Runs, err = tx.restart(p.StoppedRuns); err != nil {
				return out, err
			}
		}
		out.Pauses, err = tx.Pauses()
		return out, err
	})
}

// restart makes a run of the task of each run that can have one now.
func (tx *txn) restart(stopped []task.ID) (made []task.ID, err error) {
	for _, id := range stopped {
		r, err := tx.Run(id)
		if err != nil {
			return nil, err
		}
		tk, err := tx.Task(r.TaskID)
		if err != nil {
			return nil, err
		}
		def, err := tx.runnableOwner(tk)
		if _, ok := errors.AsType[*task.Error](err); ok {
			continue // it is done, was handed over, or works again
		}
		if err != nil {
			return nil, err
		}
		run, err := tx.createRun(tk, def, newRun{cause: task.CauseManual, reason: "restarted after everything was stopped", attempt: 1})
		if err != nil {
			return nil, err
		}
		made = append(made, run)
	}
	return made, nil
}

func (s *Service) notPausedError(agent string) error {
	if agent == "" {
		return task.Errorf(task.Conflict, task.CodeNotPaused, "the server is not paused")
	}
	if _, err := s.knownAgent("agent", agent); err != nil {
		return err
	}
	return task.Errorf(task.Conflict, task.CodeNotPaused, "agent %s is not paused", agent)
}

func (tx *txn) resume(p *task.Pause, reason string) error {
	if err := tx.DeletePause(p.Agent); err != nil {
		return err
	}
	kind := task.EvInstanceResumed
	if p.Agent != "" {
		kind = task.EvAgentResumed
		if err := tx.SetSetting(resumedKey(p.Agent), tx.Now.String()); err != nil {
			return err
		}
	}
	c := changes{"by": p.By, "since": p.Since}
	if reason != "" {
		c["reason"] = reason
	}
	tx.signals.Queued = true
	return tx.event(kind, task.Event{Agent: p.Agent}, c)
}

// StopEverything pauses the instance and cancels every running run, with what these
// have delegated, and names them all; the processes exit within seconds.
// Other runs that are queued or wait for approval stay, and start after a
// Resume at the soonest. An instance that is paused already
// stays so, as it is. Errors: not a person, blank reason.
func (s *Service) StopEverything(ctx context.Context, a task.Actor, reason string) (task.Stopped, error) {
	if err := s.mayPause(a, "", reason); err != nil {
		return task.Stopped{}, err
	}
	reason = strings.TrimSpace(reason)
	return mutate(ctx, s, a, func(tx *txn) (out task.Stopped, err error) {
		now, err := tx.Pauses()
		if err != nil {
			return out, err
		}
		if now.Own("") == nil {
			if err := tx.pause("", reason); err != nil {
				return out, err
			}
		}
		if err := tx.cancelRunning("everything was stopped by " + task.ActorLabel(a.Name) + ": " + reason); err != nil {
			return out, err
		}
		out.Runs = append([]task.ID{}, tx.signals.Ended...)
		if err := tx.noteStopped(task.ActorLabel(a.Name) + ": " + reason); err != nil {
			return out, err
		}
		if err := tx.event(task.EvInstanceStopped, task.Event{}, changes{"reason": reason, "runs": out.Runs}); err != nil {
			return out, err
		}
		out.Pauses, err = tx.Pauses()
		return out, err
	})
}

// noteStopped remembers the runs that were stopped whose tasks are still open,
// and puts them into the inbox, where they stay until they are dismissed or
// their task runs again.
func (tx *txn) noteStopped(why string) error {
	now, err := tx.Pauses()
	if err != nil {
		return err
	}
	stopped := now.Own("").StoppedRuns
	for _, id := range tx.signals.Ended {
		r, err := tx.Run(id)
		if err != nil {
			return err
		}
		tk, err := tx.TaskRow(r.TaskID)
		if err != nil {
			return err
		}
		if tk.Status != task.Active || slices.Contains(stopped, id) {
			continue
		}
		stopped = append(stopped, id)
		if err := tx.noticeStopped(r, why); err != nil {
			return err
		}
	}
	return tx.SetStopped(stopped)
}

func (tx *txn) noticeStopped(r *task.Run, why string) error {
	m, err := tx.InsertMessage(task.Message{
		TaskID: r.TaskID, Kind: task.KindNotice, Type: task.MessageStopped, Author: task.System,
		Content: "Run " + r.ID.String() + " was stopped with everything else by " + why + ". Restart it when you resume, or run the task again.",
	})
	if err != nil {
		return err
	}
	if _, err := tx.InsertNotice(m, r.TaskID); err != nil {
		return err
	}
	return tx.event(task.EvNotified, task.Event{TaskID: r.TaskID, Agent: r.Agent}, changes{"message": m})
}

func (tx *txn) cancelRunning(reason string) error {
	list, err := tx.Running()
	if err != nil {
		return err
	}
	for _, r := range list {
		// The end of one run may have ended another.
		now, err := tx.Run(r.ID)
		if err != nil {
			return err
		}
		if now.Status != task.RunRunning {
			continue
		}
		if err := tx.endCanceled(now, task.PhaseBy, reason, ErrStopCanceled); err != nil {
			return err
		}
	}
	return nil
}

// Pauses returns what is paused, the instance first. Error: may not read.
func (s *Service) Pauses(ctx context.Context, a task.Actor) (task.Pauses, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	return s.pauses.get(ctx, s, func(rx *db.Rx) (task.Pauses, error) { return rx.Pauses() })
}

// pausedBy returns the pause that stops an agent, or nil.
func (tx *txn) pausedBy(agent string) (*task.Pause, error) {
	list, err := tx.Pauses()
	return list.For(agent), err
}

// checkNotPaused refuses what a pause of the agent or the instance stops.
func (tx *txn) checkNotPaused(agent string) error {
	p, err := tx.pausedBy(agent)
	if err != nil || p == nil {
		return err
	}
	return p.Err()
}
