package service

import (
	"cmp"
	"context"
	"slices"

	"taskyard/db"
	"taskyard/task"
)

// CreateTask makes a task of the caller. An active one wakes its owner unless
// in.NoStart or something blocks it. Errors: invalid fields, unknown or
// invalid owner, unknown blocker, queue full.
func (s *Service) CreateTask(ctx context.Context, a task.Actor, in task.New) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	if err := checkNew(&in); err != nil {
		return nil, s.withReferences(ctx, a, in, err)
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Task, error) {
		if err := tx.mayCreate(); err != nil {
			return nil, err
		}
		bound, err := tx.treeBound(1)
		if err != nil {
			return nil, err
		}
		id, err := tx.insertTask(in, 0, 0, bound)
		if err != nil {
			return nil, err
		}
		return tx.Task(id)
	})
}

// checkNew fills defaults and reports every wrong field at once. What the fields
// refer to is left to checkReferences.
func checkNew(in *task.New) error {
	in.Status, in.Channel = cmp.Or(in.Status, task.Active), cmp.Or(in.Channel, "web")
	var p task.Problems
	p.CheckLine("title", in.Title, task.MaxTitle)
	p.CheckText("description", in.Description, task.MaxText)
	p.CheckPriority("priority", in.Priority)
	p.CheckSteps("steps", in.Steps)
	p.CheckTaskText("steps", task.TextBytes(in.Description, in.Steps), 0)
	p.CheckResources("resources", in.Resources)
	p.CheckLine("channel", in.Channel, 32)
	in.Labels = p.CheckLabels("labels", in.Labels)
	if in.Status != task.Draft && in.Status != task.Active {
		p.Add("status", "must be draft or active")
	}
	if in.Owner == "" {
		p.Add("owner", "is required: name an agent")
	}
	return p.Err()
}

// mayCreate refuses tasks made inside a run of an agent without the tool task,
// and inside a delegated run: those delegate, within their bounds, or not.
func (tx *txn) mayCreate() error {
	if tx.actor.RunID == 0 {
		return nil
	}
	run, err := tx.Run(tx.actor.RunID)
	if err != nil {
		return err
	}
	if run.Delegated() {
		return task.Errorf(task.Forbidden, task.CodeForbidden,
			"run %d was delegated: it creates tasks only by delegating (POST /api/delegate), so that its depth, tools and limits apply", run.ID)
	}
	if def, ok := tx.s.agents.Agent(tx.actor.Name); !ok || !def.HasTool("task") {
		return task.Errorf(task.Forbidden, task.CodeForbidden,
			"agent %s may not create tasks inside a run: its definition does not list the tool task", tx.actor.Name)
	}
	return nil
}

// insertTask makes a task of the caller, with what bounds its runs, or nil.
func (tx *txn) insertTask(in task.New, parent task.ID, nesting int, bound *task.Bound) (task.ID, error) {
	// Here, as an agent that owns nothing can be removed at any moment.
	set, err := tx.s.checkReferences(&tx.Rx, tx.actor, in)
	if err != nil {
		return 0, err
	}
	if err := tx.checkQueueLimit(in.Owner); err != nil {
		return 0, err
	}
	if err := tx.checkFitsProject("owner", in.Owner, in.Project); err != nil {
		return 0, err
	}
	demands := task.Demands{Checks: in.Checks, Policy: in.Policy}
	if in.Policy != nil && in.Policy.Approvals == 0 {
		demands.Policy = nil
	}
	if !demands.Empty() {
		if err := tx.mayDemand(in.Project, demands); err != nil {
			return 0, err
		}
	}
	tk := &task.Task{
		Title: in.Title, Description: in.Description, Owner: in.Owner, CreatedBy: tx.actor.Name, Status: in.Status,
		Priority: in.Priority, Channel: in.Channel, ParentTaskID: parent, Nesting: nesting,
		Steps: in.Steps, Resources: in.Resources, Labels: in.Labels, Project: in.Project, Demands: demands,
	}
	if tk.ID, err = tx.InsertTask(tk); err != nil {
		return 0, err
	}
	if err := tx.recordRunTask(tk.ID, 0); err != nil {
		return 0, err
	}
	if err := tx.recordContribution(tk.ID, task.PartCreated); err != nil {
		return 0, err
	}
	if bound != nil {
		if err := tx.PutBound(tk.ID, bound); err != nil {
			return 0, err
		}
	}
	c := changes{"title": in.Title, "status": in.Status, "priority": in.Priority}
	if len(in.Labels) > 0 {
		c["labels"] = in.Labels
	}
	if len(set) > 0 {
		if err := tx.writeBlockers(tk, set); err != nil {
			return 0, err
		}
		c["blockedBy"] = set
	}
	if parent != 0 {
		c["parentTaskId"] = parent
	}
	if in.Project != "" {
		c["project"] = in.Project
	}
	if len(demands.Checks) > 0 {
		c["checks"] = checkTexts(demands.Checks)
	}
	if demands.Policy != nil {
		c["policy"] = demands.Policy.Text()
	}
	if err := tx.taskEvent(task.EvTaskCreated, tk, c); err != nil {
		return 0, err
	}
	if in.Status == task.Active && !in.NoStart {
		return tk.ID, tx.wake(tk, "the task was created")
	}
	return tk.ID, nil
}

