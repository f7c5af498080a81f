package handlers

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

func TestDecisionsOnRuns(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	waiting := func(title string) (task.ID, string) {
		tk := inst.newTask(asAgent("planner"), task.New{Owner: "coder", Title: title})
		r, err := inst.svc.RunNow(context.Background(), asAgent("planner"), tk.ID)
		inst.ok(err)
		return r.ID, r.Approval.Version
	}
	one, version := waiting("First of them")
	two, _ := waiting("Second of them")
	at := "/runs/" + one.String()

	t.Run("the first waiting run is shown in full", func(t *testing.T) {
		b.get("/approvals").is(200).shows("2 waiting", "First of them", "Second of them", "Do what the task says.",
			"asks to run", `hx-get="/approvals/1"`).hides(`hx-get="/approvals"`)
		b.get("/approvals/2").is(200).shows("Second of them", "This run could do more than it asks for.", "not enforced",
			"the program is told, but nothing enforces it", "its whole process tree is ended").hides("It may not execute shell commands")
		b.get("/api/runs/2").is(200).shows(`"enforcement":[{"what":"read","asked":"allowed","enforced":"not_asked"}`,
			`{"what":"bash","asked":"not allowed","enforced":"not_enforced","how":"the program is told, but nothing enforces it"}`)
		b.get("/queues").shows(`(2) Queues`, "Approve run")
	})
	t.Run("a denial needs a reason", func(t *testing.T) {
		b.post(at+"/deny", "reason", "  ").is(422).shows("is required")
	})
	t.Run("limits can only be tightened, and the input is kept", func(t *testing.T) {
		b.post(at+"/approve", "version", version, "timeoutSeconds", "999999").is(422).shows("May only be tightened", `value="999999"`)
		b.post(at+"/approve", "version", version, "maxTokens", "many", "scope",
			"task").is(422).shows("Must be a whole number", `value="task" form="approve" checked`)
	})
	t.Run("a version that was not reviewed is not approved", func(t *testing.T) {
		b.post(at+"/approve", "version", strings.Repeat("0", 64)).is(409).shows("has changed since you reviewed it")
	})
	t.Run("an approval with limits starts the run, once per form", func(t *testing.T) {
		for range 2 {
			b.post(at+"/approve", "version", version, "timeoutSeconds", "60", "_key",
				"A1").redirectsTo("/approvals/2").shows("Run 1 approved.", "1 waiting", "Second of them", "/approvals/undo")
		}
		b.get("/approvals/1").shows("Approved by maya", "it is queued")
		inst.Forward(task.UndoWindow)
		inst.settleDecisions()
		b.get("/approvals/1").shows("Approved by maya").hides("Run 1 approved.", "/approvals/undo")
		b.get(at).shows("of 1m")
	})
	t.Run("a decision is made only once", func(t *testing.T) {
		b.post(at+"/approve", "version", version).is(409).shows("Your approval was too late", "maya approved this run")
		b.post(at+"/deny", "reason", "too late").is(409).shows("Your rejection was too late", "maya approved this run")
	})
	t.Run("a denial is added to the thread", func(t *testing.T) {
		b.post("/runs/"+two.String()+"/deny", "reason", "Not this way").redirectsTo("/approvals").shows("Run 2 rejected.", "No approvals waiting")
		inst.Forward(task.UndoWindow)
		inst.settleDecisions()
		b.get("/tasks/2").shows("Run 2 was denied: Not this way")
		b.get("/approvals/2").shows("Denied by maya", "Not this way")
	})
}

