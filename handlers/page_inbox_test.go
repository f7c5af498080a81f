package handlers

import (
	"context"
	"strings"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

func TestTheInboxPage(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	b.get("/").is(200).shows("<title>Inbox", "Inbox is empty", "No open tasks")
	tk := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Choose a color", NoStart: true})
	_, err := inst.svc.Ask(context.Background(), asAgent("coder"), tk.ID, "Blue or **green**?", false)
	inst.ok(err)
	written := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Write it down", NoStart: true})
	notice, err := inst.svc.Notify(context.Background(), asAgent("coder"), written.ID, "Half of it is done.")
	inst.ok(err)
	r, err := inst.svc.RunNow(context.Background(), mayaActor, inst.newTask(mayaActor, task.New{Owner: "reviewer", Title: "Delete it all"}).ID)
	inst.ok(err)

	t.Run("lists waiting entries and counts them in the title", func(t *testing.T) {
		b.get("/").shows("<title>(3) Inbox", "Choose a color", "<strong>green</strong>",
			"Half of it is done.", "/approvals/"+r.ID.String(), `hx-get="/"`)
		b.get("/queues").shows("<title>(3) Queues")
	})
	t.Run("a question is answered in place", func(t *testing.T) {
		a := b.get("/")
		b.post("/tasks/"+tk.ID.String()+"/reply", "content", "Blue.", "back",
			a.field("/tasks/"+tk.ID.String()+"/reply", "back")).redirectsTo("/").hides("Choose a color").shows("Answered")
		got, err := inst.svc.Task(context.Background(), mayaActor, tk.ID)
		inst.ok(err)
		if got.QuestionID != 0 || got.Comments[1].Content != "Blue." {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("an answer to an already answered question does not answer the next one", func(t *testing.T) {
		ctx, at := context.Background(), "/tasks/"+tk.ID.String()
		ask := func(text string) {
			_, err := inst.svc.Ask(ctx, asAgent("coder"), tk.ID, text, false)
			inst.ok(err)
		}
		ask("Delete the copy?")
		inbox, page := b.get("/").field(at+"/reply", "question"), b.get(at).field(at+"/reply", "question")
		_, err := inst.svc.Reply(ctx, mayaActor, tk.ID, "No.")
		inst.ok(err)
		ask("Delete the original?")
		for _, question := range []string{inbox, page} {
			b.post(at+"/reply", "content", "Yes, please.", "question", question).is(409).
				shows("maya has already answered", "another one is open now", "Yes, please.")
		}
		got, err := inst.svc.Task(ctx, mayaActor, tk.ID)
		inst.ok(err)
		if got.QuestionID == 0 || len(got.Comments) != 5 {
			t.Errorf("got %+v", got)
		}
		b.post(at+"/reply", "content", "No!", "question", b.get("/").field(at+"/reply", "question")).redirectsTo(at).shows("Answered")
	})
	t.Run("a notice is acknowledged", func(t *testing.T) {
		at := "/inbox/notices/" + notice.ID.String() + "/acknowledge"
		b.post(at, "back", "/").redirectsTo("/").hides("Half of it is done.").shows("(1) Inbox")
		b.post(at, "back", "/").is(303) // again: already acknowledged
		b.post("/inbox/notices/9999/acknowledge").is(404)
		b.post("/inbox/notices/x/acknowledge").is(404)
	})
	t.Run("a viewer can only read", func(t *testing.T) {
		more := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "One more", NoStart: true})
		_, err := inst.svc.Ask(context.Background(), asAgent("coder"), more.ID, "Really?", false)
		inst.ok(err)
		inst.person("vera", task.RoleViewer).get("/").is(200).shows("Really?").hides("Answer &amp; resume")
	})
}

func TestStuckTasksAreRetriedTogether(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	var stuck []task.ID
	for _, title := range []string{"Migrate the database", "Deploy the site"} {
		id := inst.newTask(mayaActor, task.New{Owner: "coder", Title: title, NoStart: true}).ID
		inst.makeRun(id, service.Finished{
			State: task.State{Status: task.RunFailed, Phase: task.PhaseError}, Reason: "exit code 1", Permanent: true,
		}, "")
		stuck = append(stuck, id)
		if retries := strings.Contains(b.get("/").shows(title).body, "Retry all"); retries != (len(stuck) > 1) {
			t.Errorf("%d stuck tasks: got Retry all %t", len(stuck), retries)
		}
	}
	inst.person("vera", task.RoleViewer).get("/").shows("Deploy the site").hides("Retry all")
	ids := b.get("/").shows("Retry all 2").field("/tasks/bulk", "ids")
	b.post("/tasks/bulk", "act", "run", "ids", ids, "back", "/").redirectsTo("/").
		shows("Queued runs of 2 tasks").hides("Migrate the database", "Retry")
	for _, id := range stuck {
		tk, err := inst.svc.Task(context.Background(), mayaActor, id)
		inst.ok(err)
		if tk.OpenRunID == 0 || tk.Failures != 0 {
			t.Errorf("task %d: got open run %d and %d failures", id, tk.OpenRunID, tk.Failures)
		}
	}
}

func TestPausePages(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	viewer := inst.person("vera", task.RoleViewer)
	tk := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Paused work"})
	b.get("/scheduler").shows("/scheduler/pause", "/scheduler/stop-everything").hides("is paused")

	t.Run("an agent is paused with a reason, and its page and queue say so", func(t *testing.T) {
		b.get("/agents/coder").shows("/agents/coder/pause")
		b.get("/agents/coder/pause").is(200).shows("Pause coder")
		b.post("/agents/coder/pause", "reason", " \r\n ").is(422).shows("Must not be blank")
		b.post("/agents/deleted/pause", "reason", "Typed.").is(422).shows("nknown agent: deleted", "Typed.")
		b.post("/agents/coder/pause", "reason", "It broke\r\nthe build.").redirectsTo("/agents/coder").shows("coder is paused",
			"the build.", "/agents/coder/resume").hides(`href="/agents/coder/pause"`)
		b.get("/queues").shows(">Paused<").hides("Taskyard is paused")
		b.get("/tasks/"+tk.ID.String()).shows("coder has been paused by", "since 09:00 UTC")
		b.post("/agents/coder/pause", "reason", "again").is(409).shows("has been paused by maya")
		viewer.get("/agents/coder").shows("coder is paused").hides("/agents/coder/resume")
	})
	t.Run("a manual run is refused on the task's page", func(t *testing.T) {
		b.post("/tasks/" + tk.ID.String() + "/run").is(409).shows("agent coder has been paused by maya")
	})
	t.Run("the scheduler lists it and resumes it", func(t *testing.T) {
		b.get("/scheduler").shows("Paused agents", "/agents/coder/resume")
		b.post("/agents/coder/resume", "back", "/scheduler").redirectsTo("/scheduler").shows("Resumed coder").hides("Paused agents")
		b.post("/agents/coder/resume").redirectsTo("/agents/coder").shows("coder is no longer paused")
	})
	t.Run("everything stops after a confirmation page that names the runs", func(t *testing.T) {
		inst.makeRun(tk.ID, service.Finished{}, "")
		b.get("/scheduler/stop-everything").is(200).shows("1 run will be stopped", "running for ", "Stop 1 run and pause", "Paused work")
		b.post("/scheduler/stop-everything", "reason", "").is(422).shows("Must not be blank")
		b.post("/scheduler/stop-everything", "reason", "A leak.").redirectsTo("/scheduler").shows("Stopped 1 run; Taskyard is paused",
			"Taskyard is paused", "A leak.", "No active runs")
		b.get("/tasks/new").shows("Taskyard is paused", "A leak.", "/scheduler/resume")
		b.get("/").shows("Taskyard is paused")
		viewer.get("/settings").shows("Taskyard is paused").hides("/scheduler/resume")
	})
	t.Run("a person can resume it from any page", func(t *testing.T) {
		b.post("/scheduler/resume", "back", "/tasks/new").redirectsTo("/tasks/new").shows("Resumed Taskyard").hides("Taskyard is paused")
	})
	t.Run("unknown agents are not found", func(t *testing.T) {
		b.get("/agents/nobody/pause").is(404)
		b.post("/agents/nobody/pause", "reason", "x").is(422)
	})
}
