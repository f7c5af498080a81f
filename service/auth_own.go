package service

import (
	"taskyard/db"
	"taskyard/task"
)

// allowedOwn is allowed for use cases that agents with tasks:own may have too:
// they must read and write only tasks that find returns and runs that findRun
// returns.
func (s *Service) allowedOwn(a task.Actor, p task.Perm) error {
	if err := checkPerm(a, p); err != nil || !a.IsAgent() {
		return err
	}
	def, ok := s.agents.Agent(a.Name)
	if !ok {
		return task.Errorf(task.Forbidden, task.CodeForbidden,
			"agent %s is not defined: its definition was removed, or is not loaded yet", a.Name)
	}
	if !def.Can(task.CapabilityTasks) && !def.Can(task.CapabilityOwn) {
		return task.Errorf(task.Forbidden, task.CodeForbidden, "agent %s does not have the capability tasks", a.Name)
	}
	return nil
}

// isOwnTasksOnly reports whether the caller is an agent that may use its own tasks and
// their families alone.
func (s *Service) isOwnTasksOnly(a task.Actor) bool {
	if !a.IsAgent() {
		return false
	}
	def, ok := s.agents.Agent(a.Name)
	return ok && def.Can(task.CapabilityOwn)
}

func ownOnlyError(a task.Actor) error {
	return task.Errorf(task.Forbidden, task.CodeForbidden, "agent %s can see only its own tasks (capabilities: tasks:own)", a.Name)
}

// SeesAll refuses callers that may not read every task: those without the
// permission, and agents with tasks:own.
func (s *Service) SeesAll(a task.Actor) error { return s.allowed(a, task.Read) }

// relationToAgent is how a task relates to an agent with tasks:own, and to the run
// whose token calls.
func relationToAgent(rx *db.Rx, a task.Actor, id task.ID) (db.Relation, error) {
	at := task.ID(0)
	if a.RunID != 0 {
		run, err := rx.Run(a.RunID)
		if err != nil {
			return db.NoRelation, err
		}
		at = run.TaskID
	}
	return rx.Relation(a.Name, at, id)
}

// checkVisible returns CodeTaskNotFound to an agent with tasks:own for a task outside its
// families: forbidden would say that it exists.
func (s *Service) checkVisible(rx *db.Rx, a task.Actor, id task.ID) error {
	if !s.isOwnTasksOnly(a) {
		return nil
	}
	kin, err := relationToAgent(rx, a, id)
	if err == nil && kin == db.NoRelation {
		err = task.TaskNotFound(id)
	}
	return err
}

// checkRunVisible is checkVisible for a run: the error is CodeRunNotFound.
func (s *Service) checkRunVisible(rx *db.Rx, a task.Actor, id task.ID) error {
	if !s.isOwnTasksOnly(a) {
		return nil
	}
	_, err := s.findRun(rx, a, id)
	return err
}

// find returns a task that the caller sees.
func (tx *txn) find(id task.ID, full bool) (*task.Task, error) {
	return tx.s.find(&tx.Rx, tx.actor, id, full)
}

func (s *Service) find(rx *db.Rx, a task.Actor, id task.ID, full bool) (*task.Task, error) {
	if err := s.checkVisible(rx, a, id); err != nil {
		return nil, err
	}
	if full {
		return rx.TaskWithTexts(id)
	}
	return rx.TaskRow(id)
}

// findRun returns a run that the caller sees.
func (tx *txn) findRun(id task.ID) (*task.Run, error) { return tx.s.findRun(&tx.Rx, tx.actor, id) }

func (s *Service) findRun(rx *db.Rx, a task.Actor, id task.ID) (*task.Run, error) {
	r, err := rx.Run(id)
	if err != nil || !s.isOwnTasksOnly(a) {
		return r, err
	}
	switch kin, err := relationToAgent(rx, a, r.TaskID); {
	case err != nil:
		return nil, err
	case kin == db.NoRelation:
		return nil, task.RunNotFound(id)
	}
	return r, nil
}

// narrowList limits a list to what an agent with tasks:own sees of it: what it
// owns, unless the filter asks for what it created. It
// returns whether nothing is left of it.
func (s *Service) narrowList(a task.Actor, owner *string, createdBy string) (none bool) {
	switch {
	case !s.isOwnTasksOnly(a) || createdBy == a.Name || *owner == a.Name:
		return false
	case *owner != "":
		return true
	}
	*owner = a.Name
	return false
}

// narrowOpen is narrowList for open tasks. What is below a task that the agent
// owns it sees whole.
func (s *Service) narrowOpen(rx *db.Rx, a task.Actor, f *task.TaskFilter) (none bool, err error) {
	if f.Parent != 0 && s.isOwnTasksOnly(a) {
		kin, err := relationToAgent(rx, a, f.Parent)
		if err != nil || kin == db.Within {
			return false, err
		}
	}
	return s.narrowList(a, &f.Owner, f.CreatedBy), nil
}

// ownRuns lists the runs of an agent with tasks:own, without those of tasks
// that are not its own any more.
func (s *Service) ownRuns(rx *db.Rx, a task.Actor, f task.RunFilter) ([]*task.Run, error) {
	list := []*task.Run{}
	if f.Agent != "" && f.Agent != a.Name {
		return list, nil
	}
	f.Agent = a.Name
	for {
		part, err := rx.Runs(f)
		if err != nil {
			return nil, err
		}
		for _, r := range part {
			kin, err := relationToAgent(rx, a, r.TaskID)
			if err != nil {
				return nil, err
			}
			if kin != db.NoRelation {
				list = append(list, r)
			}
			if len(list) == f.Limit {
				return list, nil
			}
			f.Before = r.ID
		}
		if len(part) < f.Limit {
			return list, nil
		}
	}
}
