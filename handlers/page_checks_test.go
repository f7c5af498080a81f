package handlers

import (
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit/testgit"
	"taskyard/task"
)

func TestChecksOfATaskOnPages(t *testing.T) {
	t.Parallel()
	inst, b, _ := newReviewSite(t)
	inst.person("rita", task.RoleReviewer)
	at := "/tasks/1/checks"
	b.get("/tasks/1").shows(`href="/tasks/1/checks"`, "1 check, 1 vote")
	b.get("/tasks/1/review").shows(`href="/tasks/1/checks"`)
	page := b.get(at).is(200).shows("Active checks", "echo all is well", "From project web", "✓", "1 vote", "Only for this task")
	version := page.field(at, "version")
	fields := func(more ...string) []string {
		return append([]string{
			"version", version, "checks[0].name", "e2e", "checks[0].kind", "command", "checks[0].what", "exit 7", "checks[0].required", "1",
			"review.approvals", "2", "review.from", "maya rita",
		}, more...)
	}
	t.Run("rows are added and removed without scripts", func(t *testing.T) {
		b.post(at, fields("act", "add checks")...).is(200).shows(`name="checks[1].name"`, "exit 7", `value="maya rita"`)
		b.post(at, fields("act", "remove checks 0")...).is(200).hides(`name="checks[0].name"`)
	})
	t.Run("an error is shown at its field", func(t *testing.T) {
		b.post(at, "act", "save", "version", version, "checks[0].name", "a b", "checks[0].kind", "command",
			"review.approvals", "11").is(422).shows("Must be 1 to 32 characters", "Must be 0 to 10", `value="a b"`)
	})
	t.Run("the checks apply, and the result under review is void", func(t *testing.T) {
		b.post(at, fields("act", "save")...).redirectsTo(at).shows("Saved the checks and the review of #1")
		b.post(at, "act", "save", "version", version, "review.approvals", "0").is(409).shows("read it again", "From task")
		b.get(at).shows("e2e", "exit 7", "From task", "2 votes from maya or rita")
		b.get("/tasks/1").hides("Waiting for review").shows("The checks of this task have changed")
	})
	t.Run("a person who may change tasks can run a check again", func(t *testing.T) {
		b.get(at).shows("/tasks/1/checks/e2e/run")
		b.post(at+"/e2e/run").redirectsTo(at).shows("Check e2e of #1: failed with exit code 7", "✗")
		b.post(at + "/none/run").is(404)
		inst.person("otto", task.RoleOperator).post(at + "/test/run").redirectsTo(at)
		v := inst.person("vera", task.RoleViewer)
		v.get(at).is(200).shows("Active checks").hides("/e2e/run", "Only for this task")
		v.post(at + "/test/run").is(403)
	})
	t.Run("a person who may not decide cannot change checks", func(t *testing.T) {
		o := inst.person("olga", task.RoleOperator)
		o.get(at).is(200).hides("Only for this task")
		o.post(at, "act", "save", "review.approvals", "0").is(403)
	})
}

func TestACheckMayRunLongerThanTheServersTimeouts(t *testing.T) {
	t.Parallel()
	git := testgit.Open(t)
	inst := newSite(t, func(o setup) {
		o.Config.Repositories = git
		o.HTTP.ReadTimeout, o.HTTP.WriteTimeout = time.Second, time.Second
	})
	b := inst.maya()
	repo := testgit.New(t, map[string]string{"main.go": "one\n"})
	_, err := inst.svc.CreateProject(t.Context(), mayaActor, task.Project{
		Key: "web", Repository: repo.Dir, Checks: []task.Check{{Name: "slow", Run: "sleep 2"}},
	})
	inst.ok(err)
	inst.newTask(mayaActor, task.New{Title: "Change it", Owner: "pull", Project: "web", Status: task.Active})
	repo.Commit("taskyard/1-change-it", map[string]string{"main.go": "two\n"})
	inst.do("operator", "POST", "/api/tasks/1/checks/slow/run", "").want(200)
	b.post("/tasks/1/checks/slow/run").redirectsTo("/tasks/1/checks").shows("Check slow of #1: passed")
}

func TestDefinitionsShowTheirChecks(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	text := "---\ndescription: d\ntools: read\nrunner: none\nprojects: [web, api]\n" +
		"checks: [{name: test, run: make test, required: true}]\nreview: {approvals: 2, from: [maya]}\n---\nWork.\n"
	b.post("/agents/new/check", "id", "checked", "text", text).is(200).
		shows("Before its tasks are done", "make test, required", "2 votes from maya", "web, api",
			"Its definition says <code>runner: none</code>.")
	b.post("/agents/new/check", "id", "checked", "text", strings.Replace(text, "required: true", "require: true", 1)).
		shows(`data-line="6"`, "&#34;require&#34; of checks is unknown")
}
