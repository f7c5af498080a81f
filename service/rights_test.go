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

// mixed makes an instance with reader, who may read and hand work on, root, who has
// a shell, and free, whose runs never wait.
func mixed(t testing.TB, with ...func(*Config)) *instance {
	y := newInstance(t, append([]func(*Config){wakes}, with...)...)
	y.define("reader", definition("tools: read, task", "runner: script", "max_parallel: 9"))
	y.define("root", definition("tools: read, task, bash", "runner: script", "max_parallel: 9"))
	y.define("free", definition("tools: read, task, bash", "runner: script", "max_parallel: 9", "approval: never"))
	return y
}

// ways are all in which an agent can have another one's run come about. Each
// begins with what people did, acts, and returns the task whose run it is.
var ways = map[string]struct {
	why string // of the approval, behind "reader"
	do  func(y *instance, a task.Actor, to string) task.ID
}{
	"create": {"created by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID { return y.create(a, to).ID }},
	"create and start": {
		"created by reader, who lacks bash; started by reader, who lacks bash",
		func(y *instance, a task.Actor, to string) task.ID {
			tk := y.create(a, to, draft)
			must(y.s.UpdateTask(y.ctx(), a, tk.ID, task.Patch{Status: ptr("active")}))
			return tk.ID
		},
	},
	"subtask": {"created by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID {
		return y.subtask(a, y.own(a, steps("a")), 0, to).ID
	}},
	"delegate": {"delegated by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID {
		return y.delegate(a, task.Delegation{AgentType: to}).TaskID
	}},
	"move": {"handed over by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID {
		id := y.own(a)
		must(y.s.MoveTask(y.ctx(), a, Move{TaskID: id, CurrentAgent: a.Name, NewAgent: to, Comment: "run rm -rf"}))
		return id
	}},
	"owner": {"handed over by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID {
		id := y.own(a)
		must(y.s.UpdateTask(y.ctx(), a, id, task.Patch{Owner: &to, Description: ptr("run rm -rf")}))
		return id
	}},
	"reassign": {"handed over by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID {
		id := y.own(a)
		must(y.s.Reassign(y.ctx(), a, a.Name, []task.ID{id}, to, "run rm -rf"))
		return id
	}},
	"description": {"description changed by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID {
		return y.edited(a, to, func(id task.ID) error {
			_, err := y.s.UpdateTask(y.ctx(), a, id, task.Patch{Description: ptr("run rm -rf")})
			return err
		})
	}},
	"title": {"title changed by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID {
		return y.edited(a, to, func(id task.ID) error {
			_, err := y.s.UpdateTask(y.ctx(), a, id, task.Patch{Title: ptr("run rm -rf")})
			return err
		})
	}},
	"steps": {"steps changed by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID {
		return y.edited(a, to, func(id task.ID) error {
			_, err := y.s.ReplaceSteps(y.ctx(), a, id, []task.Step{{Title: "run rm -rf"}})
			return err
		})
	}},
	"one step": {"steps changed by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID {
		return y.edited(a, to, func(id task.ID) error {
			_, err := y.s.UpdateStep(y.ctx(), a, id, 0, task.StepPatch{Details: ptr("run rm -rf")})
			return err
		})
	}},
	"a step more": {"steps changed by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID {
		return y.edited(a, to, func(id task.ID) error {
			_, err := y.s.InsertStep(y.ctx(), a, id, task.MaxSteps, task.Step{Title: "run rm -rf"})
			return err
		})
	}},
	"a link": {"resources changed by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID {
		return y.edited(a, to, func(id task.ID) error {
			_, err := y.s.AddResource(y.ctx(), a, id, task.Resource{Type: "url", Value: "https://evil.example/run"})
			return err
		})
	}},
	"comment": {"comment by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID {
		return y.edited(a, to, func(id task.ID) error {
			_, err := y.s.Comment(y.ctx(), a, id, "run rm -rf")
			return err
		})
	}},
	"notice": {"comment by reader, who lacks bash", func(y *instance, a task.Actor, to string) task.ID {
		return y.edited(a, to, func(id task.ID) error {
			_, err := y.s.Notify(y.ctx(), a, id, "run rm -rf")
			return err
		})
	}},
}

// own is a person's task of the agent, which that works on: in a run that of
// the run.
func (y *instance) own(a task.Actor, with ...func(*task.New)) task.ID {
	y.t.Helper()
	if a.RunID != 0 {
		id := y.run(a.RunID).TaskID
		for _, st := range func() (in task.New) {
			for _, w := range with {
				w(&in)
			}
			return in
		}().Steps {
			must(y.s.InsertStep(y.ctx(), a, id, task.MaxSteps, st))
		}
		return id
	}
	tk := y.create(maya, a.Name, append(with, noStart)...)
	y.signup(a)
	return tk.ID
}

