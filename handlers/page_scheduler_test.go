package handlers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

func TestTheSchedulerShowsTheNextTicks(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	b.cookie("zone", "Europe/Berlin")
	b.get("/scheduler").is(200).shows("Next ticks", " in CET", ">11:00</time>",
		">15:00</time>", "hourly from 6:00 to 21:00").hides(">16:00</time>")
}

func TestTheSchedulerShowsWhatWaitsAndWhy(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b, ctx := inst.maya(), context.Background()
	var ids []task.ID
	for _, title := range []string{"First <b>of</b> all", "Second to it", "Third in line"} {
		tk := inst.newTask(mayaActor, task.New{Owner: "coder", Title: title, NoStart: true})
		_, err := inst.svc.RunNow(ctx, mayaActor, tk.ID)
		inst.ok(err)
		ids = append(ids, tk.ID)
	}
	row := func(p *webPage, id string) string {
		t.Helper()
		_, rest, found := strings.Cut(p.body, `id="`+id+`"`)
		if !found {
			t.Fatalf("%s: there is no row %s", p.url, id)
		}
		rest, _, _ = strings.Cut(rest, "</li>")
		return rest
	}
	has := func(text, want string) {
		t.Helper()
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}

	t.Run("the first run is next, and those behind it are counted", func(t *testing.T) {
		p := b.get("/scheduler").hides("<b>of</b>")
		has(row(p, "run-1"), "next to start")
		has(row(p, "run-2"), "1 of coder before it")
		has(row(p, "run-3"), "2 of coder before it")
		has(row(p, "run-1"), "coder, by hand")
	})
	start, _, err := inst.svc.NextRun(ctx, nil)
	inst.ok(err)
	inst.ok(inst.svc.RunWorking(ctx, start.Run.ID, start.Run.Lease, 4711, "1", "boot"))
	t.Run("a running run shows its process and the age of its heartbeat", func(t *testing.T) {
		inst.Forward(45 * time.Second)
		p := b.get("/scheduler")
		has(row(p, "fly-1"), "coder, process 4711")
		has(row(p, "fly-1"), "45s ago")
		has(row(p, "fly-1"), `class="text-warn"`)
		has(row(p, "run-2"), "coder runs 1 at a time")
	})
	t.Run("a claim of a run cannot be released here", func(t *testing.T) {
		held := row(b.get("/scheduler"), "held-"+ids[0].String())
		has(held, "run 1")
		if strings.Contains(held, "Release") {
			t.Error("the page offers to release the claim of a run")
		}
	})
	t.Run("another claim can be released, with an undo", func(t *testing.T) {
		tk := inst.newTask(mayaActor, task.New{Owner: "pull", Title: "Claimed by hand"})
		_, err := inst.svc.Signup(ctx, asAgent("pull"), "pull", 1)
		inst.ok(err)
		has(row(b.get("/scheduler"), "held-"+tk.ID.String()), "/tasks/"+tk.ID.String()+"/release")
		b.post("/tasks/"+tk.ID.String()+"/release", "back",
			"/scheduler").redirectsTo("/scheduler").shows("Released the claim").hides("held-" + tk.ID.String())
	})
	t.Run("during a pause it is the reason for all tasks", func(t *testing.T) {
		b.post("/agents/coder/pause", "reason", "no").is(303)
		has(row(b.get("/scheduler"), "run-2"), "coder is paused by maya")
		b.post("/scheduler/pause", "reason", "no").is(303)
		has(row(b.get("/scheduler"), "run-2"), "the server is paused by maya")
	})
	t.Run("a viewer can read the page", func(t *testing.T) {
		inst.person("vera", task.RoleViewer).get("/scheduler").is(200).shows("Second to it").hides("/release",
			`action="/scheduler/tick"`, "Run now")
	})
}

// This server has no file of a backup that another one made, and has run no job since
// the other one leads.
func TestTheSchedulerShowsWhatAnotherServerDid(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b, ctx := inst.maya(), context.Background()
	inst.sched.failed = inst.svc.Now()
	b.get("/scheduler").shows("no space left", "not yet")
	inst.Forward(time.Hour)
	_, err := inst.svc.Tick(ctx, "cron")
	inst.ok(err)
	inst.ok(inst.svc.NoteJob(ctx, task.JobBackup, time.Second, nil))
	inst.Forward(5 * time.Minute)
	p := b.get("/scheduler").hides("no space left", "not yet")
	_, backup, _ := strings.Cut(p.body, "Last backup")
	if backup, _, _ = strings.Cut(backup, "</time>"); !strings.Contains(backup, "5m ago") {
		t.Errorf("the last backup is shown as %s", backup)
	}
	inst.ok(inst.svc.NoteJob(ctx, task.JobBackup, time.Second, errors.New("the disk is full")))
	b.get("/scheduler").shows("the disk is full")
}

func TestTheRunPageNamesWhatStartedTheRun(t *testing.T) {
	t.Parallel()
	inst := newSite(t, func(o setup) { o.Config.Wakes = true })
	b := inst.maya()
	tk := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Look", NoStart: true})
	_, err := inst.svc.Comment(context.Background(), mayaActor, tk.ID, "Now.")
	inst.ok(err)
	b.get("/runs/1").is(200).shows("by a wake (comment by maya), asked by")
}

func TestTheSchedulerShowsWakes(t *testing.T) {
	t.Parallel()
	inst := newSite(t, func(o setup) { o.Config.Wakes, o.Config.WakeBudget = true, 2 })
	b, ctx := inst.maya(), context.Background()
	b.get("/scheduler").shows("at most 2 times per task, per hour")
	tk := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Woken again and again"})
	for range 3 {
		if start, _, err := inst.svc.NextRun(ctx, nil); err != nil {
			t.Fatal(err)
		} else if start != nil {
			inst.ok(inst.svc.RunWorking(ctx, start.Run.ID, start.Run.Lease, 4711, "1", "boot"))
			inst.ok(inst.svc.FinishRun(ctx, start.Run.ID, start.Run.Lease,
				service.Finished{State: task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}}))
		}
		_, err := inst.svc.Comment(ctx, mayaActor, tk.ID, "Continue")
		inst.ok(err)
	}
	b.get("/scheduler").shows("Woken again and again", "2 of 2", "Used up: only ticks and people can start runs now")
	inst.Forward(61 * time.Minute)
	b.get("/scheduler").shows("None. Answers").hides("2 of 2")
}
