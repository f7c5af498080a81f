package service

import (
	"slices"
	"strings"
	"testing"

	"taskyard/db"
	"taskyard/internal/exchange"
	"taskyard/task"
)

// longPlan returns n steps with details of a number of bytes each.
func longPlan(n, bytes int) []task.Step {
	steps := make([]task.Step, n)
	for i := range steps {
		steps[i] = task.Step{Title: "s", Details: strings.Repeat("d", bytes)}
	}
	return steps
}

// fullPlan returns a plan that fills a task to 100 bytes below the limit.
func fullPlan() []task.Step {
	steps := longPlan(16, 65000)
	left := task.MaxTaskText - task.TextBytes("", steps) - 101
	return append(steps, task.Step{Title: "s", Details: strings.Repeat("d", left)})
}

func TestTheTextOfATaskIsBounded(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", func(in *task.New) { in.Steps = fullPlan(); in.Status = task.Draft })
	equal(t, "bytes", task.TextBytes(tk.Description, tk.Steps), task.MaxTaskText-100)
	large := strings.Repeat("x", 200)
	over := append(fullPlan(), task.Step{Title: "s", Details: large})
	words := []string{"together they must be at most 1048576 (1 MiB)"}
	for name, c := range map[string]struct {
		field string
		do    func() error
	}{
		"create": {"steps", func() error {
			_, err := inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "t", Owner: "coder", Steps: over})
			return err
		}},
		"create a subtask": {"steps", func() error {
			_, err := inst.s.CreateSubtask(inst.ctx(), maya, tk.ID, 0, task.New{Title: "t", Owner: "coder", Steps: over})
			return err
		}},
		"edit": {"description", func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Description: &large})
			return err
		}},
		"replace the plan": {"steps", func() error {
			_, err := inst.s.ReplaceSteps(inst.ctx(), maya, tk.ID, over)
			return err
		}},
		"edit a step": {"details", func() error {
			more := strings.Repeat("d", 65000+200)
			_, err := inst.s.UpdateStep(inst.ctx(), maya, tk.ID, 0, task.StepPatch{Details: &more})
			return err
		}},
		"add a step": {"details", func() error {
			_, err := inst.s.InsertStep(inst.ctx(), maya, tk.ID, task.MaxSteps, task.Step{Title: "s", Details: large})
			return err
		}},
		"insert a step": {"details", func() error {
			_, err := inst.s.InsertStep(inst.ctx(), maya, tk.ID, 0, task.Step{Title: "s", Details: large})
			return err
		}},
		"import": {"steps", func() error {
			details := `"` + strings.Repeat("d", 60000) + `"`
			data := `{"tasks":[{"id":"1","title":"t","owner":"coder","steps":[` +
				strings.TrimSuffix(strings.Repeat(`{"title":"s","details":`+details+`},`, 18), ",") + `]}]}`
			return exchange.Taskyard(exchange.Source{Name: "tasks.json", Data: []byte(data)}, nil, nil).Report.Err()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := refused(t, c.do(), task.CodeInvalidField, words...)
			if !slices.ContainsFunc(e.AllFields(), func(f task.FieldError) bool {
				return strings.HasSuffix(f.Field, c.field) && strings.Contains(f.Message, words[0])
			}) {
				t.Errorf("the field %s is not mentioned: %v", c.field, e.AllFields())
			}
		})
	}
	t.Run("text within the limit is accepted", func(t *testing.T) {
		small := "x"
		must(inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Description: &small}))
	})
}

func TestAnOversizedTaskOfAnEarlierVersionCanBeReadAndShortened(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", func(in *task.New) { in.Status = task.Draft; in.Description = "d" })
	ok(t, inst.db.Write(inst.ctx(), func(tx *db.Tx) error { return tx.ReplaceSteps(tk.ID, longPlan(100, 60000)) }))
	tk = must(inst.s.Task(inst.ctx(), maya, tk.ID))
	equal(t, "steps", len(tk.Steps), 100)
	done, short, long, title := true, "short", strings.Repeat("x", 65000), "a new title"
	must(inst.s.UpdateStep(inst.ctx(), maya, tk.ID, 0, task.StepPatch{Done: &done}))
	must(inst.s.UpdateStep(inst.ctx(), maya, tk.ID, 0, task.StepPatch{Details: &short}))
	must(inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Title: &title}))
	must(inst.s.MoveStep(inst.ctx(), maya, tk.ID, 0, 5, task.StepSeen{}))
	must(inst.s.RemoveStep(inst.ctx(), maya, tk.ID, 7, task.StepSeen{}))
	_, err := inst.s.UpdateStep(inst.ctx(), maya, tk.ID, 0, task.StepPatch{Details: &long})
	refused(t, err, task.CodeInvalidField, "1048576")
	must(inst.s.ReplaceSteps(inst.ctx(), maya, tk.ID, longPlan(99, 50000)))
	must(inst.s.CompleteTask(inst.ctx(), maya,
		must(inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Status: ptr("active")})).ID, "", 0))
}
