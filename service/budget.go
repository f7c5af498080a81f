package service

import (
	"time"

	"taskyard/db"
	"taskyard/task"
)

// agentBudgets returns the budgets of the day that bound an agent and are set:
// its own, then the instance's, each with what is used of it.
func (s *Service) agentBudgets(rx *db.Rx, agent string) ([]task.Budget, error) {
	var list []task.Budget
	if def, ok := s.agents.Agent(agent); ok && agent != "" {
		list = append(list, task.Budget{Agent: agent, MaxTokens: def.MaxTokensPerDay, MaxCostUSD: def.MaxCostUSDPerDay})
	}
	list = append(list, s.config().Budget)
	set := list[:0]
	for _, b := range list {
		if !b.Set() {
			continue
		}
		u, err := rx.UsedToday(b.Agent)
		if err != nil {
			return nil, err
		}
		b.Tokens, b.CostUSD, b.Estimated, b.Until = u.Tokens(), u.CostUSD, u.Estimated, task.StartOfDay(rx.Now).Add(24*time.Hour)
		set = append(set, b)
	}
	return set, nil
}

// overBudget returns the budget that lets an agent start nothing today, or nil.
func (s *Service) overBudget(rx *db.Rx, agent string) (*task.Budget, error) {
	list, err := s.agentBudgets(rx, agent)
	for i := range list {
		if list[i].Over() != "" {
			return &list[i], err
		}
	}
	return nil, err
}

// withinBudget leaves out the agents whose budget, or the instance's, is used up,
// and returns when the next day begins if there are such.
func (tx *txn) withinBudget(agents []string) (list []string, until task.Time, err error) {
	for _, id := range agents {
		b, err := tx.s.overBudget(&tx.Rx, id)
		if err != nil {
			return nil, 0, err
		}
		if b == nil {
			list = append(list, id)
		} else {
			until = b.Until
		}
	}
	return list, until, nil
}

// recordUsage records what lines of its transcript tell of a running run's use, and
// ends it when that is over one of its limits, or over a budget of the day.
func (tx *txn) recordUsage(r *task.Run, lines []task.Message) error {
	now := r.Usage
	for _, m := range lines {
		now = now.Add(task.ReportedUsage(m.Type, m.Data))
	}
	if now == r.Usage {
		return nil
	}
	if err := tx.SetUsage(r, now); err != nil {
		return err
	}
	more := now.Tokens() > r.Usage.Tokens() || now.CostUSD > r.Usage.CostUSD
	r.Usage = now
	if !more {
		return nil
	}
	below, _, err := tx.UseBelow(r.ID)
	if err != nil {
		return err
	}
	if phase, reason := r.Limits.Over(now.Add(below)); phase != "" {
		if below.Tokens() > 0 || below.CostUSD > 0 {
			reason += ", what it delegated included"
		}
		if err := tx.endOverLimit(r, phase, reason); err != nil {
			return err
		}
	}
	if err := tx.enforceTreeLimits(r); err != nil {
		return err
	}
	return tx.enforceBudgets(r)
}

// endOverLimit ends a running run that used too much, and stops its program.
func (tx *txn) endOverLimit(r *task.Run, phase task.Phase, reason string) error {
	return tx.endWithUsage(r, Finished{State: task.State{Status: task.RunFailed, Phase: phase}, Reason: reason})
}

func (tx *txn) endWithUsage(r *task.Run, f Finished) error {
	f.Usage = r.Usage
	if err := tx.finish(r, f); err != nil {
		return err
	}
	tx.stopRun(r.ID, ErrStopCanceled)
	return nil
}

// enforceBudgets ends what runs although the use of r has used a budget up, and
// has people told of that once a day.
func (tx *txn) enforceBudgets(r *task.Run) error {
	b, err := tx.s.overBudget(&tx.Rx, r.Agent)
	if err != nil || b == nil {
		return err
	}
	if err := tx.noticeBudget(b, r.TaskID); err != nil {
		return err
	}
	list, err := tx.Running()
	if err != nil {
		return err
	}
	for _, o := range list {
		if b.Agent != "" && o.Agent != b.Agent {
			continue
		}
		// The end of one run may have ended another.
		now, err := tx.Run(o.ID)
		if err != nil {
			return err
		}
		if now.Status == task.RunRunning {
			f := Finished{State: task.State{Status: task.RunFailed, Phase: b.Over()}, Reason: "The " + b.Message(), dayOver: true}
			if err := tx.endWithUsage(now, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func budgetKey(agent string) string { return "budget told:" + agent }

// noticeBudget puts a notice into the thread of an open task, once a day for
// each budget.
func (tx *txn) noticeBudget(b *task.Budget, id task.ID) error {
	today := task.StartOfDay(tx.Now).String()
	notifiedDay, err := tx.Setting(budgetKey(b.Agent))
	if err != nil || notifiedDay == today {
		return err
	}
	tk, err := tx.TaskRow(id)
	if err != nil || tk.Status.Archived() {
		return err
	}
	m, err := tx.addMessage(id, task.KindNotice, task.System, "The "+b.Message()+". No run of it starts before that; queued runs stay.")
	if err != nil {
		return err
	}
	if _, err := tx.InsertNotice(m, id); err != nil {
		return err
	}
	if err := tx.notifyMessage(tk, task.KindNotice, "the "+b.Message()); err != nil {
		return err
	}
	if err := tx.taskEvent(task.EvNotified, tk, changes{"message": m}); err != nil {
		return err
	}
	return tx.SetSetting(budgetKey(b.Agent), today)
}
