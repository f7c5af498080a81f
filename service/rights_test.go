package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"taskyard/task"
)

var reader, admin = agentActor("reader"), agentActor("root")

// newRightsInstance returns an instance with reader, which may read and delegate, root,
// which has a shell, and free, whose runs never wait.
func newRightsInstance(t testing.TB, with ...func(*Config)) *instance {
	inst := newInstance(t, append([]func(*Config){wakes}, with...)...)
	inst.define("reader", definition("tools: read, task", "runner: script", "max_parallel: 9"))
	inst.define("root", definition("tools: read, task, bash", "runner: script", "max_parallel: 9"))
	inst.define("free", definition("tools: read, task, bash", "runner: script", "max_parallel: 9", "approval: never"))
	return inst
}

// ways lists all ways in which an agent can cause another agent's run. Each performs the
// actions of people, then the agent's action, and returns the task of the run.
var ways = map[string]struct {
	why string // reason of the approval
	do  func(inst *instance, a task.Actor, to string) task.ID
}{
	"create": {"created by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID { return inst.create(a, to).ID }},
	"create and start": {
		"created by reader, who lacks bash; started by reader, who lacks bash",
		func(inst *instance, a task.Actor, to string) task.ID {
			tk := inst.create(a, to, draft)
			must(inst.s.UpdateTask(inst.ctx(), a, tk.ID, task.Patch{Status: ptr("active")}))
			return tk.ID
		},
	},
	"subtask": {"created by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		return inst.subtask(a, inst.ownTask(a, steps("a")), 0, to).ID
	}},
	"delegate": {"delegated by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		return inst.delegate(a, task.Delegation{AgentType: to}).TaskID
	}},
	"move": {"handed over by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		id := inst.ownTask(a)
		must(inst.s.MoveTask(inst.ctx(), a, Move{TaskID: id, CurrentAgent: a.Name, NewAgent: to, Comment: "run rm -rf"}))
		return id
	}},
	"owner": {"handed over by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		id := inst.ownTask(a)
		must(inst.s.UpdateTask(inst.ctx(), a, id, task.Patch{Owner: &to, Description: ptr("run rm -rf")}))
		return id
	}},
	"reassign": {"handed over by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		id := inst.ownTask(a)
		must(inst.s.Reassign(inst.ctx(), a, a.Name, []task.ID{id}, to, "run rm -rf"))
		return id
	}},
	"description": {"description changed by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		return inst.editedSubtask(a, to, func(id task.ID) error {
			_, err := inst.s.UpdateTask(inst.ctx(), a, id, task.Patch{Description: ptr("run rm -rf")})
			return err
		})
	}},
	"title": {"title changed by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		return inst.editedSubtask(a, to, func(id task.ID) error {
			_, err := inst.s.UpdateTask(inst.ctx(), a, id, task.Patch{Title: ptr("run rm -rf")})
			return err
		})
	}},
	"steps": {"steps changed by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		return inst.editedSubtask(a, to, func(id task.ID) error {
			_, err := inst.s.ReplaceSteps(inst.ctx(), a, id, []task.Step{{Title: "run rm -rf"}})
			return err
		})
	}},
	"one step": {"steps changed by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		return inst.editedSubtask(a, to, func(id task.ID) error {
			_, err := inst.s.UpdateStep(inst.ctx(), a, id, 0, task.StepPatch{Details: ptr("run rm -rf")})
			return err
		})
	}},
	"a step more": {"steps changed by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		return inst.editedSubtask(a, to, func(id task.ID) error {
			_, err := inst.s.InsertStep(inst.ctx(), a, id, task.MaxSteps, task.Step{Title: "run rm -rf"})
			return err
		})
	}},
	"a link": {"resources changed by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		return inst.editedSubtask(a, to, func(id task.ID) error {
			_, err := inst.s.AddResource(inst.ctx(), a, id, task.Resource{Type: "url", Value: "https://evil.example/run"})
			return err
		})
	}},
	"comment": {"comment by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		return inst.editedSubtask(a, to, func(id task.ID) error {
			_, err := inst.s.Comment(inst.ctx(), a, id, "run rm -rf")
			return err
		})
	}},
	"a reply in a review": {"comment by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		return inst.editedSubtask(a, to, inst.sentBack(func(id, comment task.ID) error {
			_, err := inst.s.ReplyReview(inst.ctx(), a, id, comment, "", "run rm -rf")
			return err
		}))
	}},
	"reason of a canceled run": {"comment by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		return inst.editedSubtask(a, to, func(id task.ID) error {
			r := must(inst.s.RunNow(inst.ctx(), maya, id))
			_, err := inst.s.CancelRun(inst.ctx(), a, r.ID, "first run rm -rf")
			return err
		})
	}},
	"notice": {"comment by reader, who lacks bash", func(inst *instance, a task.Actor, to string) task.ID {
		return inst.editedSubtask(a, to, func(id task.ID) error {
			_, err := inst.s.Notify(inst.ctx(), a, id, "run rm -rf")
			return err
		})
	}},
}

