package service

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// inForce returns the checks that a task must show and who must accept its
// result: what its project, its agents and the task itself ask, all of it. Checks
// that look at files are left out where the project has no repository. p is the
// project, an empty one for none.
func (s *Service) inForce(rx *db.Rx, tk *task.Task, p *task.Project) (checks []task.InForce, accept task.Accept, err error) {
	add := func(list []task.Check, from, suffix string) {
		if p.Repository == "" {
			list = slices.DeleteFunc(slices.Clone(list), task.Check.NeedsTree)
		}
		checks = task.AddChecks(checks, list, from, suffix)
	}
	add(p.Checks, "project "+p.Key, "project")
	parent, err := parentInProject(rx, tk)
	if err != nil {
		return nil, accept, err
	}
	if parent == nil { // else its change is reviewed with that of the task above
		accept = accept.Add(p.Review)
	}
	for _, id := range tk.Responsible() {
		def, _ := s.agents.Agent(id)
		add(def.Checks, "agent "+id, "agent")
		if def.Review != nil {
			accept = accept.Add(*def.Review)
		}
	}
	add(tk.Checks, "task", "task")
	if tk.Policy != nil {
		accept = accept.Add(*tk.Policy)
	}
	return checks, accept, nil
}

// needsResult reports whether a task is done only with a result: one of a project, and
// one of which its agent or itself demands something; but for what a run
// delegated, which is part of the task above.
func (s *Service) needsResult(rx *db.Rx, tk *task.Task) (bool, error) {
	if tk.Project == "" && tk.Demands.Empty() {
		checks, accept, err := s.inForce(rx, tk, &task.Project{})
		if err != nil || len(checks) == 0 && accept.Approvals == 0 {
			return false, err
		}
	}
	b, err := rx.Bound(tk.ID)
	return err == nil && (b == nil || b.ParentRun == 0), err
}

// projectOrNone returns a project by its key; an empty one for "".
func projectOrNone(rx *db.Rx, key string) (*task.Project, error) {
	if key == "" {
		return &task.Project{}, nil
	}
	return rx.Project(key)
}

// setDemands changes the checks and the policy of a task. What was gathered
// before proves nothing under other checks; under another policy the votes on the
// same digest still count. Errors: an agent, not a reviewer, invalid, delegated,
// waits for its merge.
func (tx *txn) setDemands(tk *task.Task, checks *[]task.Check, policy *task.Review) error {
	if checks == nil && policy == nil {
		return nil
	}
	before, now, diff := tk.Demands, tk.Demands, changes{}
	if checks != nil {
		if now.Checks = *checks; len(now.Checks) == 0 {
			now.Checks = nil
		}
	}
	if policy != nil {
		if now.Policy = policy; policy.Approvals == 0 {
			now.Policy = nil
		}
	}
	if !reflect.DeepEqual(before.Checks, now.Checks) {
		diff["checks"] = [][]string{checkTexts(before.Checks), checkTexts(now.Checks)}
	}
	if !reflect.DeepEqual(before.Policy, now.Policy) {
		diff["policy"] = []string{before.Policy.Text(), now.Policy.Text()}
	}
	if len(diff) == 0 {
		return nil
	}
	if err := tx.mayDemand(tk.Project, now); err != nil {
		return err
	}
	if tk.Awaits == task.WaitsMerge {
		return task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d %s: its checks and its review cannot change now", tk.ID, awaitsText(tk))
	}
	if b, err := tx.Bound(tk.ID); err != nil {
		return err
	} else if b != nil && b.ParentRun != 0 {
		return task.Errorf(task.Conflict, task.CodeTaskGated,
			"Task %d was delegated and is part of the result of task %d: set checks and review there", tk.ID, tk.ParentTaskID)
	}
	tk.Demands = now
	if err := tx.SetDemands(tk.ID, now); err != nil {
		return err
	}
	if err := tx.taskEvent(task.EvTaskUpdated, tk, diff); err != nil {
		return err
	}
	if tk.Awaits != task.WaitsReview {
		return nil
	}
	return tx.restartReview(tk, diff["checks"] != nil)
}

func checkTexts(list []task.Check) []string {
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = c.Text()
	}
	return texts
}

