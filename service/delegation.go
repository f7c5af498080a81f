package service

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"taskyard/task"
)

// Delegate gives work to another agent: it makes a subtask of the caller's
// task, owned by that agent, and its run, and answers once that has ended or
// d.Wait is over. The same request for the same task joins the one that is
// open. Inside a run the caller's task is the run's; elsewhere it is
// d.ParentTask, and without one the new task has no parent. Errors: delegation
// is off, the agent lacks the tool task, depth exceeded, rate limit, a wrong
// field, an agent that cannot be started or is paused, not the parent's owner,
// archived parent, linked step.
func (s *Service) Delegate(ctx context.Context, a task.Actor, d task.Delegation) (task.Delegated, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return task.Delegated{}, err
	}
	if err := s.mayDelegateAtAll(a); err != nil {
		return task.Delegated{}, err
	}
	if err := checkDelegation(&d); err != nil {
		return task.Delegated{}, err
	}
	def, err := s.delegate(d.AgentType)
	if err != nil {
		return task.Delegated{}, err
	}
	var joined bool
	id, err := mutate(ctx, s, a, func(tx *txn) (id task.ID, err error) {
		if id, err = tx.openDelegation(d); err != nil {
			return 0, err
		}
		if joined = id != 0; joined { // set each time: a write may be run again
			return id, nil
		}
		return tx.delegate(def, d)
	})
	if err != nil {
		return task.Delegated{}, err
	}
	if !joined && !Replayed(ctx) {
		s.log.InfoContext(ctx, "task delegated", "run_id", id, "agent", def.ID, "asked_by", a.Name,
			"parent_run", a.RunID, "task", task.ClipChars(task.CleanText(d.Task), 200), "model", d.Model)
	}
	out, err := s.follow(ctx, a, id, d.Wait)
	out.Joined = joined
	return out, err
}

// openDelegation returns the newest run of the same request for the same task,
// if that has not ended, or 0: an agent that was woken and asks again gets what
// it has asked for already.
func (tx *txn) openDelegation(d task.Delegation) (task.ID, error) {
	parent := d.ParentTask
	if tx.actor.RunID != 0 {
		run, err := tx.Run(tx.actor.RunID)
		if err != nil {
			return 0, err
		}
		parent = run.TaskID
	}
	if parent == 0 {
		return 0, nil
	}
	return tx.OpenRequest(parent, d.Key())
}

// Delegates reports whether agents may delegate on this server.
func (s *Service) Delegates() bool {
	return s.config().TaskTool.Enabled && s.config().TaskTool.MaxDepth > 0
}

// mayDelegateAtAll refuses where delegation is off, and agents whose
// definition does not list the tool task.
func (s *Service) mayDelegateAtAll(a task.Actor) error {
	if !s.config().TaskTool.Enabled {
		return task.Errorf(task.Forbidden, task.CodeDelegationOff, "Delegation is turned off on this server (task_tool.enabled = false)")
	}
	if !a.IsAgent() {
		return nil
	}
	if def, ok := s.agents.Agent(a.Name); !ok || !def.HasTool("task") {
		return task.Errorf(task.Forbidden, task.CodeForbidden, "agent %s may not delegate: its definition does not list the tool task", a.Name)
	}
	return nil
}

func checkDelegation(d *task.Delegation) error {
	d.AgentType = cmp.Or(d.AgentType, task.DefaultDelegate)
	var p task.Problems
	if p.CheckText("task", d.Task, task.MaxText) && strings.TrimSpace(d.Task) == "" {
		p.Add("task", "is required: say what to do")
	}
	if d.Model != "" {
		p.CheckLine("model", d.Model, maxModel)
	}
	if d.Complexity != "" && !slices.Contains(task.Complexities, d.Complexity) {
		p.Add("estimatedComplexity", "must be one of %s", strings.Join(task.Complexities, ", "))
	}
	if len(d.Resources) > task.MaxResources {
		p.Add("resources", "must be at most %d", task.MaxResources)
	}
	for _, tool := range d.Tools {
		if !slices.Contains(task.KnownTools, tool) {
			p.Add("tools", "unknown tool %q: known are %s", task.ClipChars(task.CleanText(tool), 40), strings.Join(task.KnownTools, ", "))
		}
	}
	if _, err := (task.Limits{}).Tighten(d.Limits); err != nil {
		return err
	}
	checkWait(&p, d.Wait)
	return p.Err()
}

const maxModel = 200 // characters of a model's name

