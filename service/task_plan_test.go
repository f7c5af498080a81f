package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// planText summarizes a plan: titles, * if done, #id if linked.
func planText(tk *task.Task) string {
	var words []string
	for _, s := range tk.Steps {
		w := s.Title
		if s.Done {
			w += "*"
		}
		if s.TaskID != 0 {
			w += fmt.Sprintf("#%d", s.TaskID)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func TestAPlanIsRearranged(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	ctx := inst.ctx()
	tk := inst.create(oleg, "coder", noStart, func(in *task.New) {
		in.Steps = []task.Step{{Title: "a"}, {Title: "b", Done: true}, {Title: "c"}, {Title: "d"}}
	})
	sub := must(inst.s.CreateSubtask(ctx, oleg, tk.ID, 2, task.New{Title: "part", Owner: "coder", NoStart: true}))
	link := fmt.Sprintf("#%d", sub.ID)
	saw := func(title string) task.StepSeen { return task.StepSeen{Title: task.Mark(title)} }
	is := func(t *testing.T, got *task.Task, want string) {
		t.Helper()
		if s := planText(got); s != strings.ReplaceAll(want, "#", link) {
			t.Fatalf("got plan %q, want %q", s, want)
		}
	}
	t.Run("a step moves with its check mark and its link", func(t *testing.T) {
		is(t, must(inst.s.MoveStep(ctx, oleg, tk.ID, 2, 0, saw("c"))), "c# a b* d")
		is(t, must(inst.s.MoveStep(ctx, oleg, tk.ID, 0, 3, saw("c"))), "a b* d c#")
		is(t, must(inst.s.MoveStep(ctx, oleg, tk.ID, 3, 2, saw("c"))), "a b* c# d")
	})
	t.Run("a step other than the displayed one is not moved", func(t *testing.T) {
		_, err := inst.s.MoveStep(ctx, oleg, tk.ID, 1, 0, saw("c"))
		refused(t, err, task.CodeStaleVersion)
		_, err = inst.s.EditStep(ctx, oleg, tk.ID, 1, saw("c"), task.StepPatch{})
		refused(t, err, task.CodeStaleVersion)
	})
	t.Run("a move out of range is refused, a move to itself writes nothing", func(t *testing.T) {
		_, err := inst.s.MoveStep(ctx, oleg, tk.ID, 0, 4, saw("a"))
		refused(t, err, task.CodeInvalidField)
		before := must(inst.s.Task(ctx, oleg, tk.ID))
		if now := must(inst.s.MoveStep(ctx, oleg, tk.ID, 1, 1, saw("b"))); now.Version != before.Version {
			t.Fatalf("got version %d, then %d", before.Version, now.Version)
		}
	})
	t.Run("a step is inserted between two, or at the end", func(t *testing.T) {
		is(t, must(inst.s.InsertStep(ctx, oleg, tk.ID, 2, task.Step{Title: "new"})), "a b* new c# d")
		is(t, must(inst.s.InsertStep(ctx, oleg, tk.ID, 99, task.Step{Title: "last"})), "a b* new c# d last")
		_, err := inst.s.InsertStep(ctx, oleg, tk.ID, -1, task.Step{Title: "x"})
		refused(t, err, task.CodeInvalidField)
		_, err = inst.s.InsertStep(ctx, oleg, tk.ID, 0, task.Step{Title: " "})
		refused(t, err, task.CodeInvalidField)
	})
	t.Run("a step is removed, but not a linked one", func(t *testing.T) {
		is(t, must(inst.s.RemoveStep(ctx, oleg, tk.ID, 2, saw("new"))), "a b* c# d last")
		is(t, must(inst.s.RemoveStep(ctx, oleg, tk.ID, 4, saw("last"))), "a b* c# d")
		_, err := inst.s.RemoveStep(ctx, oleg, tk.ID, 2, saw("c"))
		refused(t, err, task.CodeStepLinked)
	})
	t.Run("a removed step is restored unchanged, once", func(t *testing.T) {
		removed := func() task.ID {
			list := must(inst.s.TaskPage(ctx, oleg, tk.ID, time.UTC)).Events
			return list[len(list)-1].ID
		}
		must(inst.s.RemoveStep(ctx, oleg, tk.ID, 1, saw("b")))
		event := removed()
		must(inst.s.Comment(ctx, oleg, tk.ID, "Words do not matter."))
		is(t, must(inst.s.RestoreStep(ctx, oleg, tk.ID, event)), "a b* c# d")
		_, err := inst.s.RestoreStep(ctx, oleg, tk.ID, event)
		refused(t, err, task.CodeStaleVersion)
		must(inst.s.RemoveStep(ctx, oleg, tk.ID, 0, saw("a")))
		event = removed()
		must(inst.s.MoveStep(ctx, oleg, tk.ID, 0, 1, saw("b")))
		_, err = inst.s.RestoreStep(ctx, oleg, tk.ID, event)
		refused(t, err, task.CodeStaleVersion)
		must(inst.s.MoveStep(ctx, oleg, tk.ID, 1, 0, saw("b")))
		must(inst.s.InsertStep(ctx, oleg, tk.ID, 0, task.Step{Title: "a"}))
	})
	t.Run("a full plan is rearranged too, and accepts no more steps", func(t *testing.T) {
		full := inst.create(oleg, "coder", noStart)
		steps := make([]task.Step, task.MaxSteps)
		for i := range steps {
			steps[i].Title = fmt.Sprint(i)
		}
		must(inst.s.ReplaceSteps(ctx, oleg, full.ID, steps))
		got := must(inst.s.MoveStep(ctx, oleg, full.ID, 199, 0, task.StepSeen{}))
		if got.Steps[0].Title != "199" || got.Steps[199].Title != "198" {
			t.Fatalf("got %v", planText(got))
		}
		_, err := inst.s.InsertStep(ctx, oleg, full.ID, 0, task.Step{Title: "one more"})
		refused(t, err, task.CodeInvalidField)
	})
	t.Run("a link is changed only if it is the displayed one", func(t *testing.T) {
		must(inst.s.AddResource(ctx, oleg, tk.ID, task.Resource{Type: "url", Value: "https://example.com/a"}))
		got := must(inst.s.UpdateResource(ctx, oleg, tk.ID, 0, "https://example.com/a",
			task.Resource{Type: "file", Value: "/b", Label: "B"}))
		if got.Resources[0] != (task.Resource{Type: "file", Value: "/b", Label: "B"}) {
			t.Fatalf("got %v", got.Resources)
		}
		_, err := inst.s.UpdateResource(ctx, oleg, tk.ID, 0, "https://example.com/a", task.Resource{Type: "file", Value: "/c"})
		refused(t, err, task.CodeStaleVersion)
		_, err = inst.s.UpdateResource(ctx, oleg, tk.ID, 5, "", task.Resource{Type: "file", Value: "/c"})
		refused(t, err, task.CodeInvalidField)
	})
	t.Run("plans of archived tasks are not rearranged", func(t *testing.T) {
		must(inst.s.CompleteTask(ctx, oleg, tk.ID, "", 0))
		_, err := inst.s.MoveStep(ctx, oleg, tk.ID, 0, 1, task.StepSeen{})
		refused(t, err, task.CodeArchived)
	})
}
