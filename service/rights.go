package service

import (
	"cmp"
	"slices"
	"strings"

	"taskyard/task"
)

// Rights never grow. The rule, for every way in which an agent brings a run
// about:
//
//  1. Each act of an agent on a task is noted as a contribution: what it brought about
//     (the task, its start, owner, texts, a comment) and what it could do itself.
//  2. A person's consent forgets the contributions: starting a draft, approving all runs
//     of the task; writing a text or choosing another owner, those of that part.
//  3. Under the policies delegated and always a run waits for a person if it has
//     a tool, a limit, a depth, or (for its shell) network access or a variable
//     that one of these agents lacked, and the approval says so. What an agent
//     created or started always waits.
//  4. Under never it does not wait. If the instance says never, it has no tool
//     that an agent which created the task lacks; if only the definition says so,
//     no tool and no limit that any of them lacked.
//  5. What a run creates is one deeper than the run, and counts in the agent's
//     rate as delegations do; under never its tokens and cost count in those of
//     the run, as do those of tasks that a run hands over.

// approvalPolicy returns the approval policy of an agent's runs.
func (s *Service) approvalPolicy(def task.Agent) task.Policy {
	return cmp.Or(def.Approval, s.config().Policy)
}

// rightsAssessment is what holds for a run before it may start.
type rightsAssessment struct {
	needsApproval bool   // a person must approve it, or has granted all runs of the task
	waits         bool   // not even such a grant covers what agents brought about since
	reason        string // of waits, or of what was taken away
	narrows       bool   // tools or limits were taken away instead
}

// assessRights answers who brought a run about and with which rights. It sets what
// bounds the run, and reports whether a person must approve it and why.
func (tx *txn) assessRights(tk *task.Task, def task.Agent, r *task.Run) (v rightsAssessment, err error) {
	contributions, err := tx.Contributions(tk.ID)
	if err != nil {
		return v, err
	}
	policy := tx.s.approvalPolicy(def)
	if err := tx.setBounds(tk.ID, r, policy); err != nil {
		return v, err
	}
	if policy == task.ApproveNever {
		v.reason = tx.s.narrow(r, def, contributions)
		v.narrows = v.reason != ""
		return v, nil
	}
	have := task.Rights{Depth: r.Depth}
	have.Tools, have.Limits = tx.s.runRights(def, r.Ask)
	have.Network, have.Env = hasNetwork(def, r.Ask), def.Env
	var why []string
	for _, h := range contributions {
		handedOver := func(o task.Contribution) bool {
			return o.Part == task.PartOwner && o.Actor == h.Actor && have.Missing(o.Rights) == have.Missing(h.Rights)
		}
		if h.Part == task.PartComment && slices.ContainsFunc(contributions, handedOver) {
			continue // its comment came with the hand-over, which says as much
		}
		if reason := missingRights(have, h, def, r); reason != "" {
			why = append(why, reason)
		}
	}
	v.waits, v.reason = len(why) > 0, strings.Join(why, "; ")
	grant, by, _, err := tx.Grant(tk.ID)
	v.needsApproval = v.waits || policy == task.ApproveAlways || grant != ""
	switch {
	case v.waits:
	case grant != "":
		v.reason = "what " + task.ActorLabel(by) + " approved for all runs of the task has changed"
	case policy == task.ApproveAlways:
		v.reason = "each run of " + def.ID + " needs approval"
	}
	return v, err
}

// setBounds sets depth, tree and widest rights of a run by its task.
func (tx *txn) setBounds(id task.ID, r *task.Run, policy task.Policy) error {
	r.Ask, r.TreeRun = nil, 0
	b, err := tx.Bound(id)
	if err != nil || b == nil {
		return err
	}
	r.Depth, r.ParentRun = b.Depth, b.ParentRun
	if !b.Ask.Bounds || policy == task.ApproveNever {
		r.Ask, r.TreeRun = b.Ask, b.TreeRun
	}
	return nil
}

// missingRights says why what a contribution brought about may not run without a person, ""
// when it may.
func missingRights(have task.Rights, h task.Contribution, def task.Agent, r *task.Run) string {
	if !h.IsByAgent() || isOwnText(h, def) {
		return ""
	}
	lacks := have.Missing(h.Rights)
	if lacks == "" && h.Part != task.PartCreated && h.Part != task.PartStarted {
		return ""
	}
	described := h.Describe()
	if h.Part == task.PartCreated && r.Delegated() {
		described = strings.Replace(described, "created", "delegated", 1)
	}
	if lacks != "" {
		described += ", " + lacks
	}
	return described
}

// isOwnText reports whether a text is the agent's own, written with all its rights.
func isOwnText(h task.Contribution, def task.Agent) bool {
	return h.Actor == def.ID && h.AllRights && h.Part != task.PartCreated && h.Part != task.PartStarted && h.Part != task.PartOwner
}

