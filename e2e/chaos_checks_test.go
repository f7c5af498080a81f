package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// Three servers share one PostgreSQL, and all of them are killed, frozen and
// restarted at random moments. No acknowledged write is lost, no task is claimed
// twice, no run is alive twice, no tick fires twice.
func TestChaosOfThreeServers(t *testing.T) {
	t.Parallel()
	n := testkit.Trials()
	c := newChaos(t, testkit.ByForm(
		chaosPlan{clients: 16, kills: 5, crashes: 2, failovers: 1, freezes: 1, gap: 2 * time.Second, limit: 2 * time.Minute},
		chaosPlan{clients: 16, kills: 8, crashes: 3, failovers: 1, freezes: 1, ticks: 1, gap: 2 * time.Second, limit: 4 * time.Minute},
		chaosPlan{
			clients: 64, kills: n, crashes: max(1, n/10), failovers: max(1, n/25), freezes: max(1, n/50), ticks: max(1, n/50),
			gap: 2 * time.Second, limit: 26 * time.Minute,
		},
	))
	c.unleash()
	p := c.plan
	for what, v := range map[string][2]int{
		"kills": {int(c.kills.Load()), p.kills}, "crashes of PostgreSQL": {int(c.crashes.Load()), p.crashes},
		"failovers": {int(c.failovers.Load()), p.failovers}, "freezes": {int(c.freezes.Load()), p.freezes},
	} {
		if v[0] < v[1] {
			t.Errorf("got only %d of %d %s within %v", v[0], v[1], what, p.limit)
		}
	}
	c.checkClaims(t)
	c.checkRuns(t)
	c.checkTicks(t)
	if out, errs, code := c.servers[0].command("", "check"); code != exitOK {
		t.Errorf("check: exit code %d: %s %s", code, out, errs)
	}
}

func (c *chaos) checkClaims(t *testing.T) {
	t.Helper()
	c.load.readAll(t)
	c.load.hist.explain(t)
	if got := c.load.hist.check(); got != porcupine.Ok {
		t.Errorf("the checker says that the history of claims is %s", got)
	}
}

// list returns the rows of a query, which must succeed.
func (k *cluster) list(t *testing.T, query string) []string {
	t.Helper()
	rows, err := k.rows(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return rows
}

func (c *chaos) checkRuns(t *testing.T) {
	t.Helper()
	testkit.EventuallyWithin(t, 3*time.Minute, "all runs have ended and their tasks are done", func() bool {
		open := c.list(t, "SELECT (SELECT count(*) FROM runs WHERE ended_at IS NULL) + "+
			"(SELECT count(*) FROM tasks WHERE owner IN ('worker', 'holder') AND status <> 'done')")
		return open[0] == "0"
	})
	if met, err := os.ReadFile(filepath.Join(c.notes, "met")); err == nil {
		t.Errorf("two programs of one task at the same time:\n%s", met)
	}
	log := read(t, filepath.Join(c.notes, "log"))
	requeued := map[string]bool{} // the same run starts again under its next lease
	for _, id := range c.list(t, "SELECT id FROM runs WHERE lease > 1") {
		requeued[id] = true
	}
	for _, p := range duplicates(log, requeued) {
		t.Error(p)
	}
	for what, query := range map[string]string{
		"tasks completed by more than one run": "SELECT task_id, count(*) FROM runs WHERE status = 'completed' GROUP BY 1 HAVING count(*) > 1",
		"tasks completed more than once": "SELECT task_id, count(*) FROM events WHERE kind = '" + task.EvTaskCompleted +
			"' GROUP BY 1 HAVING count(*) > 1",
		"two runs of a task at a time": "SELECT a.task_id, a.id, b.id FROM runs a JOIN runs b ON b.task_id = a.task_id AND b.id > a.id " +
			"WHERE b.started_at < a.ended_at AND a.started_at IS NOT NULL",
	} {
		if rows := c.list(t, query); len(rows) > 0 {
			t.Errorf("%s: %v", what, rows)
		}
	}
	there := map[string]bool{}
	for _, id := range c.list(t, "SELECT id FROM tasks WHERE owner IN ('worker', 'holder')") {
		there[id] = true
	}
	for id := range c.given {
		if !there[id.String()] {
			t.Errorf("acknowledged task %d of a run does not exist", id)
		}
	}
	acknowledged := strings.Count("\n"+log, "\ndone ")
	for line := range strings.Lines(log) {
		var run, id string
		if _, err := fmt.Sscanf(line, "done %s %s", &run, &id); err != nil {
			continue
		}
		want := "done|by run " + run
		if got := c.one("SELECT status, summary FROM tasks WHERE id = %s", id); got != want {
			t.Errorf("task %s: got %q; run %s got the acknowledgment of %q", id, got, run, want)
		}
	}
	t.Logf("%d tasks for runs, %d completions acknowledged to programs; runs: %v", len(c.given), acknowledged,
		c.list(t, "SELECT status, phase, count(*) FROM runs GROUP BY 1, 2 ORDER BY 1, 2"))
}

// duplicates returns what the notes of the programs of runs contain twice: the start
// of a run under one lease, or an acknowledged completion of a task.
func duplicates(log string, requeued map[string]bool) (problems []string) {
	seen := map[string]int{}
	for line := range strings.Lines(log) {
		var what, run, id string
		if _, err := fmt.Sscan(line, &what, &run, &id); err != nil {
			problems = append(problems, fmt.Sprintf("invalid note: %q", line))
		}
		switch {
		case what == "start" && !requeued[run]:
			seen["run "+run+" was started"]++
		case what == "done":
			seen["task "+id+" was completed"]++
		}
	}
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		if n := seen[what]; n > 1 {
			problems = append(problems, fmt.Sprintf("%s %d times", what, n))
		}
	}
	return problems
}