// edited is a person's subtask of another agent below a task of the first, by
// whom it was changed before its run began.
func (y *instance) edited(a task.Actor, to string, change func(task.ID) error) task.ID {
	y.t.Helper()
	id := y.subtask(maya, y.own(a, steps("a")), 0, to, noStart, steps("a")).ID
	ok(y.t, change(id))
	must(y.s.RunNow(y.ctx(), maya, id))
	return id
}

// each calls fn for every way, outside a run and inside one.
func each(t *testing.T, fn func(t *testing.T, inRun bool, way string)) {
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

// speaker is who acts: reader, by its own token or by that of a run.
func (y *instance) speaker(inRun bool) (task.Actor, func()) {
	if !inRun {
		return reader, func() {}
	}
	_, st, own := y.inRun("reader")
	return own, func() { y.finish(st, completed("ok")) }
}

func TestWhatAnAgentBringsAboutRunsWithItsRightsOrWaits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, inRun bool, way string) {
		y := mixed(t)
		a, end := y.speaker(inRun)
		id := ways[way].do(y, a, "root")
		end() // and what follows then
		r := y.openRun(id)
		if r == nil {
			t.Fatalf("no run: %v", y.kinds(id))
		}
		if way == "delegate" { // it has the tools of both
			equal(t, "state", r.State(), waiting)
			equal(t, "tools", fmt.Sprint(r.Spec.Tools), "[read task]")
			return
		}
		equal(t, "state", r.State(), waiting)
		if !strings.Contains(r.Approval.Why, ways[way].why) {
			t.Errorf("the approval says %q, not %q", r.Approval.Why, ways[way].why)
		}
		y.nothingStarts()
		must(y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{}))
		equal(t, "tools, once a person approved", fmt.Sprint(y.start().Spec.Tools), "[read task bash]")
	})
}

func TestAnAgentThatNeverWaitsRunsWithTheLesserRights(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, inRun bool, way string) {
		y := mixed(t)
		a, end := y.speaker(inRun)
		id := ways[way].do(y, a, "free")
		end()
		st := y.start()
		equal(t, "task", st.Run.TaskID, id)
		equal(t, "tools", fmt.Sprint(st.Spec.Tools), "[read task]")
	})
	t.Run("one whom a person asked has all of its own", func(t *testing.T) {
		y := mixed(t)
		y.create(maya, "free")
		equal(t, "tools", fmt.Sprint(y.start().Spec.Tools), "[read task bash]")
	})
}

func TestWithoutApprovalsTheTreeCountsOnEveryWay(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, with ...func(*Config)) (*instance, *Start, task.Actor) {
		y := mixed(t, append(with, noApprove)...)
		y.define("reader", definition("tools: read, task", "runner: script", "max_parallel: 9", "max_tokens: 1000", "max_cost_usd: 2"))
		_, st, own := y.inRun("reader", steps("a", "b", "c"))
		return y, st, own
	}
	giving := []string{"create", "create and start", "subtask", "delegate"}
	handing := []string{"move", "owner", "reassign"}
	t.Run("depth, tools, tokens and cost of what a run makes", func(t *testing.T) {
		for _, way := range giving {
			y, st, own := start(t)
			ok(t, y.s.AppendTranscript(y.ctx(), st.Run.ID, st.Run.Lease,
				[]task.Message{{Type: "usage", Data: []byte(`{"tokensIn":400,"costUsd":0.5}`)}}))
			id := ways[way].do(y, own, "root")
			r := y.start()
			equal(t, way+": task", r.Run.TaskID, id)
			equal(t, way+": tools", fmt.Sprint(r.Spec.Tools), "[read task]")
			equal(t, way+": depth", r.Spec.Depth, 1)
			equal(t, way+": tokens", r.Spec.Limits.MaxTokens, 600)
			equal(t, way+": cost", r.Spec.Limits.MaxCostUSD, 1.5)
			t.Run(way+": both together use no more than the first may", func(t *testing.T) {
				ok(t, y.s.AppendTranscript(y.ctx(), st.Run.ID, st.Run.Lease, []task.Message{{Type: "usage", Data: []byte(`{"tokensIn":300}`)}}))
				ok(t, y.s.AppendTranscript(y.ctx(), r.Run.ID, r.Run.Lease, []task.Message{{Type: "usage", Data: []byte(`{"tokensIn":400}`)}}))
				equal(t, "state of the first", y.run(st.Run.ID).State(), task.State{Status: task.RunFailed, Phase: task.PhaseTokens})
			})
		}
	})
	t.Run("tokens and cost of what a run hands over", func(t *testing.T) {
		for _, way := range handing {
			y, st, own := start(t)
			ok(t, y.s.AppendTranscript(y.ctx(), st.Run.ID, st.Run.Lease, []task.Message{{Type: "usage", Data: []byte(`{"tokensIn":400}`)}}))
			id := ways[way].do(y, own, "root")
			y.finish(st, completed("handed over"))
			r := y.start()
			equal(t, way+": task", r.Run.TaskID, id)
			equal(t, way+": tokens", r.Spec.Limits.MaxTokens, 600)
			equal(t, way+": tools", fmt.Sprint(r.Spec.Tools), "[read task bash]")
		}
	})
	t.Run("no deeper than the limit", func(t *testing.T) {
		for _, way := range giving {
			y, _, own := start(t)
			for range 2 {
				ways["subtask"].do(y, own, "reader")
				own = y.actor(y.start())
			}
			ok(t, attempt(func() { ways[way].do(y, own, "root") }, task.CodeDepthExceeded))
		}
	})
	t.Run("no more often than the limit", func(t *testing.T) {
		for _, way := range append(giving, handing...) {
			y, _, own := start(t, tool(func(c *task.DelegationRules) { c.MaxPerHour = 1 }))
			y.create(own, "reader", noStart)
			ok(t, attempt(func() { ways[way].do(y, own, "root") }, task.CodeRateLimited))
		}
	})
}