// narrow removes from a run the rights that those who caused it lack, and returns
// why, "" when nothing was taken away.
func (s *Service) narrow(r *task.Run, def task.Agent, contributions []task.Contribution) string {
	ask := task.Ask{Bounds: true}
	if r.Ask != nil {
		ask = *r.Ask
	}
	all := s.config().Policy != task.ApproveNever
	var why []string
	for _, h := range contributions {
		made := h.Part == task.PartCreated
		if !h.IsByAgent() || h.Actor == def.ID && h.AllRights || !all && !made || made && r.Delegated() {
			continue
		}
		have := task.Rights{Tools: intersect(def.Tools, ask.Tools), Limits: ask.Limits, Network: hasNetwork(def, &ask)}
		by := task.Rights{Tools: h.Tools, Network: h.Network}
		ask.Tools = intersect(have.Tools, append([]string{}, h.Tools...))
		ask.NoNetwork = ask.NoNetwork || !h.Network
		if all {
			have.Limits, by.Limits = ownLimits(def).AtMost(ask.Limits), h.Limits
			by.Limits.IdleTimeoutSeconds = 0
			ask.Limits = ask.Limits.AtMost(by.Limits)
		}
		if lacks := have.Missing(by); lacks != "" {
			why = append(why, h.Describe()+", "+lacks)
		}
	}
	if len(why) > 0 {
		r.Ask = &ask
	}
	return strings.Join(why, "; ")
}

// rights returns what the caller may use itself, and whether that is all that
// its definition gives.
func (tx *txn) rights() (task.Rights, bool, error) {
	def, ok := tx.s.agents.Agent(tx.actor.Name)
	if !tx.actor.IsAgent() || !ok {
		return task.Rights{Tools: []string{}}, false, nil
	}
	if tx.actor.RunID == 0 {
		tools, limits := tx.s.runRights(def, nil)
		return task.Rights{Tools: tools, Limits: limits, Network: def.Network, Env: slices.Clone(def.Env)}, true, nil
	}
	run, err := tx.Run(tx.actor.RunID)
	if err != nil {
		return task.Rights{}, false, err
	}
	have := task.Rights{Tools: slices.Clone(def.Tools), Limits: run.Limits, Depth: run.Depth}
	if run.Spec != nil {
		have.Tools, have.Network, have.Env = slices.Clone(run.Spec.Tools), run.Spec.Network, slices.Clone(run.Spec.Env)
	}
	return have, run.Ask == nil, nil
}

// recordContribution records that the caller wrote a part of a task. What a
// person writes or chooses again replaces what agents did there.
func (tx *txn) recordContribution(id task.ID, part task.Part) error {
	asks := part == task.PartCreated || part == task.PartStarted || part == task.PartOwner
	if !tx.actor.IsAgent() && part != task.PartCreated && part != task.PartComment {
		if err := tx.DropContributions(id, part); err != nil {
			return err
		}
	}
	if tx.actor.Name == task.System || !tx.actor.IsAgent() && (tx.actor.TokenID == 0 || !asks) {
		return nil
	}
	have, all, err := tx.rights()
	if err != nil {
		return err
	}
	h := task.Contribution{Part: part, Actor: tx.actor.Name, AllRights: all, Rights: have, At: tx.Now}
	if part == task.PartCreated {
		return tx.PutContribution(id, h) // the first of a new task
	}
	list, err := tx.Contributions(id)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(list, func(o task.Contribution) bool { return o.Part == part && o.Actor == h.Actor }); i >= 0 {
		h = list[i].Merge(h)
	}
	return tx.PutContribution(id, h)
}

// recordEdit is recordContribution for a change within a part: what others wrote beside it stays.
func (tx *txn) recordEdit(id task.ID, part task.Part) error {
	if !tx.actor.IsAgent() {
		return nil
	}
	return tx.recordContribution(id, part)
}

// recordConsent forgets what agents brought about of a task: a person has consented
// to it as it is now.
func (tx *txn) recordConsent(id task.ID) error {
	if err := tx.DropAllContributions(id); err != nil {
		return err
	}
	return tx.dropRunBound(id)
}

// dropRunBound lifts the bounds that a run gave a task, but for those of a
// delegation.
func (tx *txn) dropRunBound(id task.ID) error {
	b, err := tx.Bound(id)
	if err != nil || b == nil || !b.Ask.Bounds {
		return err
	}
	return tx.DropBound(id)
}

