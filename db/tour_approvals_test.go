package db_test

import (
	"context"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

// undoneDecisions decides on a waiting run and undoes the decision, twice; the run's
// content changes in between.
func undoneDecisions(t *testing.T, s *service.Service, id task.ID) {
	ctx := context.Background()
	r := must(s.ApproveRun(ctx, admin, id, service.Approve{Undo: time.Minute}))
	must(s.PendingDecisions(ctx, admin))
	must(s.UndoDecisions(ctx, admin, []task.ID{id}))
	title := "Another one"
	must(s.UpdateTask(ctx, agent, r.TaskID, task.Patch{Title: &title}))
	must(s.ApproveMany(ctx, admin, []service.Reviewed{{Run: id, Version: r.Approval.Version}}, 0))
	must(s.SpecBefore(ctx, admin, id, ""))
	must(s.SpecBefore(ctx, admin, id, r.Approval.Version))
}

// transcripts reads a run's transcript in every way.
func transcripts(t *testing.T, s *service.Service, r *task.Run) {
	ctx := context.Background()
	for _, q := range []task.TranscriptQuery{{}, {Before: 3}, {At: 1}, {Text: "x"}, {Kind: "errors"}} {
		must(s.TranscriptPart(ctx, admin, r.ID, q))
	}
	must(s.TranscriptAfter(ctx, admin, r.ID, "said", 0, 5))
	part := must(s.TranscriptPart(ctx, admin, r.ID, task.TranscriptQuery{}))
	must(s.TranscriptLine(ctx, admin, r.ID, part.Lines[0].ID))
	must(s.RunAttempts(ctx, admin, r))
}
