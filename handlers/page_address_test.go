package handlers

import (
	"testing"

	"taskyard/task"
)

func TestAnInvalidAddressNamesTheErrorAndLinksOn(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	b.get("/history?from=bogus").is(422).shows("from must be a day such as", `href="/history"`, "Remove the filter")
	b.get("/tasks?sort=bogus").is(422).shows("sort must be id, title", `href="/tasks"`)
	b.get("/tasks/bulk?act=move&back=/tasks").is(422).shows("Select at least one task first", `href="/tasks"`).hides("id Select")
}

func TestABoardCountsWhatItShows(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	for _, owner := range []string{"coder", "coder", "planner"} {
		inst.newTask(mayaActor, task.New{Title: "Work of " + owner, Owner: owner})
	}
	b.get("/queues").shows("3 open, 8 agents", "Queues · Taskyard")
	b.get("/queues/coder").shows("2 open, 1 agent<", "coder · Queues · Taskyard")
	b.get("/queues?q=planner").shows("1 open, 1 agent<")
	b.get("/queues?q=nothing").shows("0 open, 0 agents")
}
