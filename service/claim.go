package service

import (
	"context"
	"strings"

	"taskyard/task"
)

// Signup claims up to count (1 to 50) of the first free tasks of an agent's
// queue and returns them with relations; none is a normal, empty answer.
// Errors: unknown agent, another's name, paused, max_claims reached.
func (s *Service) Signup(ctx context.Context, a task.Actor, agent string, count int) ([]*task.Task, error) {
	if err := s.maySignup(a, agent, count); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(t *tx) ([]*task.Task, error) { return t.signup(agent, count) })
}

func (s *Service) maySignup(a task.Actor, agent string, count int) error {
	if err := s.mayClaim(a, agent); err != nil {
		return err
	}
	if count < 1 || count > task.MaxBatch {
		return task.FieldErrorf("count", "must be 1 to %d", task.MaxBatch)
	}
	return nil
}

// AutoSignup is the answer of AutoSignup.
type AutoSignup struct {
	Tasks []*task.Task `json:"tasks" doc:"what this call claimed, with relations"`
	Held  []task.ID    `json:"held" doc:"every task that the agent works on now, at most 500"`
}

// AutoSignup claims tasks of an agent's queue until it holds maxConcurrent (1
// to 50) claims, those it has already included, or its max_claims. Nothing to
// claim is a normal answer. Errors: unknown agent, another's name, paused.
func (s *Service) AutoSignup(ctx context.Context, a task.Actor, agent string, maxConcurrent int) (AutoSignup, error) {
	if err := s.mayClaim(a, agent); err != nil {
		return AutoSignup{}, err
	}
	if maxConcurrent < 1 || maxConcurrent > task.MaxBatch {
		return AutoSignup{}, task.FieldErrorf("maxConcurrent", "must be 1 to %d", task.MaxBatch)
	}
	return mutate(ctx, s, a, func(t *tx) (AutoSignup, error) {
		held, err := t.Claims(agent)
		if err != nil {
			return AutoSignup{}, err
		}
		want := maxConcurrent
		if def, _ := s.agents.Agent(agent); def.MaxClaims > 0 {
			want = min(want, def.MaxClaims)
		}
		out := AutoSignup{Tasks: []*task.Task{}}
		if want > held {
			if out.Tasks, err = t.signup(agent, want-held); err != nil {
				return AutoSignup{}, err
			}
		}
		out.Held, err = t.Held(agent, task.MaxReassign)
		return out, err
	})
}

func (s *Service) mayClaim(a task.Actor, agent string) error {
	if err := s.allowedOwn(a, task.Claiming); err != nil {
		return err
	}
	if err := speaks(a, agent); err != nil {
		return err
	}
	if _, ok := s.agents.Agent(agent); !ok {
		_, err := s.known("agent", agent)
		return err
	}
	return nil
}

func (t *tx) signup(agent string, count int) ([]*task.Task, error) {
	room, err := t.room(agent)
	if err != nil {
		return nil, err
	}
	count = min(count, room)
	claim := t.ClaimNext
	if def, _ := t.s.agents.Agent(agent); t.actor.RunID != 0 && t.s.policyOf(def) != task.ApproveNever {
		claim = t.ClaimConsented // else a run would do what its own runs wait for
	}
	list := make([]*task.Task, 0, count)
	for bytes := 0; len(list) < count && bytes <= task.MaxTaskText; { // who claims many long tasks gets them in several calls
		k, err := claim(agent, t.s.cfg.Lease)
		if err != nil {
			return nil, err
		}
		if k == nil {
			return list, nil
		}
		if err := t.claimed(k.ID, k.Owner, k.Claim.ID); err != nil {
			return nil, err
		}
		t.inboxIf(k.Failures > 0)
		list = append(list, k)
		bytes += k.JSONBytes()
	}
	return list, nil
}

// room returns how many more claims an agent may hold. Errors: none, paused.
func (t *tx) room(agent string) (int, error) {
	if err := t.notPaused(agent); err != nil {
		return 0, err
	}
	def, _ := t.s.agents.Agent(agent)
	if def.MaxClaims == 0 {
		return task.MaxBatch, nil
	}
	held, err := t.Claims(agent)
	if err == nil && held >= def.MaxClaims {
		err = task.Errorf(task.Conflict, task.CodeMaxClaims, "agent %s holds %d of %d claims (max_claims): complete, move or release one first", agent, held, def.MaxClaims)
	}
	return def.MaxClaims - held, err
}

func (t *tx) claimed(id task.ID, owner string, claim int64) error {
	if err := t.reach(id, claim); err != nil {
		return err
	}
	return t.event(task.EvTaskClaimed, task.Event{TaskID: id, Agent: owner}, changes{"claim": claim, "holder": owner})
}

// claim claims one task for its owner; the caller has checked that it may be.
func (t *tx) claim(k *task.Task) error {
	if err := t.Claim(k.ID, k.Owner, t.s.cfg.Lease); err != nil {
		return err
	}
	now, err := t.TaskBare(k.ID)
	if err != nil {
		return err
	}
	return t.claimed(k.ID, k.Owner, now.Claim.ID)
}