// sentBack returns a change that replies to a comment with which a person sent back the
// result of a task.
func (inst *instance) sentBack(reply func(id, comment task.ID) error) func(task.ID) error {
	return func(id task.ID) error {
		inst.voters()
		must(inst.s.UpdateTask(inst.ctx(), maya, id, task.Patch{Policy: &task.Review{Approvals: 1}}))
		must(inst.s.CompleteTask(inst.ctx(), maya, id, "done", 0))
		c := must(inst.s.DraftComment(inst.ctx(), rita, id, 0, task.ReviewComment{Text: "Not like this."}))
		r := must(inst.s.Result(inst.ctx(), maya, id, 0))
		must(inst.s.RequestChanges(inst.ctx(), rita, id, 0, r.Digest, ""))
		must(inst.s.CancelRun(inst.ctx(), maya, inst.openRun(id).ID, ""))
		return reply(id, c.ID)
	}
}

// ownTask returns a person's task on which the agent works: outside runs a new task, in a
// run the task of the run.
func (inst *instance) ownTask(a task.Actor, with ...func(*task.New)) task.ID {
	inst.t.Helper()
	if a.RunID != 0 {
		id := inst.run(a.RunID).TaskID
		for _, st := range func() (in task.New) {
			for _, w := range with {
				w(&in)
			}
			return in
		}().Steps {
			must(inst.s.InsertStep(inst.ctx(), a, id, task.MaxSteps, st))
		}
		return id
	}
	tk := inst.create(maya, a.Name, append(with, noStart)...)
	inst.signup(a)
	return tk.ID
}

// editedSubtask returns a person's subtask for another agent, below a task of the first
// agent, which changed it before its run began.
func (inst *instance) editedSubtask(a task.Actor, to string, change func(task.ID) error) task.ID {
	inst.t.Helper()
	id := inst.subtask(maya, inst.ownTask(a, steps("a")), 0, to, noStart, steps("a")).ID
	ok(inst.t, change(id))
	must(inst.s.RunNow(inst.ctx(), maya, id))
	return id
}

// forEachWay calls fn for every way, outside a run and inside one.
func forEachWay(t *testing.T, fn func(t *testing.T, inRun bool, way string)) {
	for _, way := range slices.Sorted(func(yield func(string) bool) {
		for w := range ways {
			if !yield(w) {
				return
			}
		}
	}) {
		for _, inRun := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, inside a run: %v", way, inRun), func(t *testing.T) {
				t.Parallel()
				fn(t, inRun, way)
			})
		}
	}
}

// readerActor returns reader, with its own token or with that of a run.
func (inst *instance) readerActor(inRun bool) (task.Actor, func()) {
	if !inRun {
		return reader, func() {}
	}
	_, st, own := inst.inRun("reader")
	return own, func() { inst.finish(st, completed("ok")) }
}

func TestRunsCausedByAnAgentUseItsRightsOrWait(t *testing.T) {
	t.Parallel()
	forEachWay(t, func(t *testing.T, inRun bool, way string) {
		inst := newRightsInstance(t)
		a, end := inst.readerActor(inRun)
		id := ways[way].do(inst, a, "root")
		end() // which may start other runs
		r := inst.openRun(id)
		if r == nil {
			t.Fatalf("got no run: %v", inst.kinds(id))
		}
		if way == "delegate" { // the run has the tools that both have
			equal(t, "state", r.State(), waiting)
			equal(t, "tools", fmt.Sprint(r.Spec.Tools), "[read task]")
			return
		}
		equal(t, "state", r.State(), waiting)
		if !strings.Contains(r.Approval.RequestReason, ways[way].why) {
			t.Errorf("got approval reason %q, want %q", r.Approval.RequestReason, ways[way].why)
		}
		inst.nothingStarts()
		must(inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{}))
		equal(t, "tools after a person approved", fmt.Sprint(inst.start().Spec.Tools), "[read task bash]")
	})
}

