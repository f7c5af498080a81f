package service

import (
	"testing"
	"time"

	"taskyard/task"
)

func TestRolesAndPermissions(t *testing.T) {
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

// calls is one call for each permission that a use case asks for.
func (y *instance) calls(tk *task.Task, run task.ID) map[string]struct {
	perm task.Perm
	call func(task.Actor) error
} {
	type c = struct {
		perm task.Perm
		call func(task.Actor) error
	}
	ctx, id := y.ctx(), tk.ID
	return map[string]c{
		"task":       {task.Read, func(a task.Actor) error { _, err := y.s.Task(ctx, a, id); return err }},
		"list":       {task.Read, func(a task.Actor) error { _, err := y.s.OpenTasks(ctx, a, task.TaskFilter{Limit: 1}); return err }},
		"history":    {task.Read, func(a task.Actor) error { _, err := y.s.History(ctx, a, task.HistoryFilter{Limit: 1}); return err }},
		"queue":      {task.Read, func(a task.Actor) error { _, err := y.s.Queue(ctx, a, "coder", false, 1, ""); return err }},
		"events":     {task.Read, func(a task.Actor) error { _, err := y.s.Events(ctx, a, task.EventFilter{Limit: 1}); return err }},
		"comments":   {task.Read, func(a task.Actor) error { _, err := y.s.Comments(ctx, a, id, 0, 1); return err }},
		"thread":     {task.Read, func(a task.Actor) error { _, err := y.s.Thread(ctx, a, id, 0, 1); return err }},
		"run":        {task.Read, func(a task.Actor) error { _, err := y.s.Run(ctx, a, run); return err }},
		"runs":       {task.Read, func(a task.Actor) error { _, err := y.s.Runs(ctx, a, task.RunFilter{Limit: 1}); return err }},
		"transcript": {task.Read, func(a task.Actor) error { _, err := y.s.Transcript(ctx, a, run, 0, 1); return err }},
		"scheduler":  {task.Read, func(a task.Actor) error { _, err := y.s.Scheduler(ctx, a); return err }},
		"stats":      {task.Read, func(a task.Actor) error { _, err := y.s.Stats(ctx, a, 0); return err }},
		"board day":  {task.Read, func(a task.Actor) error { _, err := y.s.BoardDay(ctx, a); return err }},
		"board":      {task.Read, func(a task.Actor) error { _, err := y.s.Board(ctx, a, task.TaskFilter{}); return err }},
		"agents":     {task.Read, func(a task.Actor) error { _, err := y.s.Agents(a); return err }},
		"page":       {task.Read, func(a task.Actor) error { _, err := y.s.TaskPage(ctx, a, id, time.UTC); return err }},
		"waiting":    {task.Read, func(a task.Actor) error { _, err := y.s.Waiting(ctx, a); return err }},
		"create": {task.Write, func(a task.Actor) error {
			_, err := y.s.CreateTask(ctx, a, task.New{Title: "x", Owner: "coder", NoStart: true})
			return err
		}},
		"update": {task.Write, func(a task.Actor) error {
			_, err := y.s.UpdateTask(ctx, a, id, task.Patch{Priority: ptr(1)})
			return err
		}},
		"why":     {task.Read, func(a task.Actor) error { _, err := y.s.Why(ctx, a, id); return err }},
		"blocked": {task.Write, func(a task.Actor) error { _, err := y.s.SetBlockedBy(ctx, a, id, nil); return err }},
		"steps":   {task.Write, func(a task.Actor) error { _, err := y.s.ReplaceSteps(ctx, a, id, nil); return err }},
		"resource": {task.Write, func(a task.Actor) error {
			_, err := y.s.AddResource(ctx, a, id, task.Resource{Type: "file", Value: "/a"})
			return err
		}},
		"comment": {task.Write, func(a task.Actor) error { _, err := y.s.Comment(ctx, a, id, "x"); return err }},
		"notify":  {task.Write, func(a task.Actor) error { _, err := y.s.Notify(ctx, a, id, "x"); return err }},
		"signup":  {task.Claiming, func(a task.Actor) error { _, err := y.s.Signup(ctx, a, "coder", 1); return err }},
		"save agent": {task.Admin, func(a task.Actor) error {
			_, err := y.s.SaveAgent(ctx, a, "fresh", definition("tools: read"), "", false)
			return err
		}},
		"reload agents": {task.Admin, y.s.ReloadAgents},
		"users":         {task.Admin, func(a task.Actor) error { _, err := y.s.Users(ctx, a); return err }},
		"add user": {task.Admin, func(a task.Actor) error {
			_, err := y.s.AddUser(ctx, a, "u", "correct horse battery", task.RoleViewer)
			return err
		}},
		"tokens": {task.Account, func(a task.Actor) error { _, err := y.s.Tokens(ctx, a); return err }},
		"create token": {task.Admin, func(a task.Actor) error {
			_, err := y.s.CreateToken(ctx, a, NewToken{Name: "x", Scope: "admin"})
			return err
		}},
		"revoke token": {task.Account, func(a task.Actor) error { return y.s.RevokeToken(ctx, a, 1) }},
	}
}

func TestEveryUseCaseAsksForItsPermission(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder", noStart)
	run := must(y.s.RunNow(y.ctx(), maya, y.create(maya, "coder", noStart).ID)).ID
	last := y.lastEvent()
	for name, c := range y.calls(tk, run) {
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
				equal(t, "last event", y.lastEvent(), last)
			})
		}
	}
	for name, c := range y.calls(tk, run) {
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
	t.Run("a run whose definition was removed is told so", func(t *testing.T) {
		refused(t, y.s.UsesTasks(agentActor("zoe")), task.CodeForbidden, "zoe is no longer defined")
		refused(t, y.s.UsesTasks(agentActor("mute")), task.CodeForbidden, "mute does not have the capability tasks")
		ok(t, y.s.UsesTasks(maya))
	})
}

