package service

import (
	"slices"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// knownAgent returns the agent that a field names, or CodeUnknownAgent with the
// known ones.
func (s *Service) knownAgent(field, id string) (task.Agent, error) {
	if a, ok := s.agents.Agent(id); ok {
		return a, nil
	}
	return task.Agent{}, &task.Error{Kind: task.Invalid, Code: task.CodeUnknownAgent, Field: field, Message: s.unknownAgent(id)}
}

// checkAgentExists returns CodeAgentNotFound, with the known agents, unless there is one
// of this ID. It is for requests about an agent, such as /api/agents/{id}/signup;
// agentNotFoundError names none: agents with tasks:own may get it.
func (s *Service) checkAgentExists(id string) error {
	if s.KnowsAgent(id) {
		return nil
	}
	return &task.Error{Kind: task.NotFound, Code: task.CodeAgentNotFound, Message: s.unknownAgent(id)}
}

// unknownAgent names the agents that can have work.
func (s *Service) unknownAgent(id string) string {
	return unknownAgent(id, slices.DeleteFunc(slices.Clone(s.agents.Agents()), func(a task.Agent) bool { return !a.Serving }))
}

func unknownAgent(id string, known []task.Agent) string {
	ids := make([]string, len(known))
	for i, a := range known {
		ids[i] = a.ID
	}
	if near := task.Nearest(strings.ToLower(id), ids); near != "" {
		id += ", did you mean " + near + "?"
	}
	return "unknown agent: " + id + " (known agents: " + strings.Join(ids, ", ") + ")"
}

// checkOwner checks that an agent may own a task of this status.
func (s *Service) checkOwner(field, id string, status task.Status) error {
	a, err := s.knownAgent(field, id)
	if err != nil {
		return err
	}
	if !a.Serving && status != task.Draft {
		return &task.Error{
			Kind: task.Invalid, Code: task.CodeInvalidAgent, Field: field,
			Message: "the definition of agent " + id + " is invalid (" + firstProblem(a) + "), so it may own drafts only",
		}
	}
	return nil
}

func firstProblem(a task.Agent) string {
	for _, p := range a.Problems {
		if p.Fatal {
			return p.Message
		}
	}
	return "there is no valid version"
}

// checkPerm checks a permission of the caller.
func checkPerm(a task.Actor, p task.Perm) error {
	if a.May(p) {
		return nil
	}
	if a.Role == task.RoleNone {
		return task.Errorf(task.Unauthorized, task.CodeUnauthorized, "Sign in, or send a token")
	}
	return a.CheckPerm(p)
}

// allowed checks a permission and, for agents, the capability for all tasks. A
// use case that asks this is closed to agents with tasks:own; one that looks at
// the family of each task that it reads or writes asks allowedOwn.
func (s *Service) allowed(a task.Actor, p task.Perm) error {
	if err := s.allowedOwn(a, p); err != nil || !s.isOwnTasksOnly(a) {
		return err
	}
	return ownOnlyError(a)
}

// CheckUsesTasks checks that the caller may use tasks at all: people may, agents
// need the capability.
func (s *Service) CheckUsesTasks(a task.Actor) error { return s.allowedOwn(a, task.Read) }

// checkMayChange checks that the caller may change a task now: people may, an
// agent what is related to it, a run what checkRunMayChange allows. Nobody else's
// token changes a task on which a run works. Errors: forbidden, another run works.
func checkMayChange(rx *db.Rx, a task.Actor, tk *task.Task) error {
	if err := checkRelated(rx, a, tk); err != nil || a.RunID == 0 {
		return err
	}
	open, err := rx.OpenRun(tk.ID)
	if err != nil || open == nil || open.Status != task.RunRunning || open.ID == a.RunID {
		return err
	}
	return task.Errorf(task.Conflict, task.CodeRunOpen,
		"Run %d works on task %d: no other run may change the task until it ends", open.ID, tk.ID)
}

// checkRelated checks that an agent has to do with a task: as owner, creator, or
// owner of an ancestor. The token of a run may change less.
func checkRelated(rx *db.Rx, a task.Actor, tk *task.Task) error {
	switch {
	case !a.IsAgent():
		return nil
	case a.RunID != 0:
		return checkRunMayChange(rx, a, tk)
	case tk.CreatedBy == a.Name || tk.Owner == a.Name:
		return nil
	}
	up, err := rx.Ancestors(tk.ID)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(up, func(p *task.Task) bool { return p.Owner == a.Name }) {
		return nil
	}
	return task.Errorf(task.Forbidden, task.CodeForbidden,
		"agent %s may not change task %d: it is neither owner nor creator, and owns no task above it", a.Name, tk.ID)
}

// checkRunMayChange checks that a run may change a task: its own task while its
// agent owns that, what is below it, what the run created and what it claimed.
func checkRunMayChange(rx *db.Rx, a task.Actor, tk *task.Task) error {
	run, err := rx.Run(a.RunID)
	if err != nil {
		return err
	}
	if run.TaskID == tk.ID {
		if tk.Owner != a.Name {
			return task.Errorf(task.Forbidden, task.CodeForbidden,
				"run %d may no longer change task %d: it now belongs to %s", run.ID, tk.ID, tk.Owner)
		}
		return nil
	}
	at, err := findRelation(rx, run.TaskID, tk.ID)
	if err != nil || at == below {
		return err
	}
	if at == above {
		return task.Errorf(task.Forbidden, task.CodeForbidden, "a run of task %d may not change the task %d above it", run.TaskID, tk.ID)
	}
	claim := int64(0)
	if tk.Claim.Live(rx.Now) {
		claim = tk.Claim.ID
	}
	if ok, err := rx.RunCreatedOrClaimed(run.ID, tk.ID, claim); err != nil || ok {
		return err
	}
	return task.Errorf(task.Forbidden, task.CodeForbidden,
		"run %d may change its own task %d, those below it, those it created and those it claimed; task %d is none of these",
		run.ID, run.TaskID, tk.ID)
}

// relation is how one task relates to another.
type relation int

const (
	unrelated relation = iota
	above
	below
)

// findRelation returns how a task relates to another one.
func findRelation(rx *db.Rx, of, id task.ID) (relation, error) {
	for _, way := range []struct {
		from, to task.ID
		is       relation
	}{{id, of, below}, {of, id, above}} {
		up, err := rx.Ancestors(way.from)
		if err != nil {
			return unrelated, err
		}
		if slices.ContainsFunc(up, func(p *task.Task) bool { return p.ID == way.to }) {
			return way.is, nil
		}
	}
	return unrelated, nil
}

// open returns a task that the caller may change, or the error: unknown,
// archived, not related.
func (tx *txn) open(id task.ID, full bool) (*task.Task, error) {
	tk, err := tx.find(id, full)
	if err != nil {
		return nil, err
	}
	if err := checkMayChange(&tx.Rx, tx.actor, tk); err != nil {
		return nil, err
	}
	if tk.Status.Archived() {
		return nil, archivedError(tk)
	}
	return tk, nil
}

func archivedError(tk *task.Task) error {
	return task.Errorf(task.Conflict, task.CodeArchived, "Task %d is %s: archived tasks are read-only; create a follow-up", tk.ID, tk.Status)
}

// checkClaimID checks a claim id that the caller gave; 0 means that none was given.
func checkClaimID(tk *task.Task, claim int64) error {
	if claim == 0 || tk.Claim != nil && tk.Claim.ID == claim {
		return nil
	}
	now := "the task is not claimed now"
	if tk.Claim != nil {
		now = "it is now claim " + task.ID(tk.Claim.ID).String() + " of " + tk.Claim.Holder
	}
	return task.Errorf(task.Conflict, task.CodeStaleClaim, "Claim %d of task %d is stale: %s", claim, tk.ID, now)
}

// renew lets the holder's lease start again with each of its calls.
func (tx *txn) renew(tk *task.Task) error {
	if tk.Claim == nil || tk.Claim.Holder != tx.actor.Name {
		return nil
	}
	return tx.Renew(tk.ID, tx.s.config().Lease)
}

// recordRunTask records what the caller's run created or, with a claim, claimed: its
// token may change that.
func (tx *txn) recordRunTask(id task.ID, claim int64) error {
	if tx.actor.RunID == 0 {
		return nil
	}
	return tx.AddRunTask(tx.actor.RunID, id, claim)
}