func (c *chaos) checkTicks(t *testing.T) {
	t.Helper()
	// A tick that was cut off is started again by the next leader.
	minutes := c.list(t, "SELECT at / 60000 FROM ticks WHERE cause = 'cron' AND ended IS NOT NULL ORDER BY 1")
	for _, m := range repeated(minutes) {
		t.Errorf("minute %s has more than one tick", m)
	}
	if len(minutes) < c.plan.ticks {
		t.Errorf("got only %d of %d ticks", len(minutes), c.plan.ticks)
	}
	t.Logf("%d ticks; changes of the leader: %v", len(minutes), c.list(t, "SELECT number - 1 FROM leader"))
}

// repeated returns the items that are equal to the one before them.
func repeated(list []string) (equal []string) {
	for i := 1; i < len(list); i++ {
		if list[i] == list[i-1] {
			equal = append(equal, list[i])
		}
	}
	return equal
}

func TestChaosFlagsBrokenHistories(t *testing.T) {
	t.Parallel()
	t.Run("a claim that two clients got", func(t *testing.T) {
		t.Parallel()
		h := newHistory()
		for client, id := range []task.ID{1, 2, 1} {
			h.add(client, h.now(), act{Task: id, Kind: doClaim}, answer{Known: true, OK: true, Claim: 1})
		}
		h.explain(t)
		if got := h.check(); got != porcupine.Illegal {
			t.Errorf("the checker says %s", got)
		}
	})
	t.Run("a run that starts twice, and a task that two runs complete", func(t *testing.T) {
		t.Parallel()
		log := "start 1 7\nstart 2 8\nstart 3 9\nstart 3 9\nstart 1 7\ndone 1 7\ndone 2 8\nstart 4 8\ndone 4 8\n"
		got := strings.Join(duplicates(log, map[string]bool{"3": true}), ", ")
		if want := "run 1 was started 2 times, task 8 was completed 2 times"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("a tick that fires twice", func(t *testing.T) {
		t.Parallel()
		if got := repeated([]string{"1", "2", "2", "3"}); !slices.Equal(got, []string{"2"}) {
			t.Errorf("%v", got)
		}
	})
}
