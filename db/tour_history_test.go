package db_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

// history searches, counts and summarizes finished work with each filter and with all
// of them. It requires a day on which transcripts are dropped.
func history(t *testing.T, s *service.Service) {
	ctx := context.Background()
	long := create(t, s, admin, task.New{Description: strings.Repeat("a long task ", 2000), NoStart: true})
	must(s.CancelTask(ctx, admin, long.ID, "x"))
	ok(t, s.Index(ctx))
	for _, f := range []task.HistoryFilter{
		{},
		{Owner: "coder"},
		{CreatedBy: admin.Name},
		{Label: "api"},
		{Status: task.Canceled},
		{From: 1},
		{To: 1 << 50},
		{Before: "1.1"},
		{Label: "api", Before: "1.1"},
		{Label: "api", From: 1, To: 1 << 50},
		{Owner: "coder", CreatedBy: admin.Name, Label: "api", Status: task.Done, From: 1, To: 2, Before: "1.1"},
	} {
		for _, q := range []string{"", "task", "x", "long task"} {
			f.Query, f.Limit = q, 5
			must(s.HistoryPage(ctx, admin, f, time.UTC))
			must(s.HistoryTimes(ctx, admin, f, time.UTC))
		}
	}
	for _, daily := range []bool{false, true} {
		must(s.Insights(ctx, admin, task.InsightFilter{From: s.Now().Add(-24 * time.Hour), Daily: daily, Agent: "coder"}))
		must(s.Insights(ctx, admin, task.InsightFilter{From: s.Now().Add(-24 * time.Hour), Daily: daily, Project: "web"}))
	}
	must(s.Runs(ctx, admin, task.RunFilter{Status: task.RunFailed, From: 1, To: s.Now(), Limit: 5}))
}
