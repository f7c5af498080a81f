package service

import (
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// known returns the agent, or the error that lists the known ones.
func (s *Service) known(field, id string) (task.Agent, error) {
	if a, ok := s.agents.Agent(id); ok {
		return a, nil
	}
	ids := []string{}
	for _, a := range s.agents.Agents() {
		ids = append(ids, a.ID)
	}
	return task.Agent{}, &task.Error{
		Kind: task.Invalid, Code: task.CodeUnknownAgent, Field: field,
		Message: "unknown agent: " + id + " (known agents: " + strings.Join(ids, ", ") + ")",
	}
}

// owner checks that an agent may own a task of this status.
func (s *Service) owner(field, id string, status task.Status) error {
	a, err := s.known(field, id)
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
	return "no good version is known"
}

// need checks a permission of the caller.
func need(a task.Actor, p task.Perm) error {
	if a.May(p) {
		return nil
	}
	if a.Role == task.RoleNone {
		return task.Errorf(task.Unauthorized, task.CodeUnauthorized, "Sign in, or send a token")
	}
	return a.Lacks(p)
}

// allowed checks a permission and, for agents, the capability.
func (s *Service) allowed(a task.Actor, p task.Perm) error {
	if err := need(a, p); err != nil {
		return err
	}
	if !a.IsAgent() {
		return nil
	}
	def, ok := s.agents.Agent(a.Name)
	if !ok || !def.Can(task.CapabilityTasks) {
		return task.Errorf(task.Forbidden, task.CodeForbidden, "agent %s does not have the capability tasks", a.Name)
	}
	return nil
}

// speaks checks that the caller may act under an agent's name.
func speaks(a task.Actor, agent string) error { return a.Speaks(agent) }

// UsesTasks tells whether the caller may use tasks at all: people may, agents
// need the capability.
func (s *Service) UsesTasks(a task.Actor) bool { return s.allowed(a, task.Read) == nil }

// related checks that an agent may change this task: as owner, creator, or
// owner of an ancestor. A run may not change the ancestors of its own task.
func related(rx *db.Rx, a task.Actor, t *task.Task) error {
	if !a.IsAgent() {
		return nil
	}
	if a.RunID != 0 {
		if err := notAncestor(rx, a, t.ID); err != nil {
			return err
		}
	}
	if t.CreatedBy == a.Name {
		return nil
	}
	if t.Owner == a.Name {
		return notAnothers(rx, a, t)
	}
	up, err := rx.Ancestors(t.ID)
	if err != nil {
		return err
	}
	for _, p := range up {
		if p.Owner == a.Name {
			return nil
		}
	}
	return task.Errorf(task.Forbidden, task.CodeForbidden, "agent %s may not change task %d: it is neither owner nor creator, and owns no task above it", a.Name, t.ID)
}

// notAnothers keeps a run from the task that another run of its agent works
// on, unless that stands below its own.
func notAnothers(rx *db.Rx, a task.Actor, t *task.Task) error {
	if a.RunID == 0 {
		return nil
	}
	open, err := rx.OpenRun(t.ID)
	if err != nil || open == nil || open.Status != task.RunRunning || open.ID == a.RunID {
		return err
	}
	own, err := rx.Run(a.RunID)
	if err != nil {
		return err
	}
	up, err := rx.Ancestors(t.ID)
	if err != nil {
		return err
	}
	for _, p := range up {
		if p.ID == own.TaskID {
			return nil
		}
	}
	return task.Errorf(task.Forbidden, task.CodeForbidden, "run %d works on task %d: a run of another task may not change it meanwhile", open.ID, t.ID)
}

func notAncestor(rx *db.Rx, a task.Actor, id task.ID) error {
	run, err := rx.Run(a.RunID)
	if err != nil {
		return err
	}
	if run.TaskID == id {
		return nil
	}
	up, err := rx.Ancestors(run.TaskID)
	if err != nil {
		return err
	}
	for _, p := range up {
		if p.ID == id {
			return task.Errorf(task.Forbidden, task.CodeForbidden, "a run of task %d may not change the task %d above it", run.TaskID, id)
		}
	}
	return nil
}

// open returns a task that the caller may change, or the error: unknown,
// archived, not related.
func (t *tx) open(id task.ID, whole bool) (*task.Task, error) {
	get := t.TaskBare
	if whole {
		get = t.TaskWhole
	}
	k, err := get(id)
	if err != nil {
		return nil, err
	}
	if err := related(&t.Rx, t.actor, k); err != nil {
		return nil, err
	}
	if k.Status.Archived() {
		return nil, archived(k)
	}
	return k, nil
}

func archived(k *task.Task) error {
	return task.Errorf(task.Conflict, task.CodeArchived, "Task %d is %s: history never changes; create a follow-up", k.ID, k.Status)
}

// fence checks a claim id that the caller gave; 0 means that none was given.
func fence(k *task.Task, claim int64) error {
	if claim == 0 || k.Claim != nil && k.Claim.ID == claim {
		return nil
	}
	now := "the task is not claimed now"
	if k.Claim != nil {
		now = "it is now claim " + task.ID(k.Claim.ID).String() + " of " + k.Claim.Holder
	}
	return task.Errorf(task.Conflict, task.CodeStaleClaim, "Claim %d of task %d is stale: %s", claim, k.ID, now)
}

// renew lets the holder's lease start anew with each of its calls.
func (t *tx) renew(k *task.Task) error {
	if k.Claim == nil || k.Claim.Holder != t.actor.Name {
		return nil
	}
	return t.Renew(k.ID, t.s.cfg.Lease)
}