func (t *tx) release(k *task.Task, how string) error {
	if err := t.Release(k.ID); err != nil {
		return err
	}
	t.inboxIf(k.Failures > 0)
	return t.event(task.EvTaskReleased, task.Event{TaskID: k.ID, Agent: k.Owner}, changes{"claim": k.Claim.ID, "holder": k.Claim.Holder, "how": how})
}

// Move is what a caller says of a hand-over.
type Move struct {
	TaskID       task.ID
	CurrentAgent string
	NewAgent     string
	Comment      string
	Claim        int64
}

// MoveTask hands a working task to another agent with a comment by the
// current one, and wakes the new owner. Errors: unknown task or agent,
// archived, not assigned to the current agent, not working, stale claim.
func (s *Service) MoveTask(ctx context.Context, a task.Actor, m Move) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Claiming); err != nil {
		return nil, err
	}
	if err := speaks(a, m.CurrentAgent); err != nil {
		return nil, err
	}
	var p task.Problems
	p.CheckComment("comment", m.Comment)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(t *tx) (*task.Task, error) {
		k, err := t.find(m.TaskID, false)
		if err != nil {
			return nil, err
		}
		if err := t.mayMove(k, m); err != nil {
			return nil, err
		}
		if err := t.handOver(k, m.NewAgent, m.CurrentAgent, m.Comment); err != nil {
			return nil, err
		}
		return t.Task(k.ID)
	})
}

// notAssigned refuses what only the owner of a task may do.
func notAssigned(k *task.Task, agent string) error {
	return task.Errorf(task.Conflict, task.CodeNotAssigned, "Task %d is not assigned to %s (currently assigned to: %s)", k.ID, agent, k.Owner)
}

func (t *tx) mayMove(k *task.Task, m Move) error {
	switch {
	case k.Status.Archived():
		state := string(k.Status)
		if k.Status == task.Done {
			state = string(task.Complete)
		}
		return task.Errorf(task.Conflict, task.CodeArchived, "Task %d is %s and cannot be transferred (current status: %s)", k.ID, state, state)
	case k.Owner != m.CurrentAgent:
		return notAssigned(k, m.CurrentAgent)
	case k.WorkStatus != task.Working:
		now := string(k.WorkStatus)
		if now == "" {
			now = string(k.Status)
		}
		return task.Errorf(task.Conflict, task.CodeNotWorking, "Task %d is not in working status (current status: %s)", k.ID, now)
	}
	if err := changeable(&t.Rx, t.actor, k); err != nil {
		return err
	}
	if err := fence(k, m.Claim); err != nil {
		return err
	}
	return t.s.owner("newAgent", m.NewAgent, k.Status)
}

func (t *tx) handOver(k *task.Task, to, author, comment string) error {
	if err := t.comment(k.ID, task.KindHandoff, author, strings.TrimSpace(comment)); err != nil {
		return err
	}
	return t.transfer(k, to, strings.TrimSpace(comment), true)
}

// transfer changes the owner, ends the claim, ends a run of the old owner
// unless it is the caller's own, and with wakes wakes the new owner.
func (t *tx) transfer(k *task.Task, to, comment string, wakes bool) error {
	if err := t.bindHandOver(k); err != nil {
		return err
	}
	if err := t.brought(k.ID, task.PartOwner); err != nil {
		return err
	}
	if err := t.closeRun(k, "the task moved to "+to, false); err != nil {
		return err
	}
	if err := t.Transfer(k.ID, to); err != nil {
		return err
	}
	t.inboxIf(k.Failures > 0)
	from := k.Owner
	k.Owner, k.Claim = to, nil
	t.topics = append(t.topics, "queue:"+from)
	c := changes{"owner": []string{from, to}}
	if comment != "" {
		c["comment"] = comment
	}
	if err := t.event(task.EvTaskMoved, task.Event{TaskID: k.ID, Agent: to}, c); err != nil {
		return err
	}
	if !wakes || k.Status != task.Active {
		return nil
	}
	return t.wake(k, "handed over by "+from)
}

// Reassign hands several tasks of one agent to another, all or none, whether
// they are being worked on or not. Errors as MoveTask, naming the task.
func (s *Service) Reassign(ctx context.Context, a task.Actor, agent string, ids []task.ID, to, comment string) ([]*task.Task, error) {
	if err := s.allowedOwn(a, task.Claiming); err != nil {
		return nil, err
	}
	if err := speaks(a, agent); err != nil {
		return nil, err
	}
	var p task.Problems
	p.CheckComment("comment", comment)
	if len(ids) < 1 || len(ids) > task.MaxReassign {
		p.Add("taskIds", "must name 1 to %d tasks", task.MaxReassign)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	if err := s.owner("newAgent", to, task.Active); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(t *tx) ([]*task.Task, error) {
		tasks, err := t.assignedTo(agent, ids)
		if err != nil {
			return nil, err
		}
		out, bytes := make([]*task.Task, len(tasks)), 0
		for i, k := range tasks {
			if err := t.handOver(k, to, authorFor(a, agent), comment); err != nil {
				return nil, err
			}
			if out[i], err = t.TaskWhole(k.ID); err != nil {
				return nil, err
			}
			if bytes += out[i].JSONBytes(); bytes > task.MaxTaskText {
				out[i] = out[i].Fitted(2 << 10) // many long tasks are told in short
			}
		}
		return out, nil
	})
}