func TestAnAgentChangesWhatItIsRelatedTo(t *testing.T) {
	y := newInstance(t)
	patch := func(a task.Actor, id task.ID) error {
		_, err := y.s.UpdateTask(y.ctx(), a, id, task.Patch{Priority: ptr(int(y.lastEvent()))})
		return err
	}
	tk := y.create(planner, "coder", noStart, steps("a"))
	top := y.create(maya, "reviewer", noStart, steps("a"))
	mid := y.subtask(maya, top.ID, 0, "planner", noStart, steps("a"))
	low := y.subtask(maya, mid.ID, 0, "coder", noStart)
	t.Run("as owner", func(t *testing.T) { ok(t, patch(coder, tk.ID)) })
	t.Run("as creator", func(t *testing.T) { ok(t, patch(planner, tk.ID)) })
	t.Run("as owner of a task above", func(t *testing.T) { ok(t, patch(reviewer, low.ID)) })
	t.Run("not as a stranger", func(t *testing.T) {
		refused(t, patch(reviewer, tk.ID), task.CodeForbidden, "neither owner nor creator")
	})
	t.Run("not as owner of a task below", func(t *testing.T) { refused(t, patch(coder, mid.ID), task.CodeForbidden) })
	for name, call := range map[string]func() error{
		"complete": func() error { _, err := y.s.CompleteTask(y.ctx(), reviewer, tk.ID, "", 0); return err },
		"cancel":   func() error { _, err := y.s.CancelTask(y.ctx(), reviewer, tk.ID, ""); return err },
		"steps":    func() error { _, err := y.s.ReplaceSteps(y.ctx(), reviewer, tk.ID, nil); return err },
		"run":      func() error { _, err := y.s.RunNow(y.ctx(), reviewer, tk.ID); return err },
		"release":  func() error { _, err := y.s.ReleaseClaim(y.ctx(), reviewer, tk.ID, 0); return err },
	} {
		t.Run("a stranger may not "+name, func(t *testing.T) { refused(t, call(), task.CodeForbidden) })
	}
}

func TestAnAgentSpeaksAsItself(t *testing.T) {
	y := newInstance(t)
	y.create(maya, "coder", noStart)
	_, err := y.s.Signup(y.ctx(), reviewer, "coder", 1)
	refused(t, err, task.CodeNotYourName, "reviewer", "coder")
	_, err = y.s.CompleteAndSignup(y.ctx(), reviewer, "coder", 1, "", 0)
	refused(t, err, task.CodeNotYourName)
	_, err = y.s.Reassign(y.ctx(), reviewer, "coder", []task.ID{1}, "reviewer", "x")
	refused(t, err, task.CodeNotYourName)
	equal(t, "tasks for a person", len(must(y.s.Signup(y.ctx(), oleg, "coder", 1))), 1)
}
