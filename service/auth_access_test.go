package service

import (
	"testing"
	"time"

	"taskyard/task"
)

func TestRolesAndPermissions(t *testing.T) {
	t.Parallel()
	table := map[task.Role]string{ // in the order of task.Perms
		task.RoleNone:     "1000 000000",
		task.RoleAgent:    "1111 100000",
		task.RoleViewer:   "1110 010000",
		task.RoleOperator: "1111 111000",
		task.RoleReviewer: "1111 111100",
		task.RoleAdmin:    "1111 111110",
		task.RoleWorker:   "1100 000001",
		"root":            "0000 000000",
	}
	for role, row := range table {
		got := ""
		for i, p := range task.Perms {
			if i == 4 {
				got += " "
			}
			got += map[bool]string{true: "1", false: "0"}[role.May(p)]
		}
		equal(t, "permissions of "+string(role), got, row)
		equal(t, "an unknown permission for "+string(role), role.May("fly"), false)
	}
}

// calls returns calls of use cases with the permission that each requires.
func (inst *instance) calls(tk *task.Task, run task.ID) map[string]struct {
	perm task.Perm
	call func(task.Actor) error
} {
	type c = struct {
		perm task.Perm
		call func(task.Actor) error
	}
	ctx, id := inst.ctx(), tk.ID
	return map[string]c{
		"task":       {task.Read, func(a task.Actor) error { _, err := inst.s.Task(ctx, a, id); return err }},
		"list":       {task.Read, func(a task.Actor) error { _, err := inst.s.OpenTasks(ctx, a, task.TaskFilter{Limit: 1}); return err }},
		"history":    {task.Read, func(a task.Actor) error { _, err := inst.s.History(ctx, a, task.HistoryFilter{Limit: 1}); return err }},
		"queue":      {task.Read, func(a task.Actor) error { _, err := inst.s.Queue(ctx, a, "coder", false, 1, ""); return err }},
		"events":     {task.Read, func(a task.Actor) error { _, err := inst.s.Events(ctx, a, task.EventFilter{Limit: 1}); return err }},
		"comments":   {task.Read, func(a task.Actor) error { _, err := inst.s.Comments(ctx, a, id, 0, 1); return err }},
		"thread":     {task.Read, func(a task.Actor) error { _, err := inst.s.Thread(ctx, a, id, 0, 1); return err }},
		"run":        {task.Read, func(a task.Actor) error { _, err := inst.s.Run(ctx, a, run); return err }},
		"runs":       {task.Read, func(a task.Actor) error { _, err := inst.s.Runs(ctx, a, task.RunFilter{Limit: 1}); return err }},
		"transcript": {task.Read, func(a task.Actor) error { _, err := inst.s.Transcript(ctx, a, run, 0, 1); return err }},
		"scheduler":  {task.Read, func(a task.Actor) error { _, err := inst.s.Scheduler(ctx, a); return err }},
		"stats":      {task.Read, func(a task.Actor) error { _, err := inst.s.Stats(ctx, a, 0); return err }},
		"board day":  {task.Read, func(a task.Actor) error { _, err := inst.s.BoardDay(ctx, a); return err }},
		"board":      {task.Read, func(a task.Actor) error { _, err := inst.s.Board(ctx, a, task.TaskFilter{}); return err }},
		"agents":     {task.Read, func(a task.Actor) error { _, err := inst.s.Agents(a); return err }},
		"page":       {task.Read, func(a task.Actor) error { _, err := inst.s.TaskPage(ctx, a, id, time.UTC); return err }},
		"waiting":    {task.Read, func(a task.Actor) error { _, err := inst.s.Waiting(ctx, a); return err }},
		"create": {task.Write, func(a task.Actor) error {
			_, err := inst.s.CreateTask(ctx, a, task.New{Title: "x", Owner: "coder", NoStart: true})
			return err
		}},
		"update": {task.Write, func(a task.Actor) error {
			_, err := inst.s.UpdateTask(ctx, a, id, task.Patch{Priority: ptr(1)})
			return err
		}},
		"why":     {task.Read, func(a task.Actor) error { _, err := inst.s.Why(ctx, a, id); return err }},
		"blocked": {task.Write, func(a task.Actor) error { _, err := inst.s.SetBlockedBy(ctx, a, id, nil); return err }},
		"steps":   {task.Write, func(a task.Actor) error { _, err := inst.s.ReplaceSteps(ctx, a, id, nil); return err }},
		"resource": {task.Write, func(a task.Actor) error {
			_, err := inst.s.AddResource(ctx, a, id, task.Resource{Type: "file", Value: "/a"})
			return err
		}},
		"comment": {task.Write, func(a task.Actor) error { _, err := inst.s.Comment(ctx, a, id, "x"); return err }},
		"notify":  {task.Write, func(a task.Actor) error { _, err := inst.s.Notify(ctx, a, id, "x"); return err }},
		"signup":  {task.Claiming, func(a task.Actor) error { _, err := inst.s.Signup(ctx, a, "coder", 1); return err }},
		"save agent": {task.Admin, func(a task.Actor) error {
			_, err := inst.s.SaveAgent(ctx, a, "fresh", definition("tools: read"), "", false)
			return err
		}},
		"reload agents": {task.Admin, inst.s.ReloadAgents},
		"users":         {task.Admin, func(a task.Actor) error { _, err := inst.s.Users(ctx, a); return err }},
		"add user": {task.Admin, func(a task.Actor) error {
			_, err := inst.s.AddUser(ctx, a, "u", "correct horse battery", task.RoleViewer)
			return err
		}},
		"tokens": {task.Account, func(a task.Actor) error { _, err := inst.s.Tokens(ctx, a); return err }},
		"create token": {task.Admin, func(a task.Actor) error {
			_, err := inst.s.CreateToken(ctx, a, NewToken{Name: "x", Scope: "admin"})
			return err
		}},
		"revoke token": {task.Account, func(a task.Actor) error { return inst.s.RevokeToken(ctx, a, 1) }},
	}
}

