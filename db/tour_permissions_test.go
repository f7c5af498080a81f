package db_test

import (
	"context"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

// permissions has a run ask before two tool calls.
func permissions(t *testing.T, s *service.Service, st *service.Start) {
	ctx := context.Background()
	for range 2 {
		p := must[*task.Permission](t)(s.AskPermission(ctx, st.Run.ID, st.Run.Lease, task.Permission{Tool: "bash"}))
		must[[]*task.Run](t)(s.Asking(ctx, admin))
		must[*task.Run](t)(s.AllowPermission(ctx, admin, st.Run.ID, p.N, task.ScopeOnce))
		must[*task.Permission](t)(s.AwaitPermission(ctx, st.Run.ID, p.N))
	}
}