func TestAnAgentWithoutApprovalsRunsWithTheLesserRights(t *testing.T) {
	t.Parallel()
	forEachWay(t, func(t *testing.T, inRun bool, way string) {
		inst := newRightsInstance(t)
		a, end := inst.readerActor(inRun)
		id := ways[way].do(inst, a, "free")
		end()
		st := inst.start()
		equal(t, "task", st.Run.TaskID, id)
		equal(t, "tools", fmt.Sprint(st.Spec.Tools), "[read task]")
	})
	t.Run("an agent whose run a person requested has all of its rights", func(t *testing.T) {
		inst := newRightsInstance(t)
		inst.create(maya, "free")
		equal(t, "tools", fmt.Sprint(inst.start().Spec.Tools), "[read task bash]")
	})
}

func TestWithoutApprovalsTreeLimitsApplyToEveryCause(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, with ...func(*Config)) (*instance, *Start, task.Actor) {
		inst := newRightsInstance(t, append(with, noApprove)...)
		inst.define("reader", definition("tools: read, task", "runner: script", "max_parallel: 9", "max_tokens: 1000", "max_cost_usd: 2"))
		_, st, own := inst.inRun("reader", steps("a", "b", "c"))
		return inst, st, own
	}
	giving := []string{"create", "create and start", "subtask", "delegate"}
	handing := []string{"move", "owner", "reassign"}
	t.Run("depth, tools, tokens and cost of runs that a run causes", func(t *testing.T) {
		for _, way := range giving {
			inst, st, own := start(t)
			ok(t, inst.s.AppendTranscript(inst.ctx(), st.Run.ID, st.Run.Lease,
				[]task.Message{{Type: "usage", Data: []byte(`{"tokensIn":400,"costUsd":0.5}`)}}))
			id := ways[way].do(inst, own, "root")
			r := inst.start()
			equal(t, way+": task", r.Run.TaskID, id)
			equal(t, way+": tools", fmt.Sprint(r.Spec.Tools), "[read task]")
			equal(t, way+": depth", r.Spec.Depth, 1)
			equal(t, way+": tokens", r.Spec.Limits.MaxTokens, 600)
			equal(t, way+": cost", r.Spec.Limits.MaxCostUSD, 1.5)
			t.Run(way+": both together use no more than the first run's limit", func(t *testing.T) {
				ok(t, inst.s.AppendTranscript(inst.ctx(), st.Run.ID, st.Run.Lease, []task.Message{{Type: "usage", Data: []byte(`{"tokensIn":300}`)}}))
				ok(t, inst.s.AppendTranscript(inst.ctx(), r.Run.ID, r.Run.Lease, []task.Message{{Type: "usage", Data: []byte(`{"tokensIn":400}`)}}))
				equal(t, "state of the first", inst.run(st.Run.ID).State(), task.State{Status: task.RunFailed, Phase: task.PhaseTokens})
			})
		}
	})
	t.Run("tokens and cost of handed-over tasks", func(t *testing.T) {
		for _, way := range handing {
			inst, st, own := start(t)
			ok(t, inst.s.AppendTranscript(inst.ctx(), st.Run.ID, st.Run.Lease, []task.Message{{Type: "usage", Data: []byte(`{"tokensIn":400}`)}}))
			id := ways[way].do(inst, own, "root")
			inst.finish(st, completed("handed over"))
			r := inst.start()
			equal(t, way+": task", r.Run.TaskID, id)
			equal(t, way+": tokens", r.Spec.Limits.MaxTokens, 600)
			equal(t, way+": tools", fmt.Sprint(r.Spec.Tools), "[read task bash]")
		}
	})
	t.Run("no deeper than the limit", func(t *testing.T) {
		for _, way := range giving {
			inst, _, own := start(t)
			for range 2 {
				ways["subtask"].do(inst, own, "reader")
				own = inst.actor(inst.start())
			}
			ok(t, attempt(func() { ways[way].do(inst, own, "root") }, task.CodeDepthExceeded))
		}
	})
	t.Run("no more often than the limit", func(t *testing.T) {
		for _, way := range append(giving, handing...) {
			inst, _, own := start(t, tool(func(c *task.DelegationRules) { c.MaxPerHour = 1 }))
			inst.create(own, "reader", noStart)
			ok(t, attempt(func() { ways[way].do(inst, own, "root") }, task.CodeRateLimited))
		}
	})
}

// attempt calls helpers that panic with an error of the service, and returns an error
// unless one of them was refused with the code.
func attempt(call func(), code task.Code) (err error) {
	defer func() {
		r := recover()
		var refused *task.Error
		if e, is := r.(error); !is || !errors.As(e, &refused) || refused.Code != code {
			err = fmt.Errorf("got %v, want code %s", r, code)
		}
	}()
	call()
	return nil
}

