package service

import (
	"cmp"
	"context"
	"strings"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// Signup claims up to count (1 to 50) of the first free tasks of an agent's
// queue and returns them with relations; none is a normal, empty answer.
// Errors: unknown agent, another's name, paused, max_claims reached.
func (s *Service) Signup(ctx context.Context, a task.Actor, agent string, count int) ([]*task.Task, error) {
	if err := s.maySignup(a, agent, count); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(tx *txn) ([]*task.Task, error) { return tx.signup(agent, count) })
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
	Tasks []*task.Task `json:"tasks" doc:"tasks that this call claimed, with relations"`
	Held  []task.ID    `json:"held" doc:"all tasks that the agent is working on, at most 500"`
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
	return mutate(ctx, s, a, func(tx *txn) (AutoSignup, error) {
		claimed, err := tx.Claims(agent)
		if err != nil {
			return AutoSignup{}, err
		}
		want := maxConcurrent
		if def, _ := s.agents.Agent(agent); def.MaxClaims > 0 {
			want = min(want, def.MaxClaims)
		}
		out := AutoSignup{Tasks: []*task.Task{}}
		if want > claimed {
			if out.Tasks, err = tx.signup(agent, want-claimed); err != nil {
				return AutoSignup{}, err
			}
		}
		out.Held, err = tx.ClaimedIDs(agent, task.MaxReassign)
		return out, err
	})
}

// Held returns the tasks that an agent holds live claims on, at most 500, by
// ID, so that it finds them after a restart. Errors: unknown agent, another's
// name.
func (s *Service) Held(ctx context.Context, a task.Actor, agent string) ([]task.ID, error) {
	if err := s.mayClaim(a, agent); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]task.ID, error) { return rx.ClaimedIDs(agent, task.MaxReassign) })
}

func (s *Service) mayClaim(a task.Actor, agent string) error {
	if err := s.allowedOwn(a, task.Claiming); err != nil {
		return err
	}
	if err := a.CheckActsAs(agent); err != nil {
		return err
	}
	return s.checkAgentExists(agent)
}

func (tx *txn) signup(agent string, count int) ([]*task.Task, error) {
	room, err := tx.claimsLeft(agent)
	if err != nil {
		return nil, err
	}
	count = min(count, room)
	claim := tx.ClaimNext
	def, _ := tx.s.agents.Agent(agent)
	list := make([]*task.Task, 0, count)
	switch policy := tx.s.approvalPolicy(def); { // a run must not do what other runs of its agent wait for
	case tx.actor.RunID == 0 || policy == task.ApproveNever:
	case policy == task.ApproveAlways:
		return list, nil
	default:
		claim = tx.ClaimConsented
	}
	for bytes := 0; len(list) < count && bytes <= task.MaxTaskText; { // who claims many long tasks gets them in several calls
		tk, err := claim(agent, def.Projects, tx.s.config().Lease)
		if err != nil {
			return nil, err
		}
		if tk == nil {
			return list, nil
		}
		if err := tx.recordClaim(tk.ID, tk.Owner, tk.Claim.ID); err != nil {
			return nil, err
		}
		tx.inboxIf(tk.Failures > 0)
		list = append(list, tk)
		bytes += tk.JSONBytes()
	}
	return list, nil
}

// claimsLeft returns how many more claims an agent may hold. Errors: none, paused.
func (tx *txn) claimsLeft(agent string) (int, error) {
	if err := tx.checkNotPaused(agent); err != nil {
		return 0, err
	}
	def, _ := tx.s.agents.Agent(agent)
	if def.MaxClaims == 0 {
		return task.MaxBatch, nil
	}
	claimed, err := tx.Claims(agent)
	if err != nil || claimed < def.MaxClaims {
		return def.MaxClaims - claimed, err
	}
	ids, err := tx.ClaimedIDs(agent, task.MaxBatch)
	if err != nil {
		return 0, err
	}
	return 0, task.Errorf(task.Conflict, task.CodeMaxClaims, "agent %s holds %d of %d claims (max_claims), on the tasks %s: "+
		"complete, move or release one first", agent, claimed, def.MaxClaims, task.JoinIDs(ids, ", "))
}

func (tx *txn) recordClaim(id task.ID, owner string, claim int64) error {
	if err := tx.recordRunTask(id, claim); err != nil {
		return err
	}
	return tx.event(task.EvTaskClaimed, task.Event{TaskID: id, Agent: owner}, changes{"claim": claim, "holder": owner})
}

// claim claims one task for its owner; the caller has checked that it may be.
func (tx *txn) claim(tk *task.Task) error {
	def, _ := tx.s.agents.Agent(tk.Owner)
	if err := checkWorksOn(def, tk); err != nil {
		return err
	}
	if err := tx.mayClaimInRun(def, tk); err != nil {
		return err
	}
	if err := tx.Claim(tk.ID, tk.Owner, tx.s.config().Lease); err != nil {
		return err
	}
	now, err := tx.TaskRow(tk.ID)
	if err != nil {
		return err
	}
	return tx.recordClaim(tk.ID, tk.Owner, now.Claim.ID)
}

