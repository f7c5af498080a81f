package db_test

import (
	"context"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

// taskPages reads what a task's page shows, and rearranges its plan. Step 0 of the
// task is linked to the subtask.
func taskPages(t *testing.T, s *service.Service, id, sub task.ID) {
	ctx := context.Background()
	for _, p := range []task.ID{id, sub} {
		must(s.TaskPage(ctx, admin, p, time.UTC))
	}
	must(s.Stream(ctx, admin, id,
		service.StreamQuery{Messages: true, Events: true, Runs: true, SkipEvents: []string{task.EvCommented}, Limit: 5}))
	must(s.Subtasks(ctx, admin, id, 0, true, 5))
	must(s.OpenBelow(ctx, admin, id))
	seen := task.StepSeen{}
	must(s.InsertStep(ctx, admin, id, 1, task.Step{Title: "between"}))
	must(s.MoveStep(ctx, admin, id, 0, 2, seen))
	must(s.MoveStep(ctx, admin, id, 2, 0, seen))
	must(s.RemoveStep(ctx, admin, id, 1, seen))
	must(s.AddResource(ctx, admin, id, task.Resource{Type: "file", Value: "/c"}))
	must(s.UpdateResource(ctx, admin, id, 0, "", task.Resource{Type: "file", Value: "/d"}))
}