func TestConsentCoversTheTextAndOwnerAtTheTime(t *testing.T) {
	t.Parallel()
	next := func(inst *instance, id task.ID) *task.Run {
		r := must(inst.s.RunNow(inst.ctx(), maya, id))
		must(inst.s.CancelRun(inst.ctx(), maya, r.ID, ""))
		return r
	}
	t.Run("an agent may hand over to one without additional rights", func(t *testing.T) {
		inst := newRightsInstance(t)
		tk := inst.create(maya, "root", noStart)
		inst.signup(admin)
		must(inst.s.MoveTask(inst.ctx(), admin, Move{TaskID: tk.ID, CurrentAgent: "root", NewAgent: "reader", Comment: "look"}))
		equal(t, "state", inst.openRun(tk.ID).State(), queued)
	})
	t.Run("text that an agent wrote into its own task is its own", func(t *testing.T) {
		inst := newRightsInstance(t)
		tk := inst.create(maya, "root", noStart, steps("a"))
		must(inst.s.ReplaceSteps(inst.ctx(), admin, tk.ID, []task.Step{{Title: "b"}}))
		must(inst.s.Comment(inst.ctx(), admin, tk.ID, "done so far"))
		equal(t, "state", next(inst, tk.ID).State(), queued)
		inst.define("root", definition("tools: read, task, bash, edit", "runner: script"))
		equal(t, "state after it got more tools", next(inst, tk.ID).State(), queued)
	})
	t.Run("text or owners that a person sets again are the person's", func(t *testing.T) {
		inst := newRightsInstance(t)
		id := inst.subtask(maya, inst.ownTask(reader, steps("a")), 0, "root", noStart).ID
		must(inst.s.UpdateTask(inst.ctx(), reader, id, task.Patch{Description: ptr("run rm -rf")}))
		equal(t, "state", next(inst, id).State(), waiting)
		must(inst.s.UpdateTask(inst.ctx(), oleg, id, task.Patch{Description: ptr("run ls")}))
		equal(t, "state with the person's text", next(inst, id).State(), queued)
	})
	t.Run("the comment of an agent's hand-over is not the person's who chooses another owner", func(t *testing.T) {
		inst := newRightsInstance(t)
		inst.define("twin", definition("tools: read, task", "runner: script"))
		id := ways["move"].do(inst, reader, "twin")
		equal(t, "state of a run with the same rights", inst.openRun(id).State(), queued)
		must(inst.s.HandOver(inst.ctx(), maya, HandOver{TaskID: id, From: "twin", To: "root", Comment: "yours"}))
		r := inst.openRun(id)
		equal(t, "state", r.State(), waiting)
		equal(t, "why", r.Approval.RequestReason, "comment by reader, who lacks bash")
	})
	t.Run("an approval for all runs covers existing content, and nothing later", func(t *testing.T) {
		inst := newRightsInstance(t)
		id := ways["move"].do(inst, reader, "root")
		inst.approve(inst.openRun(id).ID, task.ScopeTask)
		inst.finish(inst.start(), completed("ok"))
		equal(t, "state", next(inst, id).State(), queued)
		must(inst.s.Comment(inst.ctx(), reader, id, "and now rm -rf"))
		r := next(inst, id)
		equal(t, "state", r.State(), waiting)
		equal(t, "why", r.Approval.RequestReason, "comment by reader, who lacks bash")
	})
	t.Run("approval is requested again if that happens before the start", func(t *testing.T) {
		inst := newRightsInstance(t)
		id := inst.create(maya, "root").ID
		equal(t, "state", inst.openRun(id).State(), queued)
		must(inst.s.Comment(inst.ctx(), reader, id, "run rm -rf"))
		inst.nothingStarts()
		r := inst.openRun(id)
		equal(t, "state", r.State(), waiting)
		equal(t, "why", r.Approval.RequestReason, "comment by reader, who lacks bash")
	})
	t.Run("after events during a run, the next run waits", func(t *testing.T) {
		inst := newRightsInstance(t)
		top := inst.ownTask(reader, steps("a"))
		id := inst.subtask(maya, top, 0, "root").ID
		st := inst.start()
		must(inst.s.UpdateTask(inst.ctx(), reader, id, task.Patch{Description: ptr("run rm -rf")}))
		must(inst.s.Comment(inst.ctx(), maya, id, "continue"))
		inst.finish(st, completed("ok"))
		equal(t, "state", inst.openRun(id).State(), waiting)
	})
	t.Run("limits count as tools do", func(t *testing.T) {
		inst := newRightsInstance(t)
		inst.define("small", definition("tools: read, task, bash", "runner: script", "max_tokens: 10", "timeout: 20s"))
		small := agentActor("small")
		id := inst.ownTask(small)
		must(inst.s.Reassign(inst.ctx(), small, "small", []task.ID{id}, "root", "x"))
		equal(t, "why", inst.openRun(id).Approval.RequestReason, "handed over by small, who may use at most 10 tokens and has at most 20 seconds")
	})
	t.Run("a run cannot claim tasks for which its own runs would wait", func(t *testing.T) {
		inst := newRightsInstance(t)
		bad := inst.create(reader, "root", noStart)
		_, _, own := inst.inRun("root")
		if got := inst.signup(own); got != nil {
			t.Errorf("got task %d", got.ID)
		}
		good := inst.create(maya, "root", noStart)
		equal(t, "task", inst.signup(own).ID, good.ID)
		equal(t, "task, outside a run", inst.signup(admin).ID, bad.ID)
	})
}