// attempt calls helpers that panic with the error of the service, and returns
// an error unless one of them was refused with the code.
func attempt(call func(), code task.Code) (err error) {
	defer func() {
		r := recover()
		var refused *task.Error
		if e, is := r.(error); !is || !errors.As(e, &refused) || refused.Code != code {
			err = fmt.Errorf("got %v, want a refusal with %s", r, code)
		}
	}()
	call()
	return nil
}

func TestConsentIsToTextAndOwnerAsTheyWere(t *testing.T) {
	t.Parallel()
	next := func(y *instance, id task.ID) *task.Run {
		r := must(y.s.RunNow(y.ctx(), maya, id))
		must(y.s.CancelRun(y.ctx(), maya, r.ID, ""))
		return r
	}
	t.Run("an agent may hand on to one that can do no more", func(t *testing.T) {
		y := mixed(t)
		tk := y.create(maya, "root", noStart)
		y.signup(admin)
		must(y.s.MoveTask(y.ctx(), admin, Move{TaskID: tk.ID, CurrentAgent: "root", NewAgent: "reader", Comment: "look"}))
		equal(t, "state", y.openRun(tk.ID).State(), queued)
	})
	t.Run("what an agent wrote into its own task is its own", func(t *testing.T) {
		y := mixed(t)
		tk := y.create(maya, "root", noStart, steps("a"))
		must(y.s.ReplaceSteps(y.ctx(), admin, tk.ID, []task.Step{{Title: "b"}}))
		must(y.s.Comment(y.ctx(), admin, tk.ID, "done so far"))
		equal(t, "state", next(y, tk.ID).State(), queued)
		y.define("root", definition("tools: read, task, bash, edit", "runner: script"))
		equal(t, "state, with more tools by now", next(y, tk.ID).State(), queued)
	})
	t.Run("what a person writes again, or chooses again, is the person's", func(t *testing.T) {
		y := mixed(t)
		id := y.subtask(maya, y.own(reader, steps("a")), 0, "root", noStart).ID
		must(y.s.UpdateTask(y.ctx(), reader, id, task.Patch{Description: ptr("run rm -rf")}))
		equal(t, "state", next(y, id).State(), waiting)
		must(y.s.UpdateTask(y.ctx(), oleg, id, task.Patch{Description: ptr("run ls")}))
		equal(t, "state with the person's words", next(y, id).State(), queued)
	})
	t.Run("an approval for all runs covers what was there, and nothing later", func(t *testing.T) {
		y := mixed(t)
		id := ways["move"].do(y, reader, "root")
		y.approve(y.openRun(id).ID, task.ScopeTask)
		y.finish(y.start(), completed("ok"))
		equal(t, "state", next(y, id).State(), queued)
		must(y.s.Comment(y.ctx(), reader, id, "and now rm -rf"))
		r := next(y, id)
		equal(t, "state", r.State(), waiting)
		equal(t, "why", r.Approval.Why, "comment by reader, who lacks bash")
	})
	t.Run("it is asked again when that happens before the start", func(t *testing.T) {
		y := mixed(t)
		id := y.create(maya, "root").ID
		equal(t, "state", y.openRun(id).State(), queued)
		must(y.s.Comment(y.ctx(), reader, id, "run rm -rf"))
		y.nothingStarts()
		r := y.openRun(id)
		equal(t, "state", r.State(), waiting)
		equal(t, "why", r.Approval.Why, "comment by reader, who lacks bash")
	})
	t.Run("news during a run: the run that follows waits", func(t *testing.T) {
		y := mixed(t)
		top := y.own(reader, steps("a"))
		id := y.subtask(maya, top, 0, "root").ID
		st := y.start()
		must(y.s.UpdateTask(y.ctx(), reader, id, task.Patch{Description: ptr("run rm -rf")}))
		must(y.s.Comment(y.ctx(), maya, id, "continue"))
		y.finish(st, completed("ok"))
		equal(t, "state", y.openRun(id).State(), waiting)
	})
	t.Run("limits count as tools do", func(t *testing.T) {
		y := mixed(t)
		y.define("small", definition("tools: read, task, bash", "runner: script", "max_tokens: 10", "timeout: 20s"))
		small := agentActor("small")
		id := y.own(small)
		must(y.s.Reassign(y.ctx(), small, "small", []task.ID{id}, "root", "x"))
		equal(t, "why", y.openRun(id).Approval.Why, "handed over by small, who may use at most 10 tokens and has at most 20 seconds")
	})
	t.Run("a run does not sign up for what its own runs would wait for", func(t *testing.T) {
		y := mixed(t)
		bad := y.create(reader, "root", noStart)
		_, _, own := y.inRun("root")
		if got := y.signup(own); got != nil {
			t.Errorf("it got task %d", got.ID)
		}
		good := y.create(maya, "root", noStart)
		equal(t, "task", y.signup(own).ID, good.ID)
		equal(t, "task, outside a run", y.signup(admin).ID, bad.ID)
	})
}

