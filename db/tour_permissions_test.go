package db_test

import (
	"context"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

// permissions makes a run request permission for two tool calls.
func permissions(t *testing.T, s *service.Service, st *service.Start) {
	ctx := context.Background()
	for range 2 {
		p := must(s.AskPermission(ctx, st.Run.ID, st.Run.Lease, task.Permission{Tool: "bash"}))
		must(s.Asking(ctx, admin))
		must(s.AllowPermission(ctx, admin, st.Run.ID, p.N, task.ScopeOnce))
		must(s.AwaitPermission(ctx, st.Run.ID, p.N))
	}
}