// Task returns any task with relations. Error: unknown id.
func (s *Service) Task(ctx context.Context, a task.Actor, id task.ID) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	tk, err := read(ctx, s, func(rx *db.Rx) (*task.Task, error) {
		if err := s.checkVisible(rx, a, id); err != nil {
			return nil, err
		}
		tk, err := rx.Task(id)
		if err == nil && tk.Review != nil {
			tk.Review.Overlaps, err = s.overlaps(rx, a, tk.Review.ID, tk.Review.State)
		}
		return tk, err
	})
	if err == nil {
		err = s.renewByReading(ctx, a, tk)
	}
	return tk, err
}

// UpdateTask changes fields and status of an open task. If p.Version is not the
// current one, the error is a Conflict with the current task. A status of the
// work vocabulary triggers its action. Errors: invalid fields, unknown owner,
// forbidden transition, archived, not related.
func (s *Service) UpdateTask(ctx context.Context, a task.Actor, id task.ID, p task.Patch) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	if err := checkPatch(&p); err != nil {
		return nil, s.withPatchReferences(ctx, p, err)
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Task, error) {
		tk, err := tx.find(id, true)
		if err != nil {
			return nil, err
		}
		if err := checkMayChange(&tx.Rx, a, tk); err != nil {
			return nil, err
		}
		if p.Version != 0 && p.Version != tk.Version {
			return nil, staleVersionError(&tx.Rx, tk, p.Version)
		}
		if tk.Status.Archived() {
			return nil, archivedFor(tk, p)
		}
		if p.Description != nil {
			before := task.TextBytes(tk.Description, tk.Steps)
			if err := checkTaskText("description", before-len(tk.Description)+len(*p.Description), before); err != nil {
				return nil, err
			}
		}
		if err := tx.applyPatch(tk, p); err != nil {
			return nil, err
		}
		if err := tx.renew(tk); err != nil {
			return nil, err
		}
		return tx.Task(id)
	})
}

// archivedFor refuses a change of history; a wanted status is named beside the
// present one.
func archivedFor(tk *task.Task, p task.Patch) error {
	if p.Status == nil {
		return archivedError(tk)
	}
	status, work, _ := task.ParseStatus(*p.Status)
	switch {
	case work == task.Complete:
		status = task.Done
	case work != "":
		status = task.Status(work)
	}
	return tk.Status.MoveErr(tk.ID, status)
}

func staleVersionError(rx *db.Rx, tk *task.Task, version int64) error {
	now, err := rx.Task(tk.ID)
	if err != nil {
		return err
	}
	e := task.Errorf(task.Conflict, task.CodeStaleVersion,
		"Task %d is now at version %d, not %d: read it again and merge", tk.ID, tk.Version, version)
	e.Task = now
	return e
}

