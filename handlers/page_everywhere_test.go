package handlers

import (
	"testing"

	"taskyard/task"
)

func TestTheTourOfTheDemo(t *testing.T) {
	t.Parallel()
	y := newPageSite(t)
	b := y.maya()
	t.Run("no other instance has it", func(t *testing.T) {
		b.get("/").is(200).hides("Welcome to the demo")
	})
	y.server.opt.Demo = true
	t.Run("it is shown until a person puts it away, for them alone", func(t *testing.T) {
		b.get("/").is(200).shows("Welcome to the demo", "Write the backup guide")
		b.post("/tour").is(303)
		b.get("/").is(200).hides("Welcome to the demo")
		y.person("vera", task.RoleViewer).get("/").is(200).shows("Welcome to the demo")
	})
}

func TestThePreferencesOfAPerson(t *testing.T) {
	t.Parallel()
	y := newPageSite(t)
	b := y.maya()
	b.post("/settings/keys", "keys", "off").is(303)
	b.get("/").shows(`data-keys="off"`)
	b.post("/settings/keys", "keys", "sometimes").is(422)
	b.get("/").shows(`data-keys="off"`)
	b.post("/settings/keys", "keys", "").is(303)
	b.get("/").shows(`data-keys="on"`)
}

func TestTheSearch(t *testing.T) {
	t.Parallel()
	y := newPageSite(t)
	b := y.maya()
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
	t.Run("places that one may not see are not offered", func(t *testing.T) {
		y.person("vera", task.RoleViewer).get("/search").is(200).hides("Tokens", "Styleguide")
	})
}