func TestRunsAndTheirTranscripts(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	tk := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "The work"})
	failed := inst.makeRun(tk.ID, service.Finished{
		State:  task.State{Status: task.RunFailed, Phase: task.PhaseError},
		Reason: "exit code 2", Permanent: true,
	}, "mark")
	at := "/runs/" + failed.String()

	t.Run("a run shows its outcome and transcript", func(t *testing.T) {
		b.get(at).is(200).shows("exit code 2", "I read the settings first.", "Raw log", "Retry")
		b.get("/runs").shows("The work", "exit code 2")
		b.get("/runs?status=completed").shows("No results")
	})
	t.Run("the stream returns only items, after a line", func(t *testing.T) {
		all := b.get(at + "/transcript?after=0").is(200).hides("<html")
		if n := strings.Count(all.body, `<li id="m`); n != 8 {
			t.Errorf("got %d items, want 8: a call and its result are one", n)
		}
		first, _, _ := strings.Cut(all.body[strings.Index(all.body, `id="m`)+5:], `"`)
		if n := strings.Count(b.get(at+"/transcript?after="+first).body, `<li id="m`); n != 7 {
			t.Errorf("got %d items after the first, want 7", n)
		}
		b.get(at + "/transcript?after=x").is(422)
	})
	t.Run("the whole transcript is plain text", func(t *testing.T) {
		a := b.get(at+"/transcript").is(200).shows("I read the settings first. mark\n", "stderr: warning")
		if ct := a.header.Get("Content-Type"); ct != "text/plain; charset=utf-8" {
			t.Errorf("got Content-Type %q", ct)
		}
	})
	t.Run("a long transcript is read in parts to its end", func(t *testing.T) {
		r, err := inst.svc.RunNow(t.Context(), mayaActor, tk.ID)
		inst.ok(err)
		st, _, err := inst.svc.NextRun(t.Context(), nil)
		inst.ok(err)
		var said []task.Message
		for i := range transcriptLines + 20 {
			said = append(said, task.Message{Role: task.SpeakerAssistant, Type: "text", Content: "line " + task.ID(i).String() + "."})
		}
		inst.ok(inst.svc.AppendTranscript(t.Context(), r.ID, st.Run.Lease, said))
		long := "/runs/" + r.ID.String()
		b.get(long).shows("line 519.", "Show earlier lines").hides("line 100.")
		b.get(long+"/transcript").shows("line 0.", "line 519.")
		b.post(long + "/cancel").redirectsTo(long).shows("was stopped")
	})
	t.Run("a retry is a separate run that names the previous one", func(t *testing.T) {
		b.post(at+"/retry").redirectsTo("/runs/3").shows("tries it again", "a retry of")
		b.get(at).shows("retried as").hides(at + "/retry")
		b.post(at+"/retry").is(409).shows("is in flight", `href="`+at+`"`)
	})
}

func TestHistoryIsSearched(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	b.get("/history").shows("No closed tasks yet")
	inst.sample("")
	b.get("/history").is(200).shows("Today", "Ship the first version", "A plan nobody needs")
	b.get("/history?q=first+vers").shows("Ship the <mark>first</mark> <mark>version</mark>").hides("A plan nobody needs")
	b.get("/history?q=wanted&status=canceled").shows("A plan nobody needs").hides("Ship the first version")
	b.get("/history?agent=planner").hides("Ship the first version")
	b.get("/history?q=nothinglikeit").shows("No results")
	today := inst.Now().Format(time.DateOnly)
	b.get("/history?from="+today+"&to="+today).shows("Ship the first version", "from "+today)
	b.get("/history?to=2001-01-01").shows("No results")
}

func TestAgentDefinitionsOnPages(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	const good = "---\ndescription: tests things\ntools: read\n---\nTest.\n"

	t.Run("problems are shown with line and reason", func(t *testing.T) {
		b.get("/agents").is(200).shows("coder", "Valid", "Invalid", filepath.Dir(inst.dir))
		inst.ok(os.WriteFile(filepath.Join(inst.dir, "My Agent.md"), []byte(good), 0o600))
		b.post("/agents/reload")
		b.get("/agents").shows("My Agent.md", "cannot name an agent")
		b.get("/agents/bad").shows("This definition can't run", "tools")
		b.get("/agents/pull").shows("Pull only")
	})
	t.Run("an invalid text is refused with all problems and kept", func(t *testing.T) {
		b.post("/agents", "id", "tester", "text", "---\r\nname: x\r\n---\r\nkept words\r\n").is(422).
			shows("is not valid and was not saved", "description", "tools", "kept words", `value="tester"`, `name="force"`)
		b.post("/agents", "id", "No Good", "text", good).is(422).shows("must be 1 to 63 of")
		b.get("/agents/tester").is(404)
	})
	t.Run("a valid text is saved as typed", func(t *testing.T) {
		b.post("/agents", "id", "tester", "text",
			strings.ReplaceAll(good, "\n", "\r\n")).redirectsTo("/agents/tester").shows("Saved tester", "tests things")
		text, err := os.ReadFile(filepath.Join(inst.dir, "tester.md"))
		inst.ok(err)
		if string(text) != good {
			t.Errorf("got file %q, want %q", text, good)
		}
		b.post("/agents", "id", "tester", "text", good+"over").is(409).shows("There is already an agent tester")
	})
	t.Run("a concurrent change is not silently overwritten", func(t *testing.T) {
		hash := b.get("/agents/tester/edit").is(200).field("/agents/tester", "hash")
		for range 2 { // submitting the same form twice
			b.post("/agents/tester", "hash", hash, "text", good+"More.\n").redirectsTo("/agents/tester").shows("More.")
		}
		stale := b.post("/agents/tester", "hash", hash, "text", good+"Mine.\n").is(409).shows("changed this file while you edited it",
			"The file as it is now", "More.", "Mine.")
		b.post("/agents/tester", "hash", stale.field("/agents/tester", "hash"), "text", good+"Mine.\n").
			redirectsTo("/agents/tester").shows("Mine.")
	})
	t.Run("an invalid text is saved on request", func(t *testing.T) {
		hash := b.get("/agents/tester/edit").field("/agents/tester", "hash")
		b.post("/agents/tester", "hash", hash, "text", "broken", "force", "1").
			redirectsTo("/agents/tester").shows("the last valid version is in use")
		b.get("/agents/tester/edit").shows("broken")
	})
	t.Run("an agent with open tasks is not deleted", func(t *testing.T) {
		tk := inst.newTask(mayaActor, task.New{Owner: "tester"})
		b.post("/agents/tester/delete").is(409).shows("owns 1 open tasks")
		b.post("/tasks/" + tk.ID.String() + "/complete").is(303)
		b.post("/agents/tester/delete").redirectsTo("/agents").shows("Deleted tester")
		b.get("/agents/tester").is(404)
	})
	t.Run("files written by hand are reloaded", func(t *testing.T) {
		inst.ok(os.WriteFile(filepath.Join(inst.dir, "byhand.md"), []byte(good), 0o600))
		b.post("/agents/reload").redirectsTo("/agents").shows("byhand")
	})
}

