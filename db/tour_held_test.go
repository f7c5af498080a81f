package db_test

import (
	"context"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

// heldDecisions decides on a waiting run and takes it back, twice; what it
// would do changes meanwhile.
func heldDecisions(t *testing.T, s *service.Service, id task.ID) {
	ctx := context.Background()
	r := must[*task.Run](t)(s.ApproveRun(ctx, admin, id, service.Approve{Undo: time.Minute}))
	must[[]*task.Run](t)(s.Held(ctx, admin))
	must[task.Decided](t)(s.UndoDecisions(ctx, admin, []task.ID{id}))
	title := "Another one"
	must[*task.Task](t)(s.UpdateTask(ctx, agent, r.TaskID, task.Patch{Title: &title}))
	must[task.Decided](t)(s.ApproveMany(ctx, admin, []service.Reviewed{{Run: id, Version: r.Approval.Version}}, 0))
	must[*task.Spec](t)(s.SpecBefore(ctx, admin, id, ""))
	must[*task.Spec](t)(s.SpecBefore(ctx, admin, id, r.Approval.Version))
}