func TestEveryUseCaseRequiresItsPermission(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart)
	run := must(inst.s.RunNow(inst.ctx(), maya, inst.create(maya, "coder", noStart).ID)).ID
	last := inst.lastEvent()
	for name, c := range inst.calls(tk, run) {
		for _, a := range []task.Actor{{}, vera, coder, oleg, rita, maya} {
			if a.May(c.perm) {
				continue
			}
			t.Run(name+" as "+string(a.Role)+" is refused and writes nothing", func(t *testing.T) {
				code := task.CodeForbidden
				if a.Role == task.RoleNone {
					code = task.CodeUnauthorized
				}
				refused(t, c.call(a), code)
				equal(t, "last event", inst.lastEvent(), last)
			})
		}
	}
	for name, c := range inst.calls(tk, run) {
		t.Run(name+" as admin is allowed", func(t *testing.T) {
			if err := c.call(maya); err != nil && !task.IsCode(err, task.CodeNotFound) && !task.IsCode(err, task.CodeNameTaken) {
				t.Fatal(err)
			}
		})
		t.Run(name+" by an agent without the capability is refused", func(t *testing.T) {
			refused(t, c.call(agentActor("mute")), task.CodeForbidden)
			refused(t, c.call(agentActor("zoe")), task.CodeForbidden)
		})
	}
	t.Run("a run whose definition was removed gets an error that says so", func(t *testing.T) {
		refused(t, inst.s.CheckUsesTasks(agentActor("zoe")), task.CodeForbidden, "zoe is not defined")
		refused(t, inst.s.CheckUsesTasks(agentActor("mute")), task.CodeForbidden, "mute does not have the capability tasks")
		ok(t, inst.s.CheckUsesTasks(maya))
	})
}

func TestAnAgentChangesOnlyRelatedTasks(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	patch := func(a task.Actor, id task.ID) error {
		_, err := inst.s.UpdateTask(inst.ctx(), a, id, task.Patch{Priority: ptr(int(inst.lastEvent()))})
		return err
	}
	tk := inst.create(planner, "coder", noStart, steps("a"))
	top := inst.create(maya, "reviewer", noStart, steps("a"))
	mid := inst.subtask(maya, top.ID, 0, "planner", noStart, steps("a"))
	low := inst.subtask(maya, mid.ID, 0, "coder", noStart)
	t.Run("as owner", func(t *testing.T) { ok(t, patch(coder, tk.ID)) })
	t.Run("as creator", func(t *testing.T) { ok(t, patch(planner, tk.ID)) })
	t.Run("as owner of a parent task", func(t *testing.T) { ok(t, patch(reviewer, low.ID)) })
	t.Run("not as a stranger", func(t *testing.T) {
		refused(t, patch(reviewer, tk.ID), task.CodeForbidden, "neither owner nor creator")
	})
	t.Run("not as owner of a subtask", func(t *testing.T) { refused(t, patch(coder, mid.ID), task.CodeForbidden) })
	for name, call := range map[string]func() error{
		"complete": func() error { _, err := inst.s.CompleteTask(inst.ctx(), reviewer, tk.ID, "", 0); return err },
		"cancel":   func() error { _, err := inst.s.CancelTask(inst.ctx(), reviewer, tk.ID, ""); return err },
		"steps":    func() error { _, err := inst.s.ReplaceSteps(inst.ctx(), reviewer, tk.ID, nil); return err },
		"run":      func() error { _, err := inst.s.RunNow(inst.ctx(), reviewer, tk.ID); return err },
		"release":  func() error { _, err := inst.s.ReleaseClaim(inst.ctx(), reviewer, tk.ID, 0); return err },
	} {
		t.Run("a stranger may not "+name, func(t *testing.T) { refused(t, call(), task.CodeForbidden) })
	}
}

func TestAnAgentActsAsItself(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.create(maya, "coder", noStart)
	_, err := inst.s.Signup(inst.ctx(), reviewer, "coder", 1)
	refused(t, err, task.CodeNotYourName, "reviewer", "coder")
	_, err = inst.s.CompleteAndSignup(inst.ctx(), reviewer, "coder", 1, "", 0)
	refused(t, err, task.CodeNotYourName)
	_, err = inst.s.Reassign(inst.ctx(), reviewer, "coder", []task.ID{1}, "reviewer", "x")
	refused(t, err, task.CodeNotYourName)
	equal(t, "tasks for a person", len(must(inst.s.Signup(inst.ctx(), oleg, "coder", 1))), 1)
}
