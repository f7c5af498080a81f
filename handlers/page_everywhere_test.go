package handlers

import (
	"testing"

	"taskyard/task"
)

func TestTheTourOfTheDemo(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	t.Run("other instances do not have it", func(t *testing.T) {
		b.get("/").is(200).hides("Welcome to the demo")
	})
	inst.srv.opt.Demo = true
	t.Run("it is shown until a person dismisses it, for each person", func(t *testing.T) {
		b.get("/").is(200).shows("Welcome to the demo", "Write the backup guide")
		b.post("/tour").is(303)
		b.get("/").is(200).hides("Welcome to the demo")
		inst.person("vera", task.RoleViewer).get("/").is(200).shows("Welcome to the demo")
	})
}

func TestThePreferencesOfAPerson(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	b.post("/settings/keys", "keys", "off").is(303)
	b.get("/").shows(`data-keys="off"`)
	b.post("/settings/keys", "keys", "sometimes").is(422)
	b.get("/").shows(`data-keys="off"`)
	b.post("/settings/keys", "keys", "").is(303)
	b.get("/").shows(`data-keys="on"`)
}

func TestSearchPage(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	for path, text := range map[string]string{
		"/search":                      "Pages",
		"/search?q=1":                  "Nothing found",
		"/search?q=%23999999999999999": "Nothing found",
		"/search?q=plann":              "planner",
		"/search?q=%FF%00":             "Search",
		"/search?q=sched":              "Scheduler",
		"/search?q=%22*%28%29OR":       "Search",
	} {
		b.get(path).is(200).shows(text)
	}
	t.Run("pages that a person may not see are not offered", func(t *testing.T) {
		inst.person("vera", task.RoleViewer).get("/search").is(200).hides("Invite a person", "Styleguide")
	})
}

func TestANewInstanceSaysWhatToDoFirst(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	b.get("/").is(200).shows("First steps", "Connect an agent", "Create a task", "Decide an approval").hides(">Done<", "Welcome to the demo")
	inst.person("vera", task.RoleViewer).get("/").is(200).hides("First steps")
	other := inst.person("paul", task.RoleOperator)
	tk := inst.newTask(mayaActor, task.New{Owner: "reviewer", Title: "First of all", NoStart: true})
	b.get("/").shows("First steps", ">Done<")
	r, err := inst.svc.RunNow(t.Context(), mayaActor, tk.ID)
	inst.ok(err)
	b.get("/").shows("First steps", "waits for you now")
	b.post("/tour").is(303)
	b.get("/").is(200).hides("First steps")
	other.get("/").shows("First steps")
	inst.ok2(inst.svc.DenyRun(t.Context(), mayaActor, r.ID, "not now", 0))
	other.get("/").shows("First steps")
	inst.newTask(asAgent("pull"), task.New{Owner: "pull", Title: "Its own", NoStart: true})
	inst.ok2(inst.svc.Signup(t.Context(), asAgent("pull"), "pull", 1))
	other.get("/").is(200).hides("First steps")
}
