package service

import (
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
	if err := s.checkNew(&in); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(t *tx) (*task.Task, error) {
		if err := t.mayCreate(); err != nil {
			return nil, err
		}
		bound, err := t.treeBound(1)
		if err != nil {
			return nil, err
		}
		id, err := t.insertTask(in, 0, 0, bound)
		if err != nil {
			return nil, err
		}
		return t.Task(id)
	})
}

// checkNew fills defaults and tells every wrong field at once.
func (s *Service) checkNew(in *task.New) error {
	if in.Status == "" {
		in.Status = task.Active
	}
	if in.Channel == "" {
		in.Channel = "web"
	}
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
	if err := p.Err(); err != nil {
		return err
	}
	return s.owner("owner", in.Owner, in.Status)
}

// mayCreate refuses tasks made inside a run of an agent without the tool task,
// and inside a delegated run: those delegate, within their bounds, or not.
func (t *tx) mayCreate() error {
	if t.actor.RunID == 0 {
		return nil
	}
	run, err := t.Run(t.actor.RunID)
	if err != nil {
		return err
	}
	if run.Delegated() {
		return task.Errorf(task.Forbidden, task.CodeForbidden, "run %d was delegated: it makes no tasks but by delegating (POST /api/delegate), so that depth, tools and limits hold", run.ID)
	}
	if def, ok := t.s.agents.Agent(t.actor.Name); !ok || !def.HasTool("task") {
		return task.Errorf(task.Forbidden, task.CodeForbidden, "agent %s may not create tasks inside a run: its definition does not list the tool task", t.actor.Name)
	}
	return nil
}

// insertTask makes a task of the caller, with what bounds its runs, or nil.
func (t *tx) insertTask(in task.New, parent task.ID, nesting int, bound *task.Bound) (task.ID, error) {
	if err := t.notFlooded(in.Owner); err != nil {
		return 0, err
	}
	set, err := t.checkBlockers("blockedBy", 0, nil, in.BlockedBy)
	if err != nil {
		return 0, err
	}
	k := &task.Task{
		Title: in.Title, Description: in.Description, Owner: in.Owner, CreatedBy: t.actor.Name, Status: in.Status,
		Priority: in.Priority, Channel: in.Channel, ParentTaskID: parent, Nesting: nesting, Steps: in.Steps, Resources: in.Resources, Labels: in.Labels,
	}
	id, err := t.InsertTask(k)
	if err != nil {
		return 0, err
	}
	k.ID = id
	if err := t.reach(id, 0); err != nil {
		return 0, err
	}
	if err := t.brought(id, task.PartCreated); err != nil {
		return 0, err
	}
	if bound != nil {
		if err := t.PutBound(id, bound); err != nil {
			return 0, err
		}
	}
	c := changes{"title": in.Title, "status": in.Status, "priority": in.Priority}
	if len(in.Labels) > 0 {
		c["labels"] = in.Labels
	}
	if len(set) > 0 {
		if err := t.writeBlockers(k, set); err != nil {
			return 0, err
		}
		c["blockedBy"] = set
	}
	if parent != 0 {
		c["parentTaskId"] = parent
	}
	if err := t.event(task.EvTaskCreated, task.Event{TaskID: id, Agent: in.Owner}, c); err != nil {
		return 0, err
	}
	if in.Status == task.Active && !in.NoStart {
		return id, t.wake(k, "created")
	}
	return id, nil
}

// Task returns any task with relations. Error: unknown id.
func (s *Service) Task(ctx context.Context, a task.Actor, id task.ID) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) (*task.Task, error) {
		if err := s.sees(rx, a, id); err != nil {
			return nil, err
		}
		return rx.Task(id)
	})
}

// UpdateTask changes fields and status of an open task. A p.Version that is
// not the present one is a Conflict with the present task. A status of the
// work vocabulary stands for its act. Errors: invalid fields, unknown owner,
// forbidden transition, archived, not related.
func (s *Service) UpdateTask(ctx context.Context, a task.Actor, id task.ID, p task.Patch) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	if err := checkPatch(&p); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(t *tx) (*task.Task, error) {
		k, err := t.find(id, true)
		if err != nil {
			return nil, err
		}
		if err := changeable(&t.Rx, a, k); err != nil {
			return nil, err
		}
		if p.Version != 0 && p.Version != k.Version {
			return nil, stale(&t.Rx, k, p.Version)
		}
		if k.Status.Archived() {
			return nil, archivedFor(k, p)
		}
		if p.Description != nil {
			had := task.TextBytes(k.Description, k.Steps)
			if err := checkTaskText("description", had-len(k.Description)+len(*p.Description), had); err != nil {
				return nil, err
			}
		}
		if err := t.applyPatch(k, p); err != nil {
			return nil, err
		}
		if err := t.renew(k); err != nil {
			return nil, err
		}
		return t.Task(id)
	})
}

