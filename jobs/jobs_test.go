package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/supervise"
	"taskyard/task"
)

func TestTheSinkKeepsTheOrderOfEvents(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{})
	inst.create("coder")
	f := inst.next()
	types := []string{supervise.EventText, supervise.EventToolCall, supervise.EventToolResult, supervise.EventLog}
	var want []string
	send := func(n int) {
		for range n {
			i := len(want)
			e := supervise.Event{Type: types[i%len(types)], Text: fmt.Sprint("line ", i)}
			want = append(want, e.Type+" "+e.Text)
			f.sink.Event(e)
		}
	}
	lines := func() (got []string) {
		for _, m := range inst.transcript(f.RunID) {
			if strings.HasPrefix(m.Content, "line ") {
				got = append(got, m.Type+" "+m.Content)
			}
		}
		return got
	}
	send(3)
	testkit.EventuallyWithin(inst.t, patience, "a few lines are written although no more follow", func() bool { return len(lines()) == 3 })
	send(4*flushAt + 7)
	if got := len(lines()); got < 3+4*flushAt-flushAt {
		t.Errorf("after many lines only %d are written, but full batches must not wait", got)
	}
	send(1)
	f.complete()
	inst.awaitRun(f.RunID, "completed/ended")
	got := lines()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("sent %d lines, got %d, or in another order", len(want), len(got))
	}
	all := inst.transcript(f.RunID)
	if last := all[len(all)-1]; last.Type != "result" || last.Content != "done" {
		t.Errorf("last line: got %s %q, want the result", last.Type, last.Content)
	}
	speakers := map[string]task.Speaker{}
	for _, m := range all {
		speakers[m.Type] = m.Role
	}
	if speakers[supervise.EventText] != task.SpeakerAssistant || speakers[supervise.EventToolResult] != task.SpeakerTool ||
		speakers[supervise.EventLog] != task.SpeakerSystem {
		t.Errorf("got speakers %v", speakers)
	}
}

