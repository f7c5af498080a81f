package service

import (
	"slices"
	"strings"
	"time"

	"taskyard/task"
)

// delegator is the caller who delegates: from within a run or not, with what it may give.
type delegator struct {
	run       *task.Run  // nil outside a run
	parent    *task.Task // whole; nil: what is delegated has no parent
	depth     int        // of the run, or of the task that was itself delegated
	noNetwork bool       // its own shell has none
	tools     []string   // the widest that it may give; nil: any
	model     string
	runner    string      // which has that model; "" where nobody runs
	remaining task.Limits // of the run
}

// caller finds out who delegates and checks that it may: the run comes from
// the token, never from the caller's word.
func (tx *txn) caller(d task.Delegation) (*delegator, error) {
	c := &delegator{}
	if def, ok := tx.s.agents.Agent(tx.actor.Name); ok && tx.actor.IsAgent() {
		c.tools, c.model, c.runner = append([]string{}, def.Tools...), def.Model, def.Runner
		c.noNetwork = !def.Network
	}
	if err := tx.fillFromRun(c, &d); err != nil {
		return nil, err
	}
	if err := tx.fillParent(c, d); err != nil {
		return nil, err
	}
	if tx.actor.IsAgent() && !slices.Contains(c.tools, "task") {
		return nil, task.Errorf(task.Forbidden, task.CodeForbidden,
			"agent %s may not delegate here: the tools it was given are %s", tx.actor.Name, toolList(c.tools))
	}
	if limit := tx.s.config().TaskTool.MaxDepth; c.depth >= limit {
		return nil, depthExceededError(c.depth, limit)
	}
	return c, nil
}

func depthExceededError(depth, limit int) error {
	return task.Errorf(task.Conflict, task.CodeDepthExceeded, "maximum sub-agent depth exceeded (depth %d, limit %d)", depth, limit)
}

// fillFromRun fills in what the caller's run says.
func (tx *txn) fillFromRun(c *delegator, d *task.Delegation) error {
	if tx.actor.RunID == 0 {
		return nil
	}
	run, err := tx.Run(tx.actor.RunID)
	if err != nil {
		return err
	}
	switch {
	case run.Status != task.RunRunning:
		return endedError(run)
	case d.ParentTask != 0 && d.ParentTask != run.TaskID:
		return task.FieldErrorf("taskId", "must be left out inside a run: run %d works on task %d", run.ID, run.TaskID)
	}
	if run.Spec != nil {
		c.tools, c.runner, c.noNetwork = append([]string{}, run.Spec.Tools...), run.Spec.Runner, !run.Spec.Network
	}
	c.run, c.depth, c.model, d.ParentTask = run, run.Depth, run.Model, run.TaskID
	c.remaining, err = tx.limitsLeft(run)
	return err
}

func toolList(tools []string) string {
	if len(tools) == 0 {
		return "none"
	}
	return strings.Join(tools, ", ")
}

// fillParent fills in the parent task. Outside a run, a task that was itself
// delegated hands on its depth and tools.
func (tx *txn) fillParent(c *delegator, d task.Delegation) error {
	if d.ParentTask == 0 {
		var p task.Problems
		if d.StepIndex != nil {
			p.Add("stepIndex", "requires taskId: the task that has this step")
		}
		if len(d.Resources) > 0 {
			p.Add("resources", "require taskId: the task that has these resources")
		}
		return p.Err()
	}
	tk, err := tx.mayHaveSubtask(d.ParentTask)
	if err != nil {
		return err
	}
	if d.StepIndex != nil {
		if err := checkStepFree(tk, "stepIndex", *d.StepIndex); err != nil {
			return err
		}
	}
	c.parent = tk
	if c.run != nil {
		return nil
	}
	origin, err := tx.Bound(tk.ID)
	if err != nil || origin == nil {
		return err
	}
	c.depth = origin.Depth
	if tx.actor.IsAgent() && origin.Ask.Tools != nil {
		c.tools = intersect(c.tools, origin.Ask.Tools)
	}
	c.noNetwork = c.noNetwork || tx.actor.IsAgent() && origin.Ask.NoNetwork
	return nil
}

// ownLimitsLeft returns what the limits of a run still allow, as far as its use is known.
// Error: nothing.
func (tx *txn) ownLimitsLeft(r *task.Run) (task.Limits, error) {
	l := r.Limits
	l.IdleTimeoutSeconds = 0 // says nothing about another run
	if r.Status != task.RunRunning {
		l.TimeoutSeconds = 0 // its time is over; what it may spend is not
	}
	if l.TimeoutSeconds > 0 {
		if l.TimeoutSeconds -= int((r.WorkTime(tx.Now) + time.Second - 1) / time.Second); l.TimeoutSeconds <= 0 {
			return l, task.FieldErrorf("limits.timeoutSeconds", "run %d has no time left to give", r.ID)
		}
	}
	below, _, err := tx.UseBelow(r.ID)
	if err != nil {
		return l, err
	}
	used := r.Usage.Add(below)
	if l.MaxTokens > 0 {
		if l.MaxTokens -= used.Tokens(); l.MaxTokens <= 0 {
			return l, task.FieldErrorf("limits.maxTokens", "run %d has no tokens left to give: %d of %d are used",
				r.ID, used.Tokens(), r.Limits.MaxTokens)
		}
	}
	if l.MaxCostUSD > 0 {
		if l.MaxCostUSD -= used.CostUSD; l.MaxCostUSD <= 0 {
			return l, task.FieldErrorf("limits.maxCostUsd", "run %d has no money left to give: %.4f of %.4f USD are used",
				r.ID, used.CostUSD, r.Limits.MaxCostUSD)
		}
	}
	return l, nil
}

// checkDelegationRate refuses an agent that delegated too often within the last hour.
func (tx *txn) checkDelegationRate() error {
	limit := tx.s.config().TaskTool.MaxPerHour
	if !tx.actor.IsAgent() {
		return nil
	}
	n, oldest, err := tx.HandedOutSince(tx.actor.Name, tx.Now.Add(-time.Hour))
	if err != nil || n < limit {
		return err
	}
	e := task.Errorf(task.TooMany, task.CodeRateLimited,
		"agent %s has delegated, created and handed over %d times within an hour; the limit is %d (task_tool.max_per_hour)",
		tx.actor.Name, n, limit)
	e.Retry = tx.waitHour(oldest)
	return e
}
