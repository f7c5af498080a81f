//go:build linux

package trials

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// maxStop is the guaranteed time from the stop to an empty process tree.
const maxStop = 10 * time.Second

// trials returns how many stops to try: one per kind of process, or the number given
// for the thorough form.
func trials() int {
	if testkit.Thorough() {
		return testkit.Trials()
	}
	return 7
}

func TestStoppedTreesAreEmptyWithinTenSeconds(t *testing.T) {
	const group = 10 // at a time
	kinds, stops := []string{"plain", "deaf", "setsid", "daemon", "hop", "race", "children"}, []string{"cancel", "close", "done", "timeout"}
	agents := map[string]part{}
	for _, kind := range kinds {
		for _, stop := range stops {
			limits := "timeout: 10m\nidle_timeout: 10m"
			if stop == "timeout" {
				limits = "timeout: 2s\nidle_timeout: 10m"
			}
			agents[kind+"-"+stop] = part{limits: limits, args: []string{"stay", kind}}
		}
	}
	inst := newInstance(t, agents)
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	next := make(chan int)
	for range group {
		wg.Go(func() {
			for i := range next {
				kind, stop := kinds[i%len(kinds)], stops[(i+i/len(kinds))%len(stops)]
				t.Run(fmt.Sprintf("%s by %s, trial %d", kind, stop, i), func(t *testing.T) {
					d := inst.trial(t, kind, stop)
					mu.Lock()
					defer mu.Unlock()
					took = append(took, d)
				})
			}
		})
	}
	for i := range trials() {
		next <- i
	}
	close(next)
	wg.Wait()
	if len(took) == 0 {
		t.FailNow()
	}
	slices.Sort(took)
	t.Logf("%d trials: median %v, slowest %v", len(took), took[len(took)/2], took[len(took)-1])
}

// trial starts a run, stops it in one way and returns how long it took until
// no process of it was left.
func (inst *instance) trial(t *testing.T, kind, stop string) time.Duration {
	t.Helper()
	tk, id := inst.begin(t, kind+"-"+stop)
	if !within(patience, func() bool { return slices.Contains(inst.transcript(t, id), "ready") || inst.run(t, id).EndedAt != 0 }) {
		t.Fatal("the program did not start")
	}
	if n := len(alive(id)); n < 2 && stop != "timeout" {
		t.Errorf("got %d processes, want at least 2", n)
	}
	var begin time.Time
	var err error
	want := "canceled/by"
	switch stop {
	case "cancel":
		begin = time.Now()
		_, err = inst.svc.CancelRun(t.Context(), maya, id, "")
	case "close":
		begin, want = time.Now(), "canceled/task_closed"
		_, err = inst.svc.CancelTask(t.Context(), maya, tk.ID, "")
	case "done": // by the run itself, whose program keeps running
		begin, want = time.Now(), "completed/ended"
		_, err = inst.svc.CompleteTask(t.Context(), task.Actor{Name: tk.Owner, Role: task.RoleAgent, RunID: id}, tk.ID, "", 0)
	case "timeout":
		begin, want = inst.run(t, id).StartedAt.Std().Add(2*time.Second), "failed/timeout"
		within(patience, func() bool { return time.Now().After(begin) })
	}
	if err != nil {
		t.Fatal(err)
	}
	if !within(patience, func() bool { return len(alive(id)) == 0 }) {
		t.Errorf("processes remain: %v", alive(id))
	}
	if kind == "race" {
		inst.raced(t, id, begin)
	}
	took := time.Since(begin)
	if took > maxStop {
		t.Errorf("the tree was empty after %v, want at most %v", took, maxStop)
	}
	var r *task.Run
	if !within(patience, func() bool { r = inst.run(t, id); return r.EndedAt != 0 }) || !strings.HasPrefix(r.State().String(), want) {
		t.Errorf("got %s: %s, want %s", r.State(), r.Reason, want)
	}
	return took
}

// raced returns when the processes that keep creating a file are dead: the file is
// removed and not created again.
func (inst *instance) raced(t *testing.T, id task.ID, begin time.Time) {
	t.Helper()
	file := filepath.Join(inst.runs, fmt.Sprintf("run-%d-1", id), "tmp", raceFile)
	for time.Since(begin) < maxStop {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if !within(200*time.Millisecond, func() bool { _, err := os.Stat(file); return err == nil }) {
			return
		}
	}
	t.Error("the processes keep running")
	_ = os.RemoveAll(filepath.Dir(file)) // its shell exits without the folder
}

// within polls until ok returns true, and reports whether it did within limit.
func within(limit time.Duration, ok func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			return false
		}
	}
	return true
}
