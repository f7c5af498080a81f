package service

import (
	"strings"
	"testing"

	"taskyard/task"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	sixty := strings.Repeat("é", 60)
	t.Run("a title of 60 characters is accepted, whatever its bytes", func(t *testing.T) {
		tk := inst.create(coder, "coder", noStart)
		tk = must(inst.s.ReplaceSteps(inst.ctx(), coder, tk.ID, []task.Step{{Title: sixty}, {Title: "🦊" + sixty[:100]}}))
		equal(t, "title", tk.Steps[0].Title, sixty)
	})
	t.Run("a title of 61 characters or none is refused", func(t *testing.T) {
		tk := inst.create(coder, "coder", noStart, steps("one"))
		for _, bad := range []string{sixty + "é", "", " ", "a\nb"} {
			_, err := inst.s.ReplaceSteps(inst.ctx(), coder, tk.ID, []task.Step{{Title: bad}})
			refused(t, err, task.CodeInvalidField, "steps[0].title")
			_, err = inst.s.UpdateStep(inst.ctx(), coder, tk.ID, 0, task.StepPatch{Title: &bad})
			refused(t, err, task.CodeInvalidField, "title")
		}
		equal(t, "steps", inst.task(tk.ID).Steps[0].Title, "one")
	})
	t.Run("a taskId in a plan is refused", func(t *testing.T) {
		tk := inst.create(coder, "coder", noStart, steps("one"))
		_, err := inst.s.ReplaceSteps(inst.ctx(), coder, tk.ID, []task.Step{{Title: "x", TaskID: tk.ID}})
		refused(t, err, task.CodeInvalidField, "steps[0].taskId", "create-subtask")
	})
	t.Run("a whole plan is replaced while no step is linked", func(t *testing.T) {
		tk := inst.create(coder, "coder", noStart, steps("a", "b", "c"))
		tk = must(inst.s.ReplaceSteps(inst.ctx(), coder, tk.ID, []task.Step{{Title: "x", Details: "d", Done: true}}))
		equal(t, "steps", len(tk.Steps), 1)
		equal(t, "step", tk.Steps[0], task.Step{Title: "x", Details: "d", Done: true})
	})
	t.Run("a plan with links is changed only step by step", func(t *testing.T) {
		tk := inst.create(coder, "coder", noStart, steps("a", "b"))
		sub := inst.subtask(coder, tk.ID, 1, "coder", noStart)
		_, err := inst.s.ReplaceSteps(inst.ctx(), coder, tk.ID, nil)
		e := refused(t, err, task.CodeStepLinked, "update_step", sub.ID.String())
		equal(t, "kind", e.Kind, task.Conflict)
		now := must(inst.s.UpdateStep(inst.ctx(), coder, tk.ID, 1,
			task.StepPatch{Title: ptr("B"), Details: ptr("more"), Done: ptr(true)}))
		equal(t, "step", now.Steps[1], task.Step{Title: "B", Details: "more", Done: true, TaskID: sub.ID})
		must(inst.s.InsertStep(inst.ctx(), coder, tk.ID, task.MaxSteps, task.Step{Title: "c"}))
	})
	t.Run("the error for an index out of range names the range", func(t *testing.T) {
		tk := inst.create(coder, "coder", noStart, steps("a", "b"))
		for _, at := range []int{-1, 2, 1 << 40} {
			_, err := inst.s.UpdateStep(inst.ctx(), coder, tk.ID, at, task.StepPatch{Done: ptr(true)})
			refused(t, err, task.CodeInvalidField, "out of range", "0 to 1")
			_, err = inst.s.CreateSubtask(inst.ctx(), coder, tk.ID, at, task.New{Title: "x"})
			refused(t, err, task.CodeInvalidField, "out of range", "0 to 1")
		}
		empty := inst.create(coder, "coder", noStart)
		_, err := inst.s.UpdateStep(inst.ctx(), coder, empty.ID, 0, task.StepPatch{Done: ptr(true)})
		refused(t, err, task.CodeInvalidField, "has no steps")
	})
	t.Run("an unchanged step does not change the version", func(t *testing.T) {
		tk := inst.create(coder, "coder", noStart, steps("a"))
		now := must(inst.s.UpdateStep(inst.ctx(), coder, tk.ID, 0, task.StepPatch{Done: ptr(false)}))
		equal(t, "version", now.Version, tk.Version)
	})
	t.Run("the 201st step is refused", func(t *testing.T) {
		tk := inst.create(coder, "coder", noStart, steps(strings.Split(strings.Repeat("s", task.MaxSteps), "")...))
		_, err := inst.s.InsertStep(inst.ctx(), coder, tk.ID, task.MaxSteps, task.Step{Title: "x"})
		refused(t, err, task.CodeInvalidField, "steps")
	})
}

