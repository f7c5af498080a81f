package handlers

import (
	"testing"

	"taskyard/task"
)

func TestBlockersOnTheTaskPage(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	for _, title := range []string{"Design", "Review", "Build"} {
		inst.newTask(mayaActor, task.New{Title: title, Owner: "coder", NoStart: true})
	}
	at := "/tasks/3"
	set := func(was, ids string) *webPage { return b.post(at+"/blocked-by", "was", was, "taskIds", ids) }
	t.Run("blockers are set by number and shown on both tasks", func(t *testing.T) {
		b.get(at).is(200).shows("Run now").hides("Blocked by", "Blocks")
		set("", "#2, 1").redirectsTo(at).shows("Edit blockers", "Blocked by", "#1 Design", "#2 Review",
			`It is blocked by <a class="semibold" href="/tasks/1">#1</a>, which must be done first.`, `value="1 2"`).hides("Run now")
		b.get("/tasks/1").shows("Blocks", "#3 Build")
	})
	t.Run("an error keeps the typed text", func(t *testing.T) {
		set("1 2", "1 x").is(422).shows("Must be numbers of tasks", `value="1 x"`, `id="taskIds-err"`)
		set("1 2", "1 99").is(422).shows("no task has the id 99", `value="1 99"`)
		set("1 2", "3").is(409).shows("3 → 3")
	})
	t.Run("a changed set is not overwritten, but the same change twice succeeds", func(t *testing.T) {
		set("", "1").is(409).shows("has changed since", "#2 Review")
		set("", "1 2").redirectsTo(at)
	})
	t.Run("the board and the lists show blockers", func(t *testing.T) {
		b.get("/queues").shows("Blocked by 2")
		b.post("/tasks/1/complete").redirectsTo("/tasks/1")
		b.get("/tasks").shows("Blocked by 1")
	})
	t.Run("a person removes a canceled blocker", func(t *testing.T) {
		b.post("/tasks/2/cancel").redirectsTo("/tasks/2")
		b.get(at).shows("Waiting for you", "Its blocker <a", "was canceled. Remove the blocker, or cancel this task.", "Remove blocker")
		b.get("/queues?status=waiting").shows("Blocker canceled")
		set("1 2", "1").redirectsTo(at).shows("Edit blockers").hides("Remove blocker")
		set("1", "").redirectsTo(at).shows("Nothing blocks it now", "set blockers: nothing").hides("Blocked by")
	})
	t.Run("a new task may be blocked from the start", func(t *testing.T) {
		b.post("/tasks", "title", "After", "owner", "coder", "blockedBy", "x").is(422).shows("Must be numbers of tasks", `value="x"`)
		b.post("/tasks", "title", "After", "owner", "coder", "blockedBy", "99").is(422).shows("no task has the id 99")
		b.post("/tasks", "title", "After", "owner", "coder", "blockedBy", "3").redirectsTo("/tasks/4").shows("#3 Build", "Blocked")
	})
}

func TestLabelsOnThePages(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	b.post("/tasks", "title", "One", "owner", "coder", "labels", "Nope").is(422).shows("Label 1 must be 1 to 32 characters", `value="Nope"`)
	b.post("/tasks", "title", "One", "owner", "coder", "labels",
		"ui, api").redirectsTo("/tasks/1").shows(`href="/tasks?label=api"`, `href="/tasks?label=ui"`)
	inst.newTask(mayaActor, task.New{Title: "Two", Owner: "coder"})
	t.Run("lists are filtered, and the chip removes the filter", func(t *testing.T) {
		for _, path := range []string{"/tasks", "/queues"} {
			b.get(path).shows("One", "Two", `pill tag">api`)
		}
		b.get("/tasks?label=api&agent=coder").shows("One", "Label api", `href="/tasks?agent=coder"`, `name="label" value="api"`).hides(">Two<")
		b.get("/queues?label=api").shows("One").hides(">Two<")
		b.get("/queues?label=none").shows("No results")
		b.get("/tasks?label=A+b").is(422)
	})
	t.Run("labels are edited with the task, and a form without the field keeps them", func(t *testing.T) {
		at := "/tasks/1"
		b.get(at + "/edit").shows(`value="api ui"`)
		edit := []string{"title", "One", "description", "", "owner", "coder", "priority", "0"}
		b.post(at+"/edit", edit...).redirectsTo(at).shows("label=api")
		b.post(at+"/edit", append(edit, "labels", "db")...).redirectsTo(at).shows("label=db", "labels api ui → db").hides("label=api")
		b.post(at+"/edit", append(edit, "labels", "é")...).is(422).shows("Label 1 must be", `value="é"`)
		b.post(at+"/edit", append(edit, "labels", "")...).redirectsTo(at).hides("label=db")
	})
}

func TestRunNowIsOfferedOnlyIfAllowed(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	inst.newTask(mayaActor, task.New{Title: "Build", Owner: "coder", NoStart: true})
	inst.newTask(mayaActor, task.New{Title: "Pick", Owner: "pull", NoStart: true})
	b.get("/tasks/1").is(200).shows("Run now")
	t.Run("not for a pull-only agent", func(t *testing.T) {
		b.get("/tasks/2").is(200).hides("Run now")
		b.post("/tasks/2/run").is(409)
	})
	t.Run("not while the agent is paused", func(t *testing.T) {
		_, err := inst.svc.Pause(t.Context(), mayaActor, "coder", "Wrong branch")
		inst.ok(err)
		b.get("/tasks/1").is(200).hides("Run now")
		b.post("/tasks/1/run").is(409)
	})
	t.Run("again after the pause", func(t *testing.T) {
		_, err := inst.svc.Resume(t.Context(), mayaActor, "coder", "")
		inst.ok(err)
		b.get("/tasks/1").shows("Run now")
	})
}
