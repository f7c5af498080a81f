package jobs

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"taskyard/db/dbtest"
	"taskyard/internal/testkit"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// refuseEnds makes the database reject the ends of runs until fixed is called.
func (inst *instance) refuseEnds() (fixed func()) {
	inst.t.Helper()
	return dbtest.Refuse(inst.t, inst.db, "UPDATE OF ended_at ON runs", "", "no end today")
}

func TestTheEndOfARunIsStoredAsSoonAsPossible(t *testing.T) {
	t.Parallel()
	log := &testkit.Buffer{}
	inst := newInstance(t, setup{jobs: func(o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) }})
	tk := inst.create("coder")
	f := inst.next()
	fixed := inst.refuseEnds()
	f.complete()
	testkit.EventuallyWithin(inst.t, patience, "the server logs that it cannot store the end", func() bool {
		return strings.Contains(log.String(), "failed to store the end of the run")
	})
	r := inst.run(f.RunID)
	if got := r.State().String(); got != "running/working" {
		t.Fatalf("got %s", got)
	}
	if err := inst.jobs.endExpired(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyWithin(inst.t, patience, "the lease is renewed meanwhile", func() bool {
		return inst.run(f.RunID).HeartbeatAt > r.HeartbeatAt
	})
	fixed()
	r = inst.awaitRun(f.RunID, "completed/ended")
	if r.Summary != "done" {
		t.Errorf("got summary %q, want done", r.Summary)
	}
	if list, err := inst.svc.Runs(t.Context(), maya, task.RunFilter{TaskID: tk.ID, Limit: 10}); err != nil || len(list) != 1 {
		t.Errorf("got %d runs, %v; want 1", len(list), err)
	}
}

func TestATranscriptWaitsForADatabaseThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	log := &testkit.Buffer{}
	inst := newInstance(t, setup{jobs: func(o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) }})
	inst.create("coder")
	f := inst.next()
	say := func(text string) { f.sink.Event(supervise.Event{Type: supervise.EventText, Text: text}) }
	use := func(tokens string) {
		f.sink.Event(supervise.Event{Type: supervise.EventUsage, Data: json.RawMessage(`{"tokensIn":` + tokens + `}`)})
	}
	said := func() (list []string) {
		for _, m := range inst.transcript(f.RunID) {
			if m.Type == supervise.EventText || m.Type == supervise.EventLog {
				list = append(list, m.Content)
			}
		}
		return list
	}
	refused := func() (fixed func()) {
		return dbtest.Refuse(t, inst.db, "INSERT ON messages", "", "no line today")
	}
	told := func(n int) {
		t.Helper()
		testkit.EventuallyWithin(t, patience, "the server says that it cannot store the lines", func() bool {
			return strings.Count(log.String(), "failed to store lines of a transcript; trying again") == n
		})
	}
	say("before")
	testkit.EventuallyWithin(t, patience, "the first line is stored", func() bool { return len(said()) == 1 })
	fixed := refused()
	for range flushAt + 1 {
		say("meanwhile")
	}
	use("1000")
	told(1)
	fixed()
	testkit.EventuallyWithin(t, patience, "the others are stored, without another event", func() bool {
		return len(said()) == flushAt+2 && inst.run(f.RunID).Usage.TokensIn == 1000
	})
	fixed = refused()
	say(strings.Repeat("x", maxUnsaved))
	use("500")
	say("at the end")
	f.complete()
	told(2)
	fixed()
	r := inst.awaitRun(f.RunID, "completed/ended")
	list := said()[flushAt+2:]
	want := []string{"1 line of the transcript is missing here: the database could not be written.", "at the end"}
	if !slices.Equal(list, want) || r.Usage.TokensIn != 1500 {
		t.Errorf("%d tokens, and the last lines are %.300q", r.Usage.TokensIn, list)
	}
}