func TestSubtasks(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	t.Run("task, thread, link and events are one transaction", func(t *testing.T) {
		tk := inst.create(planner, "planner", noStart, steps("a"))
		sub := inst.subtask(planner, tk.ID, 0, "coder", noStart)
		equal(t, "parent", sub.ParentTaskID, tk.ID)
		equal(t, "created by", sub.CreatedBy, "planner")
		equal(t, "thread", sub.ThreadID, sub.ID)
		equal(t, "link", inst.task(tk.ID).Steps[0].TaskID, sub.ID)
		equal(t, "last event of the parent", last(inst.kinds(tk.ID)), task.EvSubtaskCreated)
	})
	t.Run("a step has at most one subtask", func(t *testing.T) {
		tk := inst.create(planner, "planner", noStart, steps("a"))
		sub := inst.subtask(planner, tk.ID, 0, "coder", noStart)
		inst.unchanged(t, func() {
			_, err := inst.s.CreateSubtask(inst.ctx(), planner, tk.ID, 0, task.New{Title: "x", Owner: "coder"})
			refused(t, err, task.CodeStepLinked, sub.ID.String())
		})
	})
	t.Run("an agent that does not own the parent may not", func(t *testing.T) {
		tk := inst.create(planner, "coder", noStart, steps("a"))
		inst.unchanged(t, func() {
			_, err := inst.s.CreateSubtask(inst.ctx(), planner, tk.ID, 0, task.New{Title: "x", Owner: "planner"})
			refused(t, err, task.CodeForbidden, "owner", "coder")
		})
	})
	t.Run("a person may, and the parent's owner gets it by default", func(t *testing.T) {
		tk := inst.create(planner, "coder", noStart, steps("a"))
		sub := inst.subtask(oleg, tk.ID, 0, "", noStart)
		equal(t, "owner", sub.Owner, "coder")
		equal(t, "created by", sub.CreatedBy, oleg.Name)
	})
	t.Run("an agent gets it itself by default", func(t *testing.T) {
		tk := inst.create(planner, "planner", noStart, steps("a"))
		equal(t, "owner", inst.subtask(planner, tk.ID, 0, "", noStart).Owner, "planner")
	})
	t.Run("a draft may have subtasks, an archived task may not", func(t *testing.T) {
		tk := inst.create(maya, "coder", draft, steps("a", "b"))
		inst.subtask(maya, tk.ID, 0, "coder", draft)
		must(inst.s.CancelTask(inst.ctx(), maya, tk.ID, ""))
		_, err := inst.s.CreateSubtask(inst.ctx(), maya, tk.ID, 1, task.New{Title: "x"})
		refused(t, err, task.CodeArchived)
	})
	t.Run("an unknown parent is not found", func(t *testing.T) {
		_, err := inst.s.CreateSubtask(inst.ctx(), maya, 99999, 0, task.New{Title: "x"})
		refused(t, err, task.CodeTaskNotFound, "Task not found: 99999")
	})
	t.Run("subtasks nest ten deep and no deeper", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart, steps("a"))
		for range task.MaxNesting {
			tk = inst.subtask(maya, tk.ID, 0, "coder", noStart, steps("a"))
		}
		inst.unchanged(t, func() {
			_, err := inst.s.CreateSubtask(inst.ctx(), maya, tk.ID, 0, task.New{Title: "x"})
			refused(t, err, task.CodeNestingLimit, "10")
		})
	})
}

func last[T any](list []T) T { return list[len(list)-1] }

func TestResources(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	add := func(t *testing.T, id task.ID, typ, value string) (*task.Task, error) {
		t.Helper()
		return inst.s.AddResource(inst.ctx(), coder, id, task.Resource{Type: typ, Value: value, Label: "L"})
	}
	t.Run("URLs and absolute paths are accepted, in order", func(t *testing.T) {
		tk := inst.create(coder, "coder", noStart)
		for _, r := range [][2]string{
			{"url", "https://example.org/a?b=c"},
			{"url", "http://[::1]:80/"},
			{"url", "mailto:a@example.org"},
			{"file", "/etc/hosts"},
		} {
			must(add(t, tk.ID, r[0], r[1]))
		}
		now := inst.task(tk.ID)
		equal(t, "resources", len(now.Resources), 4)
		equal(t, "last", now.Resources[3].Value, "/etc/hosts")
		equal(t, "link", now.Links[0], task.Link{URL: "https://example.org/a?b=c", Description: "L"})
	})
	t.Run("other schemes, relative paths and other types are refused", func(t *testing.T) {
		tk := inst.create(coder, "coder", noStart)
		for _, r := range [][2]string{
			{"url", "ftp://x/"},
			{"url", "javascript:alert(1)"},
			{"url", "https:///x"},
			{"url", "x"},
			{"file", "a"},
			{"file", "../a"},
			{"dir", "/a"},
			{"", "/a"},
		} {
			_, err := add(t, tk.ID, r[0], r[1])
			refused(t, err, task.CodeInvalidField)
		}
	})
	t.Run("removing closes the gap", func(t *testing.T) {
		tk := inst.create(coder, "coder", noStart)
		for _, f := range []string{"/a", "/b", "/c"} {
			must(add(t, tk.ID, "file", f))
		}
		now := must(inst.s.RemoveResource(inst.ctx(), coder, tk.ID, 1))
		equal(t, "resources", len(now.Resources), 2)
		equal(t, "second", now.Resources[1].Value, "/c")
	})
	t.Run("the error for an index out of range names the range", func(t *testing.T) {
		tk := inst.create(coder, "coder", noStart)
		_, err := inst.s.RemoveResource(inst.ctx(), coder, tk.ID, 0)
		refused(t, err, task.CodeInvalidField, "resource 0 is out of range", "has no resources")
		must(add(t, tk.ID, "file", "/a"))
		must(add(t, tk.ID, "file", "/b"))
		for _, at := range []int{-1, 2} {
			_, err := inst.s.RemoveResource(inst.ctx(), coder, tk.ID, at)
			refused(t, err, task.CodeInvalidField, "out of range", "has resources 0 to 1")
		}
	})
	t.Run("the 101st resource is refused", func(t *testing.T) {
		tk := inst.create(coder, "coder", noStart, func(in *task.New) {
			for range task.MaxResources {
				in.Resources = append(in.Resources, task.Resource{Type: "file", Value: "/a"})
			}
		})
		_, err := add(t, tk.ID, "file", "/b")
		refused(t, err, task.CodeInvalidField, "100")
	})
}
