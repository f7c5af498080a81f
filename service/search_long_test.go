package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// longComments adds n comments of 32 kB.
func (inst *instance) longComments(id task.ID, n int) {
	inst.t.Helper()
	text := strings.Repeat("neither here nor there ", 1425)
	for i := range n {
		must(inst.s.Comment(inst.ctx(), maya, id, fmt.Sprintf("begins%d %s ends%d", i, text, i)))
	}
}

func TestLongTasksAreSearchedInParts(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart, title("Rebuild the lighthouse"), func(in *task.New) {
		in.Description = strings.Repeat("granite ", 8000) + "beacon"
	})
	inst.longComments(tk.ID, 60)
	short := inst.create(maya, "coder", noStart, title("Paint the lighthouse"))
	must(inst.s.Comment(inst.ctx(), maya, short.ID, "in white begins7"))
	t.Run("open tasks are not indexed", func(t *testing.T) {
		for _, w := range must(read(inst.ctx(), inst.s, (*db.Rx).ToIndex)) {
			equal(t, "bytes", w.Bytes(), 0)
		}
	})
	for _, id := range []task.ID{tk.ID, short.ID} {
		must(inst.s.CompleteTask(inst.ctx(), maya, id, "shining", 0))
	}
	t.Run("each write is bounded, wherever indexing is interrupted", func(t *testing.T) {
		writes := 0
		for again := 0; ; again++ {
			list := must(read(inst.ctx(), inst.s, (*db.Rx).ToIndex))
			if len(list) == 0 {
				break
			}
			for i, w := range list {
				if w.Bytes() > 16<<10 {
					t.Fatalf("got a write of %d bytes", w.Bytes())
				}
				if again%3 == 1 && i == len(list)/2 {
					again++
					break // like a crash
				}
				ok(t, change(inst.ctx(), inst.s, task.SystemActor, func(tx *txn) error { return tx.Index(w) }))
				writes++
			}
		}
		if writes < 100 {
			t.Errorf("indexed two megabytes in %d writes", writes)
		}
	})
	for q, want := range map[string][]task.ID{
		"lighthouse":              {short.ID, tk.ID},
		"lighthouse beacon":       {tk.ID},
		"begins0 ends59":          {tk.ID},
		"ends59 begins31 granite": {tk.ID},
		"begins7":                 {short.ID, tk.ID},
		"begins7 white":           {short.ID},
		"begins58 white":          nil,
		"begins60":                nil,
		"shining light":           {short.ID, tk.ID},
		"a rebuild the begins1 begins2 begins3 begins4 begins5 begins6": nil,
		"rebuild the begins1 begins2 begins3 begins4 begins5":           {tk.ID},
	} {
		t.Run("finds "+q, func(t *testing.T) {
			if got := inst.found(q); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
	t.Run("shows the match of the last words", func(t *testing.T) {
		p := must(inst.s.HistoryPage(inst.ctx(), vera, task.HistoryFilter{Query: "ends59 neither", Limit: 10}, time.UTC))
		if got := plain(p.Hits[tk.ID].Text); !strings.Contains(got, "[ends59]") {
			t.Errorf("got excerpt %q", got)
		}
		n := 0
		for _, at := range p.Times.Times {
			n += at.Done
		}
		equal(t, "in the chart", n, 1)
	})
	t.Run("the check of the store agrees", func(t *testing.T) {
		ok(t, inst.db.Read(inst.ctx(), func(rx *db.Rx) error { return rx.CheckSearch() }))
		inst.checkIntegrity()
	})
}

func TestASearchWithAnOutdatedIndexSaysSo(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart, title("Find me"))
	must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "", 0))
	ok(t, inst.s.Index(inst.ctx()))
	ask := func() Page {
		return must(inst.s.History(inst.ctx(), vera, task.HistoryFilter{Query: "find", Limit: 5}))
	}
	equal(t, "indexing, when all is done", ask().Indexing, 0)
	ok(t, change(inst.ctx(), inst.s, task.SystemActor, func(tx *txn) error {
		for range indexBehind + 1 {
			if err := tx.AddEvent(task.Event{Actor: "bench", Kind: task.EvTick}); err != nil {
				return err
			}
		}
		return nil
	}))
	p := ask()
	equal(t, "found meanwhile", len(p.Tasks), 1)
	if p.Indexing < 1 || p.Indexing > 99 {
		t.Errorf("got indexing %d %%", p.Indexing)
	}
	about := must(inst.s.About(inst.ctx()))
	if n := Indexing(about.Open); n < 1 || n > 99 {
		t.Errorf("index of open tasks: got %d %%", n)
	}
	ok(t, inst.s.Index(inst.ctx()))
	equal(t, "indexing, at the end", ask().Indexing, 0)
	equal(t, "the index of open tasks, at the end", Indexing(must(inst.s.About(inst.ctx())).Open), 0)
}

// TestClaimsStayFastWhileTheSearchIndexes claims and completes tasks while a task with
// long comments is commented on, archived and indexed. The thorough form checks the
// goal; the short form leaves room for a busy machine.
func TestClaimsStayFastWhileTheSearchIndexes(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.s.config().Now = time.Now // pauses take real time
	comments, limit := 60, 150*time.Millisecond
	if testkit.Thorough() {
		comments, limit = 500, 20*time.Millisecond
	}
	tk := inst.create(maya, "coder", noStart)
	inst.longComments(tk.ID, comments)
	for range 40 * comments {
		inst.create(pull, "pull")
	}
	ctx, cancel := context.WithCancel(inst.ctx())
	var all sync.WaitGroup
	all.Go(func() {
		defer cancel()
		for range 10 {
			inst.longComments(tk.ID, 1)
			ok(t, inst.s.Index(ctx))
		}
		must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "", 0))
		ok(t, inst.s.Index(ctx))
	})
	var mu sync.Mutex
	var took []time.Duration
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				start := time.Now()
				got, err := inst.s.Signup(inst.ctx(), pull, "pull", 1)
				d := time.Since(start)
				if err != nil || len(got) == 0 {
					return
				}
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
				if _, err := inst.s.CompleteTask(inst.ctx(), pull, got[0].ID, "", 0); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	t.Logf("%d claims, median %s, p99 %s, longest %s", len(took), took[len(took)/2], p99, took[len(took)-1])
	if p99 > limit {
		t.Errorf("got p99 %s for a claim, want at most %s", p99, limit)
	}
}