// authorFor names who hands over: the agent itself, or the person.
func authorFor(a task.Actor, agent string) string {
	if a.IsAgent() {
		return agent
	}
	return a.Name
}

func (t *tx) assignedTo(agent string, ids []task.ID) ([]*task.Task, error) {
	seen := map[task.ID]bool{}
	list := make([]*task.Task, 0, len(ids))
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		k, err := t.find(id, false)
		if err != nil {
			return nil, err
		}
		if k.Owner != agent && !k.Status.Archived() {
			return nil, notAssigned(k, agent)
		}
		if k, err = t.open(id, false); err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	return list, nil
}

// CompletedAndNext is the answer of CompleteAndSignup.
type CompletedAndNext struct {
	Completed *task.Task `json:"completed"`
	Task      *task.Task `json:"task" doc:"null when the queue is empty"`
	Paused    string     `json:"paused,omitempty" doc:"why nothing was claimed, when a pause keeps the agent from it"`
}

// CompleteAndSignup completes one task of an agent and claims its next, in
// one transaction.
func (s *Service) CompleteAndSignup(ctx context.Context, a task.Actor, agent string, id task.ID, summary string, claim int64) (CompletedAndNext, error) {
	if err := s.mayClaim(a, agent); err != nil {
		return CompletedAndNext{}, err
	}
	if err := checkText("summary", summary); err != nil {
		return CompletedAndNext{}, err
	}
	return mutate(ctx, s, a, func(t *tx) (out CompletedAndNext, err error) {
		k, err := t.find(id, false)
		if err != nil {
			return out, err
		}
		if k.Owner != agent {
			return out, notAssigned(k, agent)
		}
		if err := t.mayEnd(k, task.Done, claim); err != nil {
			return out, err
		}
		if err := t.complete(k, summary); err != nil {
			return out, err
		}
		if out.Completed, err = t.Task(id); err != nil {
			return out, err
		}
		next, err := t.signup(agent, 1)
		if task.IsCode(err, task.CodePaused) {
			out.Paused = err.Error()
			return out, nil // a pause must not keep finished work from being handed in
		}
		if err == nil && len(next) == 1 {
			out.Task = next[0]
		}
		return out, err
	})
}

// ReleaseClaim ends the claim of a task. Errors: not working, stale claim.
func (s *Service) ReleaseClaim(ctx context.Context, a task.Actor, id task.ID, claim int64) (*task.Task, error) {
	return s.onClaim(ctx, a, id, claim, func(t *tx, k *task.Task) error { return t.release(k, "released") })
}

// Heartbeat lets the claim of a task run for a whole lease again. Errors: not
// working, stale claim.
func (s *Service) Heartbeat(ctx context.Context, a task.Actor, id task.ID, claim int64) (*task.Task, error) {
	return s.onClaim(ctx, a, id, claim, func(t *tx, k *task.Task) error { return t.Renew(k.ID, s.cfg.Lease) })
}

func (s *Service) onClaim(ctx context.Context, a task.Actor, id task.ID, claim int64, act func(*tx, *task.Task) error) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Claiming); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(t *tx) (*task.Task, error) {
		k, err := t.open(id, false)
		if err != nil {
			return nil, err
		}
		if err := fence(k, claim); err != nil {
			return nil, err
		}
		if k.Claim == nil {
			return nil, task.Errorf(task.Conflict, task.CodeNotWorking, "Task %d is not in working status (current status: %s)", id, k.WorkStatus)
		}
		if err := act(t, k); err != nil {
			return nil, err
		}
		return t.Task(id)
	})
}

// ReleaseExpired releases claims whose lease has run out, each with a comment
// by the system, and returns how many.
func (s *Service) ReleaseExpired(ctx context.Context) (int, error) {
	return mutate(ctx, s, task.SystemActor, func(t *tx) (int, error) {
		list, err := t.Expired(200)
		if err != nil {
			return 0, err
		}
		for i := range list {
			k := &list[i]
			if err := t.Release(k.ID); err != nil {
				return 0, err
			}
			if err := t.comment(k.ID, task.KindSystem, task.System, "The claim of "+k.Claim.Holder+" expired without a sign of life; the task is free again."); err != nil {
				return 0, err
			}
			if err := t.event(task.EvClaimExpired, task.Event{TaskID: k.ID, Agent: k.Owner}, changes{"claim": k.Claim.ID, "holder": k.Claim.Holder}); err != nil {
				return 0, err
			}
		}
		return len(list), nil
	})
}