// archivedFor refuses a change of history; a wanted status is named beside the
// present one.
func archivedFor(k *task.Task, p task.Patch) error {
	if p.Status == nil {
		return archived(k)
	}
	status, work, _ := task.ParseStatus(*p.Status)
	switch {
	case work == task.Complete:
		status = task.Done
	case work != "":
		status = task.Status(work)
	}
	return k.Status.MoveErr(k.ID, status)
}

func stale(rx *db.Rx, k *task.Task, had int64) error {
	now, err := rx.Task(k.ID)
	if err != nil {
		return err
	}
	e := task.Errorf(task.Conflict, task.CodeStaleVersion, "Task %d is at version %d by now, not %d: read it again and merge", k.ID, k.Version, had)
	e.Task = now
	return e
}

// checkPatch tells every wrong field at once, and puts labels in order.
func checkPatch(p *task.Patch) error {
	var bad task.Problems
	if p.Title != nil {
		bad.CheckLine("title", *p.Title, task.MaxTitle)
	}
	if p.Description != nil {
		bad.CheckText("description", *p.Description, task.MaxText)
	}
	if p.Priority != nil {
		bad.CheckPriority("priority", *p.Priority)
	}
	if p.Labels != nil {
		sorted := bad.CheckLabels("labels", *p.Labels)
		p.Labels = &sorted
	}
	if p.Status != nil {
		if _, _, err := task.ParseStatus(*p.Status); err != nil {
			bad.Add("status", "%s", err)
		}
	}
	if p.Version < 0 {
		bad.Add("version", "must be positive")
	}
	return bad.Err()
}

// applyPatch checks everything before its first write.
func (t *tx) applyPatch(k *task.Task, p task.Patch) error {
	status, work := task.Status(""), task.WorkStatus("")
	if p.Status != nil {
		status, work, _ = task.ParseStatus(*p.Status)
	}
	target := k.Status
	if status == task.Active {
		target = task.Active
	}
	if p.Owner != nil && *p.Owner != k.Owner || target != k.Status {
		owner := k.Owner
		if p.Owner != nil {
			owner = *p.Owner
		}
		if err := t.s.owner("owner", owner, target); err != nil {
			return err
		}
	}
	if work == task.Complete {
		status, work = task.Done, ""
	}
	if status != "" && status != k.Status {
		if err := k.Status.MoveErr(k.ID, status); err != nil {
			return err
		}
	}
	if work == task.Working || work == task.Idle {
		if err := checkWork(k, work); err != nil {
			return err
		}
	}
	if work == task.Working {
		if err := t.free(k); err != nil {
			return err
		}
		owner := k.Owner
		if p.Owner != nil {
			owner = *p.Owner
		}
		if _, err := t.room(owner); err != nil {
			return err
		}
	}
	// Whoever works on it or ends it in the same call needs no run.
	wakes := work != task.Working && !status.Archived()
	if err := t.patchFields(k, p, wakes); err != nil {
		return err
	}
	return t.patchStatus(k, status, work)
}

func checkWork(k *task.Task, work task.WorkStatus) error {
	switch {
	case k.Status != task.Active:
		return task.Errorf(task.Conflict, task.CodeTransition, "Task %d is %s and cannot be %s", k.ID, k.Status, work)
	case work == task.Working && k.Claim != nil:
		return task.Errorf(task.Conflict, task.CodeClaimed, "Task %d is already claimed by %s", k.ID, k.Claim.Holder)
	case work == task.Working && k.OpenRunID != 0:
		return task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d cannot be claimed: run %d of it is open", k.ID, k.OpenRunID)
	case work == task.Working && k.QuestionID != 0:
		return task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d cannot be claimed: a question is open", k.ID)
	case work == task.Idle && k.Claim == nil:
		return task.Errorf(task.Conflict, task.CodeNotWorking, "Task %d is not in working status (current status: idle)", k.ID)
	}
	return nil
}

func (t *tx) patchFields(k *task.Task, p task.Patch, wakes bool) error {
	diff := changes{}
	if p.Title != nil && *p.Title != k.Title {
		diff["title"] = []string{k.Title, *p.Title}
		k.Title, k.TitleBy = *p.Title, t.writer(k)
	}
	if p.Description != nil && *p.Description != k.Description {
		diff["description"] = []string{k.Description, *p.Description}
		k.Description, k.TextBy = *p.Description, t.writer(k)
	}
	if p.Priority != nil && *p.Priority != k.Priority {
		diff["priority"] = []int{k.Priority, *p.Priority}
		k.Priority = *p.Priority
	}
	if p.Labels != nil && !slices.Equal(*p.Labels, k.Labels) {
		diff["labels"] = [][]string{append([]string{}, k.Labels...), *p.Labels}
		k.Labels = *p.Labels
	}
	if len(diff) > 0 {
		if err := t.UpdateTask(k); err != nil {
			return err
		}
		for _, part := range []task.Part{task.PartTitle, task.PartDescription} {
			if diff[string(part)] == nil {
				continue
			}
			if err := t.brought(k.ID, part); err != nil {
				return err
			}
		}
		if err := t.event(task.EvTaskUpdated, task.Event{TaskID: k.ID, Agent: k.Owner}, diff); err != nil {
			return err
		}
	}
	if p.Owner != nil && *p.Owner != k.Owner {
		return t.transfer(k, *p.Owner, "", wakes)
	}
	return nil
}