// checkPatch reports every wrong field at once, and puts labels in order.
func checkPatch(p *task.Patch) error {
	var problems task.Problems
	if p.Empty() {
		return task.Errorf(task.Invalid, task.CodeInvalidField,
			"Nothing to change: send at least one of title, description, priority, labels, project, checks, policy, owner and status")
	}
	if p.Title != nil {
		problems.CheckLine("title", *p.Title, task.MaxTitle)
	}
	if p.Description != nil {
		problems.CheckText("description", *p.Description, task.MaxText)
	}
	if p.Priority != nil {
		problems.CheckPriority("priority", *p.Priority)
	}
	if p.Labels != nil {
		sorted := problems.CheckLabels("labels", *p.Labels)
		p.Labels = &sorted
	}
	if p.Status != nil {
		if _, _, err := task.ParseStatus(*p.Status); err != nil {
			problems.Add("status", "%s", err)
		}
	}
	if p.Version < 0 {
		problems.Add("version", "must be positive")
	}
	return problems.Err()
}

// checkFitsAfter checks that the owner of a task reaches the repository of its
// project, where a patch changes either or starts the task. owner is the one
// after the patch.
func (tx *txn) checkFitsAfter(tk *task.Task, p task.Patch, owner string, target task.Status) error {
	project, field := tk.Project, "owner"
	if p.Project != nil && *p.Project != project {
		project, field = *p.Project, "project"
	}
	if owner == tk.Owner && project == tk.Project && target == tk.Status {
		return nil
	}
	return tx.checkFitsProject(field, owner, project)
}

// applyPatch checks everything before its first write.
func (tx *txn) applyPatch(tk *task.Task, p task.Patch) error {
	status, work := task.Status(""), task.WorkStatus("")
	if p.Status != nil {
		status, work, _ = task.ParseStatus(*p.Status)
	}
	target := tk.Status
	if status == task.Active {
		target = task.Active
	}
	owner := tk.Owner
	if p.Owner != nil {
		owner = *p.Owner
	}
	var wrongOwner, wrongProject error
	if owner != tk.Owner || target != tk.Status {
		wrongOwner = tx.s.checkOwner("owner", owner, target)
	}
	if p.Project != nil && *p.Project != tk.Project {
		_, wrongProject = projectFor(&tx.Rx, *p.Project)
	}
	if err := joinInvalid(wrongOwner, wrongProject); err != nil {
		return err
	}
	if err := tx.checkFitsAfter(tk, p, owner, target); err != nil {
		return err
	}
	if work == task.Complete {
		status, work = task.Done, ""
	}
	if status != "" && status != tk.Status {
		if err := tk.Status.MoveErr(tk.ID, status); err != nil {
			return err
		}
	}
	if status == task.Done {
		if err := checkNotDenied(&tx.Rx, tx.actor, tk); err != nil {
			return err
		}
	}
	if work == task.Working || work == task.Idle {
		if err := checkWork(tk, work); err != nil {
			return err
		}
	}
	if work == task.Working {
		if err := tx.checkUnblocked(tk); err != nil {
			return err
		}
		if _, err := tx.claimsLeft(owner); err != nil {
			return err
		}
	}
	// Whoever works on it or ends it in the same call needs no run.
	wakes := work != task.Working && !status.Archived()
	if err := tx.patchFields(tk, p, wakes); err != nil {
		return err
	}
	return tx.patchStatus(tk, status, work)
}

func checkWork(tk *task.Task, work task.WorkStatus) error {
	switch {
	case tk.Status != task.Active:
		return task.Errorf(task.Conflict, task.CodeTransition, "Task %d is %s and cannot be %s", tk.ID, tk.Status, work)
	case work == task.Working && tk.Claim != nil:
		return task.Errorf(task.Conflict, task.CodeClaimed, "Task %d is already claimed by %s", tk.ID, task.ActorLabel(tk.Claim.Holder))
	case work == task.Working && tk.OpenRunID != 0:
		return task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d cannot be claimed: run %d of it is open", tk.ID, tk.OpenRunID)
	case work == task.Working && tk.QuestionID != 0:
		return task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d cannot be claimed: a question is open", tk.ID)
	case work == task.Idle && tk.Claim == nil:
		return task.Errorf(task.Conflict, task.CodeNotWorking, "Task %d is not in working status (current status: idle)", tk.ID)
	}
	return nil
}

