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

// longComments is so many comments of 32 kB.
func (y *instance) longComments(id task.ID, n int) {
	y.t.Helper()
	text := strings.Repeat("neither here nor there ", 1425)
	for i := range n {
		must(y.s.Comment(y.ctx(), maya, id, fmt.Sprintf("begins%d %s ends%d", i, text, i)))
	}
}

func TestLongTasksAreSearchedInParts(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	tk := y.create(maya, "coder", noStart, title("Rebuild the lighthouse"), func(in *task.New) {
		in.Description = strings.Repeat("granite ", 8000) + "beacon"
	})
	y.longComments(tk.ID, 60)
	short := y.create(maya, "coder", noStart, title("Paint the lighthouse"))
	must(y.s.Comment(y.ctx(), maya, short.ID, "in white begins7"))
	t.Run("open tasks cost the search nothing", func(t *testing.T) {
		for _, w := range must(read(y.ctx(), y.s, (*db.Rx).ToIndex)) {
			equal(t, "bytes", w.Bytes(), 0)
		}
	})
	for _, id := range []task.ID{tk.ID, short.ID} {
		must(y.s.CompleteTask(y.ctx(), maya, id, "shining", 0))
	}
	t.Run("no write takes more than its part, wherever it is interrupted", func(t *testing.T) {
		writes := 0
		for again := 0; ; again++ {
			list := must(read(y.ctx(), y.s, (*db.Rx).ToIndex))
			if len(list) == 0 {
				break
			}
			for i, w := range list {
				if w.Bytes() > 16<<10 {
					t.Fatalf("a write of %d bytes", w.Bytes())
				}
				if again%3 == 1 && i == len(list)/2 {
					again++
					break // as a crash would
				}
				ok(t, change(y.ctx(), y.s, task.SystemActor, func(tx *txn) error { return tx.Index(w) }))
				writes++
			}
		}
		if writes < 100 {
			t.Errorf("two megabytes were indexed in %d writes", writes)
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
			if got := y.found(q); !slices.Equal(got, want) {
				t.Errorf("found %v, want %v", got, want)
			}
		})
	}
	t.Run("shows where the last words are", func(t *testing.T) {
		p := must(y.s.HistoryPage(y.ctx(), vera, task.HistoryFilter{Query: "ends59 neither", Limit: 10}, time.UTC))
		if got := plain(p.Hits[tk.ID].Text); !strings.Contains(got, "[ends59]") {
			t.Errorf("the excerpt is %q", got)
		}
		n := 0
		for _, at := range p.Times.Times {
			n += at.Done
		}
		equal(t, "in the chart", n, 1)
	})
	t.Run("the check of the store agrees", func(t *testing.T) {
		ok(t, y.db.Read(y.ctx(), func(rx *db.Rx) error { return rx.CheckSearch() }))
		y.whole()
	})
}

func TestASearchThatIsBehindSaysSo(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	tk := y.create(maya, "coder", noStart, title("Find me"))
	must(y.s.CompleteTask(y.ctx(), maya, tk.ID, "", 0))
	ok(t, y.s.Index(y.ctx()))
	ask := func() Page {
		return must(y.s.History(y.ctx(), vera, task.HistoryFilter{Query: "find", Limit: 5}))
	}
	equal(t, "indexing, when all is done", ask().Indexing, 0)
	ok(t, change(y.ctx(), y.s, task.SystemActor, func(tx *txn) error {
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
		t.Errorf("indexing %d %%", p.Indexing)
	}
	about := must(y.s.About(y.ctx()))
	if n := Indexing(about.Open); n < 1 || n > 99 {
		t.Errorf("the index of open tasks is at %d %%", n)
	}
	ok(t, y.s.Index(y.ctx()))
	equal(t, "indexing, at the end", ask().Indexing, 0)
	equal(t, "the index of open tasks, at the end", Indexing(must(y.s.About(y.ctx())).Open), 0)
}

// TestClaimsStayQuickWhileTheSearchIndexes claims and completes tasks while a
// task with long comments is commented, archived and indexed. The thorough form
// holds the goal; the short one leaves room for a busy machine.
func TestClaimsStayQuickWhileTheSearchIndexes(t *testing.T) {
	y := newInstance(t)
	y.s.config().Now = time.Now // pauses are real
	comments, most := 60, 150*time.Millisecond
	if testkit.Thorough() {
		comments, most = 500, 20*time.Millisecond
	}
	tk := y.create(maya, "coder", noStart)
	y.longComments(tk.ID, comments)
	for range 40 * comments {
		y.create(pull, "pull")
	}
	ctx, cancel := context.WithCancel(y.ctx())
	var all sync.WaitGroup
	all.Go(func() {
		defer cancel()
		for range 10 {
			y.longComments(tk.ID, 1)
			ok(t, y.s.Index(ctx))
		}
		must(y.s.CompleteTask(y.ctx(), maya, tk.ID, "", 0))
		ok(t, y.s.Index(ctx))
	})
	var mu sync.Mutex
	var took []time.Duration
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				start := time.Now()
				got, err := y.s.Signup(y.ctx(), pull, "pull", 1)
				d := time.Since(start)
				if err != nil || len(got) == 0 {
					return
				}
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
				if _, err := y.s.CompleteTask(y.ctx(), pull, got[0].ID, "", 0); err != nil {
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
	if p99 > most {
		t.Errorf("p99 of a claim is %s, want at most %s", p99, most)
	}
}
