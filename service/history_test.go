package service

import (
	"sync"
	"testing"

	"taskyard/task"
)

func TestHistoryIsImmutable(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart, steps("one"), func(in *task.New) {
		in.Resources = []task.Resource{{Type: "url", Value: "https://example.org/"}}
	})
	must(inst.s.Comment(inst.ctx(), maya, tk.ID, "before the end"))
	done := must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "finished", 0))
	last := inst.lastEvent()
	id := tk.ID
	for name, call := range map[string]func() error{
		"title": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), maya, id, task.Patch{Title: ptr("x")})
			return err
		},
		"description": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), maya, id, task.Patch{Description: ptr("x")})
			return err
		},
		"priority": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), maya, id, task.Patch{Priority: ptr(5)})
			return err
		},
		"owner": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), maya, id, task.Patch{Owner: ptr("pull")})
			return err
		},
		"steps": func() error { _, err := inst.s.ReplaceSteps(inst.ctx(), maya, id, nil); return err },
		"step": func() error {
			_, err := inst.s.UpdateStep(inst.ctx(), maya, id, 0, task.StepPatch{Done: ptr(true)})
			return err
		},
		"new step": func() error {
			_, err := inst.s.InsertStep(inst.ctx(), maya, id, task.MaxSteps, task.Step{Title: "x"})
			return err
		},
		"subtask": func() error {
			_, err := inst.s.CreateSubtask(inst.ctx(), maya, id, 0, task.New{Title: "x"})
			return err
		},
		"resource": func() error {
			_, err := inst.s.AddResource(inst.ctx(), maya, id, task.Resource{Type: "file", Value: "/a"})
			return err
		},
		"no resource": func() error { _, err := inst.s.RemoveResource(inst.ctx(), maya, id, 0); return err },
		"comment":     func() error { _, err := inst.s.Comment(inst.ctx(), maya, id, "late"); return err },
		"notice":      func() error { _, err := inst.s.Notify(inst.ctx(), coder, id, "late"); return err },
		"question":    func() error { _, err := inst.s.Ask(inst.ctx(), coder, id, "late?", false); return err },
		"answer":      func() error { _, err := inst.s.Reply(inst.ctx(), maya, id, "late"); return err },
		"heartbeat":   func() error { _, err := inst.s.Heartbeat(inst.ctx(), coder, id, 0); return err },
		"release":     func() error { _, err := inst.s.ReleaseClaim(inst.ctx(), coder, id, 0); return err },
		"reassign": func() error {
			_, err := inst.s.Reassign(inst.ctx(), maya, "coder", []task.ID{id}, "pull", "x")
			return err
		},
	} {
		t.Run(name+" of a done task is refused", func(t *testing.T) {
			e := refused(t, call(), task.CodeArchived, "done")
			equal(t, "kind", e.Kind, task.Conflict)
			equal(t, "last event", inst.lastEvent(), last)
		})
	}
	now := inst.task(id)
	equal(t, "version", now.Version, done.Version)
	equal(t, "comments", len(now.Comments), 1)
	equal(t, "summary", now.Summary, "finished")
}

func TestHistoryIsListedNewestFirst(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	var ids []task.ID
	for range 5 {
		tk := inst.create(maya, "coder", noStart)
		ids = append(ids, tk.ID)
	}
	for _, i := range []int{2, 0, 4, 1, 3} {
		inst.Forward(1e9)
		must(inst.s.CompleteTask(inst.ctx(), maya, ids[i], "", 0))
	}
	want := []task.ID{ids[3], ids[1], ids[4], ids[0], ids[2]}
	f := task.HistoryFilter{Limit: 2}
	var got []task.ID
	for range 4 {
		page := must(inst.s.History(inst.ctx(), maya, f))
		for _, tk := range page.Tasks {
			got = append(got, tk.ID)
		}
		if f.Before = page.Next; f.Before == "" {
			break
		}
	}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		equal(t, "history", got[i], want[i])
	}
	for _, limit := range []int{0, 201, -1} {
		_, err := inst.s.History(inst.ctx(), maya, task.HistoryFilter{Limit: limit})
		refused(t, err, task.CodeInvalidField, "limit", "1 to 200")
	}
}