func checkWait(p *task.Problems, wait time.Duration) {
	if wait < 0 || wait > task.MaxWait {
		p.Add("waitSeconds", "must be 0 to %d", int(task.MaxWait.Seconds()))
	}
}

// delegate returns the definition of an agent that can be given work.
func (s *Service) delegate(id string) (task.Agent, error) {
	if _, err := s.knownAgent("agentType", id); err != nil {
		return task.Agent{}, &task.Error{
			Kind: task.Invalid, Code: task.CodeUnknownAgent, Field: "agentType",
			Message: unknownAgent(id, s.helpers()),
		}
	}
	if err := s.checkOwner("agentType", id, task.Active); err != nil {
		return task.Agent{}, err
	}
	return s.startableAgent(id)
}

// AgentTypes lists the agents that work may be given to, and which of them can
// be started. Error: may not read.
func (s *Service) AgentTypes(a task.Actor) ([]task.AgentType, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	list := []task.AgentType{}
	for _, def := range s.agents.Agents() {
		v := task.AgentType{ID: def.ID, Description: def.Description, Tools: append([]string{}, def.Tools...), Startable: true}
		if _, err := s.startableAgent(def.ID); err != nil {
			v.Startable, v.Reason = false, err.Error()
		}
		list = append(list, v)
	}
	return list, nil
}

// helpers returns the agents that can be started.
func (s *Service) helpers() []task.Agent {
	return slices.DeleteFunc(slices.Clone(s.agents.Agents()), func(a task.Agent) bool {
		_, err := s.startableAgent(a.ID)
		return err != nil
	})
}

// delegate makes the subtask, its link and its run in one transaction.
func (tx *txn) delegate(def task.Agent, d task.Delegation) (task.ID, error) {
	c, err := tx.caller(d)
	if err != nil {
		return 0, err
	}
	if err := tx.checkNotPaused(def.ID); err != nil {
		return 0, err
	}
	if err := tx.recordHandOut(); err != nil {
		return 0, err
	}
	ask, err := tx.settle(def, c, d)
	if err != nil {
		return 0, err
	}
	id, err := tx.delegatedTask(def, c, d)
	if err != nil {
		return 0, err
	}
	tk, err := tx.TaskRow(id)
	if err != nil {
		return 0, err
	}
	if err := checkWorksOn(def, tk); err != nil {
		return 0, err
	}
	bound := &task.Bound{Depth: c.depth + 1, Ask: ask}
	if c.run != nil {
		bound.ParentRun, bound.TreeRun = c.run.ID, c.run.ID
	}
	if err := tx.PutBound(id, bound); err != nil {
		return 0, err
	}
	return tx.createRun(tk, def, newRun{cause: task.CauseDelegate, attempt: 1})
}

// delegatedTask makes the task that is given away, with its link to the
// caller's.
func (tx *txn) delegatedTask(def task.Agent, c *delegator, d task.Delegation) (task.ID, error) {
	in := task.New{Title: titleFromText(d.Task), Description: d.Task, Owner: def.ID, Status: task.Active, Channel: "web", NoStart: true}
	if c.parent == nil {
		return tx.insertTask(in, 0, 0, nil)
	}
	in.Channel, in.Priority = cmp.Or(c.parent.Channel, in.Channel), c.parent.Priority
	for i, at := range d.Resources {
		if at < 0 || at >= len(c.parent.Resources) {
			return 0, outOfRangeError("resources["+task.ID(i).String()+"]", "resource", c.parent.ID, at, len(c.parent.Resources))
		}
		in.Resources = append(in.Resources, c.parent.Resources[at])
	}
	in.Project = c.parent.Project
	id, err := tx.insertTask(in, c.parent.ID, c.parent.Nesting+1, nil)
	if err != nil {
		return 0, err
	}
	told := changes{"subtask": id, "owner": def.ID}
	if d.StepIndex != nil {
		told["step"] = *d.StepIndex
		if err := tx.LinkStep(c.parent.ID, *d.StepIndex, id); err != nil {
			return 0, err
		}
	}
	if err := tx.recordChange(c.parent, task.EvSubtaskCreated, told); err != nil {
		return 0, err
	}
	return id, tx.renew(c.parent)
}

const maxDelegatedTitle = 100 // characters; the whole text is the description

// titleFromText makes a title of the first line of a text.
func titleFromText(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.TrimSpace(strings.ReplaceAll(line, "\r", " "))
	if utf8.RuneCountInString(line) <= maxDelegatedTitle {
		return line
	}
	return strings.TrimSpace(string([]rune(line)[:maxDelegatedTitle-1])) + "…"
}