// mayClaimInRun refuses the caller's run a task for which a run of its own would
// wait for a person, or that failed or was denied: what signup passes over.
func (tx *txn) mayClaimInRun(def task.Agent, tk *task.Task) error {
	policy := tx.s.approvalPolicy(def)
	if tx.actor.RunID == 0 || policy == task.ApproveNever {
		return nil
	}
	if tk.Failures > 0 {
		return task.Errorf(task.Conflict, task.CodeTaskGated,
			"Run %d cannot claim task %d, whose last run failed or was denied: ask a person to run it again", tx.actor.RunID, tk.ID)
	}
	list, err := tx.Contributions(tk.ID)
	if err != nil {
		return err
	}
	others := func(h task.Contribution) bool { return h.IsByAgent() && (h.Actor != def.ID || !h.AllRights) }
	if policy == task.ApproveAlways || slices.ContainsFunc(list, others) {
		return task.Errorf(task.Conflict, task.CodeTaskGated,
			"Run %d cannot claim task %d: it needs its own run, which a person must approve", tx.actor.RunID, tk.ID)
	}
	return nil
}

// reportsUpward reports whether the caller reports to a task from below it: the result of
// work that the task itself gave away.
func (tx *txn) reportsUpward(tk *task.Task) (bool, error) {
	if tx.actor.RunID == 0 {
		return false, nil
	}
	run, err := tx.Run(tx.actor.RunID)
	if err != nil || run.TaskID == tk.ID {
		return false, err
	}
	at, err := findRelation(&tx.Rx, run.TaskID, tk.ID)
	return at == above, err
}

// recordComment records a comment of an agent, unless it is a report from below.
func (tx *txn) recordComment(tk *task.Task) error {
	if !tx.actor.IsAgent() {
		return nil
	}
	if ok, err := tx.reportsUpward(tk); err != nil || ok {
		return err
	}
	return tx.recordContribution(tk.ID, task.PartComment)
}

// treeBound settles what holds for the runs of a task that the caller's run
// makes (deeper 1) or hands over (0), and counts it in the agent's rate. Nil
// outside a run. Errors: depth exceeded, too often, nothing left to give.
func (tx *txn) treeBound(deeper int) (*task.Bound, error) {
	if tx.actor.RunID == 0 {
		return nil, nil
	}
	run, err := tx.Run(tx.actor.RunID)
	if err != nil {
		return nil, err
	}
	if limit := tx.s.config().TaskTool.MaxDepth; deeper > 0 && run.Depth >= limit {
		return nil, depthExceededError(run.Depth, limit)
	}
	if err := tx.recordHandOut(); err != nil {
		return nil, err
	}
	left, err := tx.limitsLeft(run)
	if err != nil {
		return nil, err
	}
	return &task.Bound{TreeRun: run.ID, Depth: run.Depth + deeper, Ask: &task.Ask{
		Bounds: true, Limits: task.Limits{MaxTokens: left.MaxTokens, MaxCostUSD: left.MaxCostUSD},
	}}, nil
}

// bindHandOver makes a task that the caller's run hands over stay in the run's
// tree; a person's choice lifts that.
func (tx *txn) bindHandOver(tk *task.Task) error {
	if tx.actor.RunID == 0 {
		if tx.actor.IsAgent() || tx.actor.Name == task.System {
			return nil
		}
		return tx.dropRunBound(tk.ID)
	}
	b, err := tx.treeBound(0)
	if err != nil {
		return err
	}
	before, err := tx.Bound(tk.ID)
	if err != nil {
		return err
	}
	if before != nil {
		ask := *before.Ask
		ask.Limits = ask.Limits.AtMost(b.Ask.Limits)
		b.ParentRun, b.Depth, b.Ask = before.ParentRun, max(before.Depth, b.Depth), &ask
	}
	return tx.PutBound(tk.ID, b)
}

// recordHandOut counts that an agent has others do something. Error: too often
// within the last hour.
func (tx *txn) recordHandOut() error {
	if err := tx.checkDelegationRate(); err != nil || !tx.actor.IsAgent() {
		return err
	}
	return tx.AddHandedOut(tx.actor.Name)
}

// mayApprove keeps people from approving what they asked for themselves by a
// token, and reports whether one may nevertheless, as the only reviewer.
func (tx *txn) mayApprove(r *task.Run) (sole bool, err error) {
	own := r.AskedToken != 0 && r.AskedBy == tx.actor.Name
	if !own {
		contributions, err := tx.Contributions(r.TaskID)
		if err != nil {
			return false, err
		}
		own = slices.ContainsFunc(contributions, func(h task.Contribution) bool { return h.Actor == tx.actor.Name })
	}
	if !own {
		return false, nil
	}
	n, err := tx.OtherReviewers(strings.TrimPrefix(tx.actor.Name, "user:"))
	if err == nil && n > 0 {
		err = task.Errorf(task.Forbidden, task.CodeForbidden,
			"%s requested run %d with a token: another reviewer must approve it", task.ActorLabel(tx.actor.Name), r.ID)
	}
	return err == nil, err
}

// soleReviewer is kept with an approval by whoever asked for it.
const soleReviewer = "approved by the person who asked for it, the only reviewer"