func TestCompleteKeepsSubtasks(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "planner", noStart, steps("one", "two"))
	sub := inst.subtask(planner, tk.ID, 0, "coder", noStart)
	t.Run("completing a subtask does not check off the parent's step", func(t *testing.T) {
		other := inst.subtask(planner, tk.ID, 1, "coder", noStart)
		must(inst.s.CompleteTask(inst.ctx(), maya, other.ID, "", 0))
		equal(t, "step done", inst.task(tk.ID).Steps[1].Done, false)
	})
	t.Run("subtasks of a completed task continue", func(t *testing.T) {
		must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "", 0))
		equal(t, "status", inst.task(sub.ID).Status, task.Active)
	})
}

func TestCancelCascades(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, noApprove)
	top := inst.create(maya, "planner", noStart, steps("a", "b", "c"))
	mid := inst.subtask(maya, top.ID, 0, "planner", noStart, steps("a", "b"))
	low := inst.subtask(maya, mid.ID, 0, "coder", noStart, steps("a"))
	least := inst.subtask(maya, low.ID, 0, "coder", draft)
	done := inst.subtask(maya, mid.ID, 1, "coder", noStart, steps("a"))
	below := inst.subtask(maya, done.ID, 0, "coder", noStart)
	must(inst.s.CompleteTask(inst.ctx(), maya, done.ID, "", 0))
	other := inst.create(maya, "coder", noStart)
	st := inst.runTask(low.ID)
	stopped := make(chan error, 1)
	inst.s.RegisterStop(st.Run.ID, func(cause error) { stopped <- cause })

	c := must(inst.s.CancelTask(inst.ctx(), maya, top.ID, "not needed"))
	want := map[task.ID]task.Status{
		top.ID: task.Canceled, mid.ID: task.Canceled, low.ID: task.Canceled, least.ID: task.Canceled,
		done.ID: task.Done, below.ID: task.Canceled, other.ID: task.Active,
	}
	for id, status := range want {
		equal(t, "status of "+id.String(), inst.task(id).Status, status)
	}
	equal(t, "canceled", len(c.Canceled), 5)
	equal(t, "first", c.Canceled[0], top.ID)
	equal(t, "state of the run", inst.run(st.Run.ID).State(), task.State{Status: task.RunCanceled, Phase: task.PhaseTaskClosed})
	equal(t, "cause of the stop", <-stopped, ErrStopTaskClosed)
	inst.checkChain()
}

func TestTheFirstOfTenThousandArchivedTasksIsFound(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, func(c *Config) { c.Wakes = false })
	const total, callers = 10_000, 50
	first := inst.create(maya, "pull", func(n *task.New) { n.Title = "The cornerstone" })
	must(inst.s.CompleteTask(inst.ctx(), maya, first.ID, "laid", 0))
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range (total - 1) / callers {
				tk, err := inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "A brick", Owner: "pull"})
				if err == nil {
					_, err = inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "", 0)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Run("by its ID", func(t *testing.T) { equal(t, "summary", inst.task(first.ID).Summary, "laid") })
	t.Run("by its words", func(t *testing.T) {
		ok(t, inst.s.Index(inst.ctx()))
		p := must(inst.s.History(inst.ctx(), vera, task.HistoryFilter{Query: "cornerstone", Limit: 20}))
		equal(t, "found", len(p.Tasks), 1)
		equal(t, "id", p.Tasks[0].ID, first.ID)
	})
	t.Run("by paging to the end", func(t *testing.T) {
		seen, f := 0, task.HistoryFilter{Limit: 200}
		for {
			p := must(inst.s.History(inst.ctx(), vera, f))
			if seen += len(p.Tasks); p.Next == "" {
				equal(t, "last", p.Tasks[len(p.Tasks)-1].ID, first.ID)
				break
			}
			f.Before = p.Next
		}
		equal(t, "seen", seen, (total-1)/callers*callers+1)
	})
}
