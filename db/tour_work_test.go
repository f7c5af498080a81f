package db_test

import (
	"context"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

// work reports twice what a run left behind, and reads it.
func work(t *testing.T, s *service.Service, st *service.Start) {
	ctx := context.Background()
	left := &task.Work{Total: 1, Files: []task.FileChange{{Path: "a", Change: task.FileAdded, Added: 1, Diff: "+a\n"}}}
	for range 2 {
		ok(t, s.RecordWork(ctx, st.Run.ID, st.Run.Lease, left))
	}
	for _, lines := range []bool{true, false} {
		must(s.Work(ctx, admin, st.Run.ID, lines))
	}
	again := *st.Run
	again.ID, again.Spec = again.ID+1, &task.Spec{Workspace: "worktree:/r", SharedRun: st.Run.ID}
	must(s.RunFolders(ctx, &again))
	must(s.OrphanedFolders(ctx, []task.RunFolder{task.StartFolder(st.Run.ID, st.Run.Lease), task.TreeFolder(st.Run.ID)}))
}