func TestTheScheduler(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	inst.sample("")
	b.get("/scheduler").shows("Last backup").hides("3.2 MiB")
	inst.sched.vitals = task.SchedulerHealth{BackupAt: inst.svc.Now().Add(-time.Hour), BackupSize: 3_400_000}
	b.get("/scheduler").shows("Last backup", "3.2 MiB", "1h ago")
	b.get("/scheduler").is(200).shows("hourly from 6:00 to 21:00", "Add a dark mode", "pull-only",
		"question open", "its runs failed or were denied", "context deadline exceeded")
	b.post("/scheduler/tick").redirectsTo("/scheduler").shows("Tick: ", "by maya")
	b.post("/scheduler/jobs/backup/run").redirectsTo("/scheduler").shows("Job backup runs now")
	b.post("/scheduler/jobs/other/run").is(404).shows("No job has the name other", `href="/scheduler"`)
	if len(inst.sched.ran) != 1 || inst.sched.ran[0] != "backup" {
		t.Errorf("got jobs %v", inst.sched.ran)
	}
	inst.sched.next = 0
	b.get("/scheduler").shows("The scheduler is disabled")
}

func TestTheBoard(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	for range 130 {
		inst.newTask(mayaActor, task.New{Owner: "coder", Title: "One of many"})
	}
	tk := inst.newTask(mayaActor, task.New{Owner: "planner", Title: "A question of mine"})
	_, err := inst.svc.Ask(context.Background(), asAgent("planner"), tk.ID, "What now?", false)
	inst.ok(err)

	t.Run("a column shows 25 cards and counts the rest", func(t *testing.T) {
		a := b.get("/queues").is(200).shows("105 more in Idle", "Needs you 1", "Queue is empty")
		if n := strings.Count(a.body, "One of many</a>"); n != 25 {
			t.Errorf("got %d cards, want 25", n)
		}
	})
	t.Run("a filter applies to columns", func(t *testing.T) {
		b.get("/queues?status=waiting").shows("A question of mine").hides("One of many", "Queue is empty")
		b.get("/queues?agent=planner").hides("One of many")
		b.get("/queues?q=question").shows("A question of mine").hides("One of many")
		b.get("/queues?status=failed").shows("No results")
	})
	t.Run("the list's address in earlier versions shows the list of tasks", func(t *testing.T) {
		b.get("/queues?view=list&status=waiting").redirectsTo("/tasks?status=waiting").shows("A question of mine").hides("One of many")
	})
	t.Run("tasks are paged", func(t *testing.T) {
		a := b.get("/tasks?agent=coder").is(200)
		hrefs, _ := a.links()
		next := ""
		for _, h := range hrefs {
			if strings.Contains(h, "after=") {
				next = h
			}
		}
		if !strings.Contains(next, "agent=coder") {
			t.Fatalf("got next page %q", next)
		}
		if n := strings.Count(b.get(next).is(200).hides(`rel="next"`).body, "One of many"); n != 30 {
			t.Errorf("second page: got %d tasks, want 30", n)
		}
	})
	t.Run("an owner without a definition still has a column", func(t *testing.T) {
		inst.ok(os.Remove(filepath.Join(inst.dir, "planner.md")))
		b.post("/agents/reload").is(303)
		b.get("/queues").shows("A question of mine")
		b.get("/tasks/" + tk.ID.String()).is(200)
	})
}