// writer is who changes a text of a task, "" for its creator.
func (t *tx) writer(k *task.Task) string {
	if t.actor.Name == k.CreatedBy {
		return ""
	}
	return t.actor.Name
}

func (t *tx) patchStatus(k *task.Task, status task.Status, work task.WorkStatus) error {
	switch {
	case work == task.Working:
		return t.claim(k)
	case work == task.Idle && k.Claim != nil: // a new owner has ended it already
		return t.release(k, "released")
	case status == task.Done:
		return t.complete(k, "")
	case status == task.Canceled:
		_, err := t.cancel(k, "")
		return err
	case status == task.Active && k.Status == task.Draft:
		return t.start(k)
	}
	return nil
}

// start makes a draft active and wakes its owner. A person who does it has
// consented to its runs; an agent cannot consent in a person's stead.
func (t *tx) start(k *task.Task) error {
	k.Status = task.Active
	if err := t.UpdateTask(k); err != nil {
		return err
	}
	if !t.actor.IsAgent() {
		if err := t.consented(k.ID); err != nil {
			return err
		}
	}
	if err := t.SetGrant(k.ID, "", "", task.Limits{}); err != nil {
		return err
	}
	if err := t.brought(k.ID, task.PartStarted); err != nil {
		return err
	}
	if err := t.event(task.EvTaskStarted, task.Event{TaskID: k.ID, Agent: k.Owner}, changes{"status": []task.Status{task.Draft, task.Active}}); err != nil {
		return err
	}
	return t.wake(k, "started")
}

// CompleteTask archives an active task as done and wakes the parent's owner,
// and the owner of each task that was blocked by nothing else.
// claim, if not 0, must be the present claim's id. Errors: forbidden
// transition, stale claim, not related.
func (s *Service) CompleteTask(ctx context.Context, a task.Actor, id task.ID, summary string, claim int64) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	if err := checkText("summary", summary); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(t *tx) (*task.Task, error) {
		k, err := t.find(id, false)
		if err != nil {
			return nil, err
		}
		if err := t.mayEnd(k, task.Done, claim); err != nil {
			return nil, err
		}
		if err := t.complete(k, summary); err != nil {
			return nil, err
		}
		return t.Task(id)
	})
}

func checkText(field, text string) error {
	var p task.Problems
	p.CheckText(field, text, task.MaxText)
	return p.Err()
}

// checkTaskText is task.Problems.CheckTaskText where nothing else is checked.
func checkTaskText(field string, now, had int) error {
	var p task.Problems
	p.CheckTaskText(field, now, had)
	return p.Err()
}

// checkPlan checks what a changed plan makes of the text of a task.
func checkPlan(field string, k *task.Task, now []task.Step) error {
	return checkTaskText(field, task.TextBytes(k.Description, now), task.TextBytes(k.Description, k.Steps))
}

// mayEnd checks that the caller may end a task so. A run may cancel what it
// brought about although another run works there, and stops that with it.
func (t *tx) mayEnd(k *task.Task, next task.Status, claim int64) error {
	check := changeable
	if next == task.Canceled {
		check = related
	}
	if err := check(&t.Rx, t.actor, k); err != nil {
		return err
	}
	if err := k.Status.MoveErr(k.ID, next); err != nil {
		return err
	}
	return fence(k, claim)
}

func (t *tx) complete(k *task.Task, summary string) error {
	if err := t.closeRun(k, "the task was completed", true); err != nil {
		return err
	}
	if err := t.Archive(k.ID, task.Done, summary); err != nil {
		return err
	}
	t.inboxIf(k.Failures > 0 || k.QuestionID != 0 || k.BlockersCanceled > 0)
	c := changes{"status": []task.Status{k.Status, task.Done}}
	if summary != "" {
		c["summary"] = summary
	}
	if err := t.event(task.EvTaskCompleted, task.Event{TaskID: k.ID, Agent: k.Owner}, c); err != nil {
		return err
	}
	if err := t.blockerEnded(k, task.Done); err != nil {
		return err
	}
	return t.wakeParent(k, "completed")
}

// wakeParent wakes the owner of the task above, if that is active.
func (t *tx) wakeParent(k *task.Task, what string) error {
	if k.ParentTaskID == 0 {
		return nil
	}
	p, err := t.TaskBare(k.ParentTaskID)
	if err != nil || p.Status != task.Active {
		return err
	}
	t.topics = append(t.topics, "task:"+p.ID.String())
	if own, err := t.asksItself(p, k); err != nil || own {
		return err
	}
	return t.wake(p, "subtask "+k.ID.String()+" "+what)
}