func TestNobodyApprovesTheirOwnRequestByToken(t *testing.T) {
	t.Parallel()
	always := func(c *Config) { c.Policy = task.ApproveAlways }
	// people adds people; maya's program, which it returns, has a token.
	people := func(inst *instance, roles map[string]task.Role) task.Actor {
		must(inst.s.AddUser(inst.ctx(), maya, "maya", "glad quiet otters", task.RoleAdmin))
		for name, role := range roles {
			must(inst.s.AddUser(inst.ctx(), maya, name, "glad quiet otters", role))
		}
		program := maya
		program.TokenID = must(inst.s.CreateToken(inst.ctx(), maya, NewToken{Name: "program", Scope: "admin", Own: true})).ID
		return program
	}
	for name, do := range map[string]func(inst *instance, program task.Actor) task.ID{
		"created": func(inst *instance, program task.Actor) task.ID { return inst.create(program, "root").ID },
		"run": func(inst *instance, program task.Actor) task.ID {
			tk := inst.create(oleg, "root", noStart)
			must(inst.s.RunNow(inst.ctx(), program, tk.ID))
			return tk.ID
		},
		"handed over": func(inst *instance, program task.Actor) task.ID {
			tk := inst.create(oleg, "reader", noStart)
			must(inst.s.UpdateTask(inst.ctx(), program, tk.ID, task.Patch{Owner: ptr("root")}))
			return tk.ID
		},
		"delegated": func(inst *instance, program task.Actor) task.ID {
			return inst.delegate(program, task.Delegation{AgentType: "root"}).TaskID
		},
		"started later": func(inst *instance, program task.Actor) task.ID {
			tk := inst.create(program, "root", noStart)
			must(inst.s.Tick(inst.ctx(), "cron"))
			return tk.ID
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inst := newRightsInstance(t, always)
			r := inst.openRun(do(inst, people(inst, map[string]task.Role{"rita": task.RoleReviewer})))
			_, err := inst.s.ApproveRun(inst.ctx(), maya, r.ID, Approve{})
			refused(t, err, task.CodeForbidden, "maya requested run", "another reviewer")
			d := must(inst.s.ApproveMany(inst.ctx(), maya, []Reviewed{{Run: r.ID, Version: r.Approval.Version}}, 0))
			equal(t, "approved among many", len(d.Done), 0)
			got := must(inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{}))
			equal(t, "note", got.Approval.Reason, "")
		})
	}
	t.Run("except the only reviewer, which is recorded", func(t *testing.T) {
		inst := newRightsInstance(t, always)
		tk := inst.create(people(inst, map[string]task.Role{"oleg": task.RoleOperator}), "root")
		got := must(inst.s.ApproveRun(inst.ctx(), maya, inst.openRun(tk.ID).ID, Approve{}))
		equal(t, "note", got.Approval.Reason, soleReviewer)
		e := last(must(inst.s.Events(inst.ctx(), maya, task.EventFilter{TaskID: tk.ID, Limit: 500})))
		if e.Kind != task.EvRunApproved || !strings.Contains(string(e.Changes), soleReviewer) {
			t.Errorf("got event %s %s", e.Kind, e.Changes)
		}
	})
	t.Run("people approve what they requested themselves", func(t *testing.T) {
		inst := newRightsInstance(t, always)
		people(inst, map[string]task.Role{"rita": task.RoleReviewer})
		tk := inst.create(maya, "root")
		equal(t, "note", must(inst.s.ApproveRun(inst.ctx(), maya, inst.openRun(tk.ID).ID, Approve{})).Approval.Reason, "")
	})
}