// checkWorksOn refuses an agent work on a project that its definition leaves
// out.
func checkWorksOn(def task.Agent, tk *task.Task) error {
	if def.WorksOn(tk.Project) {
		return nil
	}
	return task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d belongs to project %s, and %s works only on %s: move it to another agent",
		tk.ID, tk.Project, def.ID, strings.Join(def.Projects, ", "))
}

func (tx *txn) release(tk *task.Task, how string) error {
	if err := tx.Release(tk.ID); err != nil {
		return err
	}
	tx.inboxIf(tk.Failures > 0)
	return tx.taskEvent(task.EvTaskReleased, tk, changes{"claim": tk.Claim.ID, "holder": tk.Claim.Holder, "how": how})
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
	if err := a.CheckActsAs(m.CurrentAgent); err != nil {
		return nil, err
	}
	if err := checkComment("comment", m.Comment); err != nil {
		return nil, joinInvalid(err, s.checkOwner("newAgent", m.NewAgent, task.Draft))
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Task, error) {
		tk, err := tx.find(m.TaskID, false)
		if err != nil {
			return nil, err
		}
		if err := tx.mayMove(tk, m); err != nil {
			return nil, err
		}
		if err := tx.handOver(tk, m.NewAgent, m.CurrentAgent, m.Comment); err != nil {
			return nil, err
		}
		return tx.Task(tk.ID)
	})
}

// notAssignedError refuses what only the owner of a task may do.
func notAssignedError(tk *task.Task, agent string) error {
	return task.Errorf(task.Conflict, task.CodeNotAssigned,
		"Task %d is not assigned to %s (currently assigned to: %s)", tk.ID, agent, tk.Owner)
}

func (tx *txn) mayMove(tk *task.Task, m Move) error {
	switch {
	case tk.Status.Archived():
		state := string(tk.Status)
		if tk.Status == task.Done {
			state = string(task.Complete)
		}
		return task.Errorf(task.Conflict, task.CodeArchived, "Task %d is %s and cannot be transferred (current status: %s)", tk.ID, state, state)
	case tk.Owner != m.CurrentAgent:
		return notAssignedError(tk, m.CurrentAgent)
	case tk.WorkStatus != task.Working:
		now := cmp.Or(string(tk.WorkStatus), string(tk.Status))
		return task.Errorf(task.Conflict, task.CodeNotWorking, "Task %d is not in working status (current status: %s)", tk.ID, now)
	}
	if err := checkMayChange(&tx.Rx, tx.actor, tk); err != nil {
		return err
	}
	if err := checkClaimID(tk, m.Claim); err != nil {
		return err
	}
	return tx.s.checkOwner("newAgent", m.NewAgent, tk.Status)
}

func (tx *txn) handOver(tk *task.Task, to, author, comment string) error {
	if err := tx.checkFitsProject("newAgent", to, tk.Project); err != nil {
		return err
	}
	if err := tx.comment(tk.ID, task.KindHandoff, author, strings.TrimSpace(comment)); err != nil {
		return err
	}
	if err := tx.recordComment(tk); err != nil { // it stays when a person chooses another owner
		return err
	}
	return tx.transfer(tk, to, strings.TrimSpace(comment), true)
}

// transfer changes the owner, ends the claim, ends a run of the old owner
// unless it is the caller's own, and with wakes wakes the new owner. A person
// who does it has the new owner try what failed or was denied; an agent cannot
// decide that.
func (tx *txn) transfer(tk *task.Task, to, comment string, wakes bool) error {
	if err := tx.bindHandOver(tk); err != nil {
		return err
	}
	if err := tx.bindOwner(tk); err != nil {
		return err
	}
	if err := tx.recordContribution(tk.ID, task.PartOwner); err != nil {
		return err
	}
	if err := tx.closeRun(tk, "the task moved to "+to, false); err != nil {
		return err
	}
	if err := tx.Transfer(tk.ID, to); err != nil {
		return err
	}
	tx.inboxIf(tk.Failures > 0)
	if !tx.actor.IsAgent() && tk.Failures > 0 {
		if err := tx.SetFailures(tk.ID, 0); err != nil {
			return err
		}
		tk.Failures = 0
	}
	from := tk.Owner
	tk.Owner, tk.Claim = to, nil
	tx.signals.Topics = append(tx.signals.Topics, "queue:"+from)
	c := changes{"owner": []string{from, to}}
	if comment != "" {
		c["comment"] = comment
	}
	if err := tx.taskEvent(task.EvTaskMoved, tk, c); err != nil {
		return err
	}
	if !wakes || tk.Status != task.Active {
		return nil
	}
	return tx.wake(tk, "handed over by "+from)
}

