package service

import (
	"strconv"

	"taskyard/task"
)

func resumedKey(agent string) string { return "resumed:" + agent }

// pauseFailing pauses an agent whose last runs all failed in the same way: by
// the same definition, in the same phase, for the same reason. Failures
// before the last resume do not count, nor do those that are the server's.
func (tx *txn) pauseFailing(r *task.Run, phase task.Phase) error {
	n := tx.s.config().EqualFailures
	if phase == task.PhaseLost || n < 1 {
		return nil
	}
	last, err := tx.LastRuns(r.Agent, n)
	if err != nil || len(last) < n {
		return err
	}
	resumed, err := tx.Setting(resumedKey(r.Agent))
	if err != nil {
		return err
	}
	for _, l := range last {
		if l.Status != task.RunFailed || l.Phase != last[0].Phase || l.Reason != last[0].Reason ||
			l.DefinitionHash != last[0].DefinitionHash || l.EndedAt.String() <= resumed {
			return nil
		}
	}
	now, err := tx.Pauses()
	if err != nil || now.Own(r.Agent) != nil {
		return err
	}
	why := task.Pause{Reason: last[0].Reason} // the run's page has the whole of it
	return tx.pause(r.Agent, strconv.Itoa(n)+" runs in a row failed in the same way, the last of them run "+
		last[0].ID.String()+": "+why.Brief())
}