func TestRunJob(t *testing.T) {
	t.Parallel()
	t.Run("a tick may be requested even if ticks are off", func(t *testing.T) {
		inst := newInstance(t, setup{})
		tk, err := inst.svc.CreateTask(t.Context(), maya, task.New{Title: "Later", Owner: "coder", NoStart: true})
		if err != nil {
			t.Fatal(err)
		}
		if inst.jobs.NextTick() != 0 || !strings.HasPrefix(inst.jobs.Window(), "off") {
			t.Errorf("a tick is scheduled for %v, %s", inst.jobs.NextTick(), inst.jobs.Window())
		}
		if err := inst.jobs.RunJob("tick"); err != nil {
			t.Fatal(err)
		}
		f := inst.next()
		if r := inst.run(f.RunID); r.TaskID != tk.ID || r.Cause != task.CauseTick {
			t.Errorf("got a run of task %d by %s", r.TaskID, r.Cause)
		}
		f.complete()
	})
	t.Run("an unknown job is not found", func(t *testing.T) {
		inst := newInstance(t, setup{})
		if err := inst.jobs.RunJob("coffee"); errorKind(err) != task.NotFound {
			t.Errorf("%v", err)
		}
	})
	t.Run("a job requested before the start does no harm", func(t *testing.T) {
		inst := newInstance(t, setup{stopped: true})
		j, err := New(inst.opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"tick", "sweep"} {
			if err := j.RunJob(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if j.Alive() || len(j.Jobs()) == 0 {
			t.Error("reported as alive, or lists no job")
		}
		inst.jobs = j
		if err := j.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		inst.stop()
	})
	t.Run("nothing starts if the recovery cannot be recorded", func(t *testing.T) {
		unwell := errors.New("no room")
		inst := newInstance(t, setup{stopped: true, jobs: func(o *Options) { o.Recovered = func() error { return unwell } }})
		j, err := New(inst.opt)
		if err != nil {
			t.Fatal(err)
		}
		inst.create("coder")
		if err := j.Start(t.Context()); !errors.Is(err, unwell) {
			t.Errorf("start: got %v", err)
		}
		if len(inst.manualRunner.runs) > 0 || j.Alive() {
			t.Error("a run or the clock was started")
		}
	})
	t.Run("jobs are listed with their outcomes", func(t *testing.T) {
		inst := newInstance(t, setup{jobs: func(o *Options) {
			o.Plan.Enabled, o.Plan.Backup = true, Backup{Cron: "30 3 * * *", Dir: t.TempDir(), Keep: 2}
		}})
		if inst.jobs.NextTick() == 0 || inst.jobs.Window() != "at 0:00 on 1 January, UTC" {
			t.Errorf("got next tick %v, window %q", inst.jobs.NextTick(), inst.jobs.Window())
		}
		if err := inst.jobs.RunJob("sweep"); err != nil {
			t.Fatal(err)
		}
		testkit.EventuallyWithin(inst.t, patience, "the sweep is listed and stored", func() bool {
			st, err := inst.svc.Scheduler(context.Background(), maya)
			for _, info := range inst.jobs.Jobs() {
				if info.Name == "sweep" && info.Runs == 1 && !info.Running && info.LastAt != 0 {
					return err == nil && st.JobRecords["sweep"].Runs == 1
				}
			}
			return false
		})
		names := map[string]bool{}
		for _, info := range inst.jobs.Jobs() {
			names[info.Name] = true
			if info.Next == 0 || info.About == "" || info.Schedule == "" {
				t.Errorf("%+v is incomplete", info)
			}
		}
		for _, want := range []string{"tick", "claims", "approvals", "reaper", "sweep", "backup"} {
			if !names[want] {
				t.Errorf("job %s is not listed", want)
			}
		}
	})
}

func TestTheBackupJobKeepsTheNewestBackups(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	inst := newInstance(t, setup{jobs: func(o *Options) {
		o.Plan.Backup = Backup{Cron: "30 3 * * *", Dir: dir, Keep: 2, Write: o.Service.CopyInto}
	}})
	// A copy made by an earlier version, which is the oldest.
	former := filepath.Join(dir, "taskyard-20260101T000000.000.db")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(former, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	var last string
	for range 4 {
		tick := time.NewTimer(2 * time.Millisecond) // names have millisecond precision
		<-tick.C
		if err := inst.jobs.backup(t.Context()); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("got %v, %v", files, err)
		}
		if files[len(files)-1] <= last {
			t.Errorf("newest backup: got %s after %s", files[len(files)-1], last)
		}
		last = files[len(files)-1]
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("got %d files, %v", len(files), err)
	}
}

// A clock that was ahead leaves backups whose names sort last.
func TestBackupsDatedInTheFutureDoNotReplaceTodays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inst := newInstance(t, setup{jobs: func(o *Options) {
		o.Plan.Backup = Backup{Cron: "30 3 * * *", Dir: dir, Keep: 2, Write: o.Service.CopyInto}
	}})
	for _, year := range []string{"2901", "2902"} {
		if err := os.WriteFile(filepath.Join(dir, "taskyard-"+year+"0101T000000.000.tar.zst"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for made := 1; made <= 2; made++ {
		tick := time.NewTimer(2 * time.Millisecond) // names have millisecond precision
		<-tick.C
		if err := inst.jobs.backup(t.Context()); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "taskyard-20*"))
		if err != nil || len(files) != made {
			t.Errorf("%d backups of today: got %d files, %v", made, len(files), err)
		}
	}
}

// People put their own backups into the folder, whose path may contain characters
// that are special in patterns.
func TestOnlyScheduledBackupsAreCountedAndRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data[1]", "backups")
	inst := newInstance(t, setup{jobs: func(o *Options) {
		o.Plan.Backup = Backup{Cron: "30 3 * * *", Dir: dir, Keep: 2, Write: o.Service.CopyInto}
	}})
	own := []string{"taskyard-2026-01-02.tar.zst", "taskyard-before-1.tar.zst", "taskyard-before-2.tar.zst"}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range own {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		tick := time.NewTimer(2 * time.Millisecond) // names have millisecond precision
		<-tick.C
		if err := inst.jobs.backup(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(own)+2 {
		t.Errorf("got files %v, %v", files, err)
	}
	for _, name := range own {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if at, size := inst.jobs.plan.Load().Backup.newest(); at == 0 || size == 0 {
		t.Errorf("newest backup: got %v, %d bytes", at, size)
	}
}

func TestTheProgramAfterABackupGetsItsPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	backups := filepath.Join(dir, "backups")
	log := &testkit.Buffer{}
	run := func(after ...string) error {
		t.Helper()
		inst := newInstance(t, setup{jobs: func(o *Options) {
			o.Plan.Backup = Backup{Dir: backups, Keep: 9, Write: o.Service.CopyInto, After: after, Limit: time.Second}
			o.Log = slog.New(slog.NewTextHandler(log, nil))
		}})
		return inst.jobs.backup(t.Context())
	}
	if err := run("/bin/sh", "-c", `echo copied; cp "$1" "`+dir+`/copy"; echo "$HOME" > "`+dir+`/home"`, "sh"); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(backups, "*.tar.zst"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v", files, err)
	}
	want, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "copy")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the program copied %d bytes, want %d, %v", len(got), len(want), err)
	}
	if home, err := os.ReadFile(filepath.Join(dir, "home")); err != nil || strings.TrimSpace(string(home)) != os.Getenv("HOME") {
		t.Errorf("got HOME %q, %v", home, err)
	}
	if !strings.Contains(log.String(), "output=copied") {
		t.Errorf("the log has no output of the program: %s", log.String())
	}
	if err := run("/bin/sh", "-c", "test -s {file}"); err != nil {
		t.Errorf("with {file}: %v", err)
	}
	for _, after := range [][]string{{"/bin/sh", "-c", "exit 3"}, {"/bin/sh", "-c", "sleep 30"}, {"no-such-program-at-all"}} {
		if err := run(after...); err == nil || !strings.Contains(err.Error(), "backup.after") {
			t.Errorf("%v: %v", after, err)
		}
	}
	if now, err := filepath.Glob(filepath.Join(backups, "*.tar.zst")); err != nil || len(now) != 5 {
		t.Errorf("a failed program removed its backup: got %d", len(now))
	}
}

func TestTheSearchIndexFollowsChanges(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{})
	tk, err := inst.svc.CreateTask(t.Context(), maya, task.New{Title: "Polish the zephyr", Owner: "coder", Status: task.Draft})
	if err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyWithin(inst.t, patience, "the search finds the task", func() bool {
		p, err := inst.svc.OpenTasks(context.Background(), maya, task.TaskFilter{Query: "zephyr", Limit: 10})
		return err == nil && len(p.Tasks) == 1 && p.Tasks[0].ID == tk.ID
	})
}