// Reassign hands several tasks of one agent to another, all or none, whether
// they are being worked on or not. Errors as MoveTask, naming the task.
func (s *Service) Reassign(ctx context.Context, a task.Actor, agent string, ids []task.ID, to, comment string) ([]*task.Task, error) {
	if err := s.allowedOwn(a, task.Claiming); err != nil {
		return nil, err
	}
	if err := a.CheckActsAs(agent); err != nil {
		return nil, err
	}
	var p task.Problems
	p.CheckComment("comment", comment)
	if len(ids) < 1 || len(ids) > task.MaxReassign {
		p.Add("taskIds", "must name 1 to %d tasks", task.MaxReassign)
	}
	if err := p.Err(); err != nil {
		return nil, joinInvalid(err, s.checkOwner("newAgent", to, task.Draft))
	}
	return mutate(ctx, s, a, func(tx *txn) ([]*task.Task, error) {
		if err := s.checkOwner("newAgent", to, task.Active); err != nil {
			return nil, err
		}
		tasks, err := tx.assignedTo(agent, ids)
		if err != nil {
			// The tasks of an agent that is deleted can be moved.
			return nil, cmp.Or(s.checkAgentExists(agent), err)
		}
		out, bytes := make([]*task.Task, len(tasks)), 0
		for i, tk := range tasks {
			if err := tx.handOver(tk, to, a.Name, comment); err != nil {
				return nil, err
			}
			if out[i], err = tx.TaskWithTexts(tk.ID); err != nil {
				return nil, err
			}
			if bytes += out[i].JSONBytes(); bytes > task.MaxTaskText {
				out[i] = out[i].Fitted(2 << 10) // many long tasks are told in short
			}
		}
		return out, nil
	})
}

func (tx *txn) assignedTo(agent string, ids []task.ID) ([]*task.Task, error) {
	seen := map[task.ID]bool{}
	list := make([]*task.Task, 0, len(ids))
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		tk, err := tx.find(id, false)
		if err != nil {
			return nil, err
		}
		if tk.Owner != agent && !tk.Status.Archived() {
			return nil, notAssignedError(tk, agent)
		}
		if tk, err = tx.open(id, false); err != nil {
			return nil, err
		}
		list = append(list, tk)
	}
	return list, nil
}

// ReleaseClaim ends the claim of a task. Errors: not working, stale claim.
func (s *Service) ReleaseClaim(ctx context.Context, a task.Actor, id task.ID, claim int64) (*task.Task, error) {
	return s.onClaim(ctx, a, id, claim, func(tx *txn, tk *task.Task) error { return tx.release(tk, "released") })
}

// Heartbeat lets the claim of a task run for a whole lease again. Errors: not
// working, stale claim.
func (s *Service) Heartbeat(ctx context.Context, a task.Actor, id task.ID, claim int64) (*task.Task, error) {
	return s.onClaim(ctx, a, id, claim, func(tx *txn, tk *task.Task) error { return tx.Renew(tk.ID, s.config().Lease) })
}

// renewByReading renews the claim of the agent that reads its task: who reads
// works. Within a minute, or a tenth of the lease, once is enough.
func (s *Service) renewByReading(ctx context.Context, a task.Actor, tk *task.Task) error {
	now, slack := s.Now(), min(s.config().Lease/10, time.Minute)
	if !a.IsAgent() || !tk.Claim.Live(now) || tk.Claim.Holder != a.Name || tk.Claim.ExpiresAt > now.Add(s.config().Lease-slack) {
		return nil
	}
	return change(WithIdempotency(ctx, nil), s, a, func(tx *txn) error {
		claimed, err := tx.TaskRow(tk.ID)
		if err != nil || claimed.Claim == nil || claimed.Claim.ID != tk.Claim.ID {
			return err
		}
		tk.Claim.ExpiresAt = tx.Now.Add(s.config().Lease)
		return tx.Renew(tk.ID, s.config().Lease)
	})
}

func (s *Service) onClaim(
	ctx context.Context, a task.Actor, id task.ID, claim int64, act func(*txn, *task.Task) error,
) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Claiming); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Task, error) {
		tk, err := tx.open(id, false)
		if err != nil {
			return nil, err
		}
		if err := checkClaimID(tk, claim); err != nil {
			return nil, err
		}
		if tk.Claim == nil {
			return nil, task.Errorf(task.Conflict, task.CodeNotWorking, "Task %d is not in working status (current status: %s)", id, tk.WorkStatus)
		}
		if err := act(tx, tk); err != nil {
			return nil, err
		}
		return tx.Task(id)
	})
}

// ReleaseExpired releases claims whose lease has run out, each with a comment
// by the system, and returns how many.
func (s *Service) ReleaseExpired(ctx context.Context) (int, error) {
	return mutate(ctx, s, task.SystemActor, func(tx *txn) (int, error) {
		list, err := tx.Expired(200)
		if err != nil {
			return 0, err
		}
		for i := range list {
			tk := &list[i]
			if err := tx.Release(tk.ID); err != nil {
				return 0, err
			}
			if err := tx.comment(tk.ID, task.KindSystem, task.System, "The claim of "+tk.Claim.Holder+
				" expired without a heartbeat; the task is free again."); err != nil {
				return 0, err
			}
			if err := tx.taskEvent(task.EvClaimExpired, tk, changes{"claim": tk.Claim.ID, "holder": tk.Claim.Holder}); err != nil {
				return 0, err
			}
		}
		return len(list), nil
	})
}