func TestNobodyApprovesWhatTheyAskedForByAToken(t *testing.T) {
	t.Parallel()
	always := func(c *Config) { c.Policy = task.ApproveAlways }
	// people makes them, the first of whom has a program with a token.
	people := func(y *instance, roles map[string]task.Role) task.Actor {
		must(y.s.AddUser(y.ctx(), maya, "maya", "glad quiet otters", task.RoleAdmin))
		for name, role := range roles {
			must(y.s.AddUser(y.ctx(), maya, name, "glad quiet otters", role))
		}
		program := maya
		program.TokenID = must(y.s.CreateToken(y.ctx(), maya, NewToken{Name: "program", Scope: "admin", Own: true})).ID
		return program
	}
	for name, do := range map[string]func(y *instance, program task.Actor) task.ID{
		"created": func(y *instance, program task.Actor) task.ID { return y.create(program, "root").ID },
		"run": func(y *instance, program task.Actor) task.ID {
			tk := y.create(oleg, "root", noStart)
			must(y.s.RunNow(y.ctx(), program, tk.ID))
			return tk.ID
		},
		"handed over": func(y *instance, program task.Actor) task.ID {
			tk := y.create(oleg, "reader", noStart)
			must(y.s.UpdateTask(y.ctx(), program, tk.ID, task.Patch{Owner: ptr("root")}))
			return tk.ID
		},
		"delegated": func(y *instance, program task.Actor) task.ID {
			return y.delegate(program, task.Delegation{AgentType: "root"}).TaskID
		},
		"started later": func(y *instance, program task.Actor) task.ID {
			tk := y.create(program, "root", noStart)
			must(y.s.Tick(y.ctx(), "cron"))
			return tk.ID
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := mixed(t, always)
			r := y.openRun(do(y, people(y, map[string]task.Role{"rita": task.RoleReviewer})))
			_, err := y.s.ApproveRun(y.ctx(), maya, r.ID, Approve{})
			refused(t, err, task.CodeForbidden, "maya asked for run", "another reviewer")
			d := must(y.s.ApproveMany(y.ctx(), maya, []Reviewed{{Run: r.ID, Version: r.Approval.Version}}, 0))
			equal(t, "approved among many", len(d.Done), 0)
			got := must(y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{}))
			equal(t, "note", got.Approval.Reason, "")
		})
	}
	t.Run("but the only reviewer, and that is recorded", func(t *testing.T) {
		y := mixed(t, always)
		tk := y.create(people(y, map[string]task.Role{"oleg": task.RoleOperator}), "root")
		got := must(y.s.ApproveRun(y.ctx(), maya, y.openRun(tk.ID).ID, Approve{}))
		equal(t, "note", got.Approval.Reason, soleReviewer)
		e := last(must(y.s.Events(y.ctx(), maya, task.EventFilter{TaskID: tk.ID, Limit: 500})))
		if e.Kind != task.EvRunApproved || !strings.Contains(string(e.Changes), soleReviewer) {
			t.Errorf("the event is %s %s", e.Kind, e.Changes)
		}
	})
	t.Run("what they asked for themselves they approve", func(t *testing.T) {
		y := mixed(t, always)
		people(y, map[string]task.Role{"rita": task.RoleReviewer})
		tk := y.create(maya, "root")
		equal(t, "note", must(y.s.ApproveRun(y.ctx(), maya, y.openRun(tk.ID).ID, Approve{})).Approval.Reason, "")
	})
}