func (tx *txn) patchFields(tk *task.Task, p task.Patch, wakes bool) error {
	diff := changes{}
	if p.Title != nil && *p.Title != tk.Title {
		diff["title"] = []string{tk.Title, *p.Title}
		tk.Title, tk.TitleBy = *p.Title, tx.writer(tk)
	}
	if p.Description != nil && *p.Description != tk.Description {
		diff["description"] = []string{tk.Description, *p.Description}
		tk.Description, tk.TextBy = *p.Description, tx.writer(tk)
	}
	if p.Priority != nil && *p.Priority != tk.Priority {
		diff["priority"] = []int{tk.Priority, *p.Priority}
		tk.Priority = *p.Priority
	}
	if p.Labels != nil && !slices.Equal(*p.Labels, tk.Labels) {
		diff["labels"] = [][]string{append([]string{}, tk.Labels...), *p.Labels}
		tk.Labels = *p.Labels
	}
	if len(diff) > 0 {
		if err := tx.UpdateTask(tk); err != nil {
			return err
		}
		for _, part := range []task.Part{task.PartTitle, task.PartDescription} {
			if diff[string(part)] == nil {
				continue
			}
			if err := tx.recordContribution(tk.ID, part); err != nil {
				return err
			}
		}
		if err := tx.taskEvent(task.EvTaskUpdated, tk, diff); err != nil {
			return err
		}
	}
	if p.Project != nil {
		if err := tx.moveToProject(tk, *p.Project); err != nil {
			return err
		}
	}
	if err := tx.setDemands(tk, p.Checks, p.Policy); err != nil {
		return err
	}
	if p.Owner != nil && *p.Owner != tk.Owner {
		return tx.transfer(tk, *p.Owner, "", wakes)
	}
	return nil
}

// writer is who changes a text of a task, "" for its creator.
func (tx *txn) writer(tk *task.Task) string {
	if tx.actor.Name == tk.CreatedBy {
		return ""
	}
	return tx.actor.Name
}

func (tx *txn) patchStatus(tk *task.Task, status task.Status, work task.WorkStatus) error {
	switch {
	case work == task.Working:
		return tx.claim(tk)
	case work == task.Idle && tk.Claim != nil: // a new owner has ended it already
		return tx.release(tk, "released")
	case status == task.Done:
		return tx.complete(tk, "")
	case status == task.Canceled:
		_, err := tx.cancel(tk, "")
		return err
	case status == task.Active && tk.Status == task.Draft:
		return tx.start(tk)
	}
	return nil
}

// start makes a draft active and wakes its owner. A person who does it has
// consented to its runs; an agent cannot consent in a person's stead.
func (tx *txn) start(tk *task.Task) error {
	tk.Status = task.Active
	if err := tx.UpdateTask(tk); err != nil {
		return err
	}
	if !tx.actor.IsAgent() {
		if err := tx.recordConsent(tk.ID); err != nil {
			return err
		}
	}
	if err := tx.SetGrant(tk.ID, "", "", task.Limits{}); err != nil {
		return err
	}
	if err := tx.recordContribution(tk.ID, task.PartStarted); err != nil {
		return err
	}
	if err := tx.taskEvent(task.EvTaskStarted, tk, changes{"status": []task.Status{task.Draft, task.Active}}); err != nil {
		return err
	}
	return tx.wake(tk, "the task was started")
}

func checkText(field, text string) error {
	var p task.Problems
	p.CheckText(field, text, task.MaxText)
	return p.Err()
}

// checkTaskText is task.Problems.CheckTaskText where nothing else is checked.
func checkTaskText(field string, now, before int) error {
	var p task.Problems
	p.CheckTaskText(field, now, before)
	return p.Err()
}

// checkPlan checks what a changed plan makes of the text of a task.
func checkPlan(field string, tk *task.Task, now []task.Step) error {
	return checkTaskText(field, task.TextBytes(tk.Description, now), task.TextBytes(tk.Description, tk.Steps))
}