// mayDemand checks what a task is to demand, and that the caller may say so. A
// check is a command that the server executes; and who could take one away would
// need no review.
func (tx *txn) mayDemand(project string, d task.Demands) error {
	switch {
	case tx.actor.IsAgent() || tx.actor.RunID != 0:
		return task.Errorf(task.Forbidden, task.CodeForbidden,
			"%s may not set checks or the review of a task: only people do", tx.actor.Name)
	case !tx.actor.May(task.Decide):
		return task.Errorf(task.Forbidden, task.CodeForbidden,
			"%s may not set checks or the review of a task: only reviewers and admins do", task.ActorLabel(tx.actor.Name))
	}
	p, err := projectOrNone(&tx.Rx, project)
	if err != nil {
		return err
	}
	var problems task.Problems
	problems.CheckChecks("checks", d.Checks, p.Repository != "")
	if d.Policy != nil {
		problems.CheckReview("policy", *d.Policy)
		if err := checkVoters(&tx.Rx, &problems, "policy", *d.Policy); err != nil {
			return err
		}
	}
	return problems.Err()
}

// checkVoters adds a problem for each name in a policy that belongs to nobody who
// can vote.
func checkVoters(rx *db.Rx, problems *task.Problems, field string, r task.Review) error {
	if len(r.From) == 0 && r.StandIn == "" {
		return nil
	}
	people, err := votersHere(rx)
	if err != nil {
		return err
	}
	names := cmp.Or(strings.Join(people[:min(len(people), shownVoters)], ", "), "there is nobody yet")
	if len(people) > shownVoters {
		names += ", …"
	}
	const text = "no reviewer or admin is called %s: name a person who can vote (%s)"
	for i, name := range r.From {
		if !people.has(name) && !isVotingRole(name) {
			problems.Add(field+".from["+task.ID(i).String()+"]", text+", or the role reviewer or admin", name, names)
		}
	}
	if r.StandIn != "" && !people.has(r.StandIn) {
		problems.Add(field+".standIn", text, r.StandIn, names)
	}
	return nil
}

// voters are the names of the people who can vote.
type voters []string

func votersHere(rx *db.Rx) (list voters, err error) {
	all, err := rx.Users()
	for _, u := range all {
		if u.DisabledAt == 0 && u.Role.May(task.Decide) {
			list = append(list, u.Name)
		}
	}
	return list, err
}

func (v voters) has(name string) bool {
	return slices.ContainsFunc(v, func(p string) bool { return strings.EqualFold(p, name) })
}

func isVotingRole(name string) bool {
	return name == string(task.RoleReviewer) || name == string(task.RoleAdmin)
}

// shownVoters bounds the names in an error.
const shownVoters = 20

// restartReview voids the result under review of a task whose checks have changed:
// it has to be handed in again. Where only the policy has, a new result says the
// same under the new one.
func (tx *txn) restartReview(tk *task.Task, checks bool) error {
	last, err := tx.LastResult(tk.ID)
	if err != nil || last == nil || last.State != task.ResultReview {
		return err
	}
	if !checks {
		return tx.reissue(tk, last, last.Checks)
	}
	if err := tx.CloseResults(tk.ID, task.ResultSuperseded); err != nil {
		return err
	}
	return tx.sendBack(tk, "The checks of this task have changed: complete it again, so that they run.", "its checks changed")
}

// bindOwner makes the definition of an owner bind a task that an agent gives
// away: else it would get rid of checks by handing the task over.
func (tx *txn) bindOwner(tk *task.Task) error {
	def, _ := tx.s.agents.Agent(tk.Owner)
	if !tx.actor.IsAgent() && !tx.actor.ActAs || len(def.Checks) == 0 && def.Review == nil || slices.Contains(tk.BoundBy, tk.Owner) {
		return nil
	}
	tk.BoundBy = append(slices.Clone(tk.BoundBy), tk.Owner)
	return tx.SetDemands(tk.ID, tk.Demands)
}

// ChecksInForce returns the checks that a task must show before it is done, and
// who must accept its result. Errors: may not read, unknown task.
func (s *Service) ChecksInForce(ctx context.Context, a task.Actor, id task.ID) (checks []task.InForce, accept task.Accept, err error) {
	checks, err = readTask(ctx, s, a, id, func(rx *db.Rx) ([]task.InForce, error) {
		tk, err := rx.TaskRow(id)
		if err != nil {
			return nil, err
		}
		p, err := projectOrNone(rx, tk.Project)
		if err != nil {
			return nil, err
		}
		list, required, err := s.inForce(rx, tk, p)
		accept = required
		return append([]task.InForce{}, list...), err
	})
	return checks, accept, err
}
