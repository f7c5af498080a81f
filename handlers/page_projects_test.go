package handlers

import (
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/internal/testkit/testgit"
	"taskyard/task"
)

// gitSite is a site whose projects have real repositories.
func gitSite(t *testing.T) *site {
	t.Helper()
	git := testgit.Open(t)
	return newSite(t, func(o setup) { o.Config.Repositories = git })
}

func TestProjectsOnPages(t *testing.T) {
	t.Parallel()
	inst := gitSite(t)
	b := inst.maya()
	repo := testgit.New(t, map[string]string{"a.txt": "a\n"})
	list, add := "/settings/projects", "/settings/projects/new"
	b.get(list).is(200).shows("No projects yet", "New project")
	b.get("/").hides(`href="/merges"`)
	fields := func(more ...string) []string {
		return append([]string{
			"key", "web", "name", "Website", "repository", repo.Dir, "review.approvals", "1", "review.from", "maya admin",
			"review.expiresSeconds", "1.5", "review.standIn", "maya", "setup", "npm ci\r\nnpm run build\r\n", "merge", "1", "merge.method", "squash",
			"checks[0].name", "test", "checks[0].kind", "command", "checks[0].what", "go test ./...", "checks[0].timeoutSeconds", "90",
			"checks[0].required", "1", "checks[1].name", "docs", "checks[1].kind", "changed", "checks[1].what", "docs/**",
		}, more...)
	}
	t.Run("rows of checks are added and removed without scripts", func(t *testing.T) {
		b.get(add).is(200).shows("Add check", "Add merge check").hides(`name="checks[0].name"`)
		p := b.post(list, fields("act", "add checks")...).is(200).shows(`name="checks[2].name"`, "docs/**", "npm run build")
		if got := p.field(list, "checks[0].what"); got != "go test ./..." {
			t.Errorf("first check: got command %q", got)
		}
		p = b.post(list, fields("act", "remove checks 0")...).is(200).hides(`name="checks[1].name"`)
		if got := p.field(list, "checks[0].name"); got != "docs" {
			t.Errorf("remaining check: got %q", got)
		}
		b.post(list, fields("act", "add merge.checks")...).is(200).shows(`name="merge.checks[0].name"`)
		b.get(list).shows("No projects yet")
	})
	t.Run("the repository is checked before saving", func(t *testing.T) {
		b.post(list, fields("act", "examine")...).is(200).shows("✓", "main")
		b.post(list, fields("act", "examine", "defaultBranch", "trunk")...).is(200).
			shows("✗", "trunk", `role="alert"`)
	})
	t.Run("errors are shown at their fields, and the typed text is kept", func(t *testing.T) {
		b.post(list, fields("key", "Web!", "act", "save", "defaultBranch", "trunk")...).is(422).shows("trunk", "Cannot be used", "npm run build")
		b.post(list, fields("act", "save", "defaultBranch", "no such branch")...).is(422).
			shows("defaultBranch-err").hides("merge.into-err") // it is empty, so the default branch is meant
		b.post(list, "key", "w", "merge", "1", "act", "save").is(422).shows("merge-err")
		p := b.post(list, "key", "w w", "repository", "relative", "checks[0].name", "a b",
			"checks[0].kind", "command", "checks[0].timeoutSeconds", "soon").is(422)
		p.shows("Must be a whole number", `value="soon"`)
		b.post(list, "key", "w w", "repository", "relative", "checks[0].name", "a b",
			"checks[0].kind", "command").is(422).shows(
			"must be 1 to 32 characters of a-z, 0-9 and -", "must be the absolute path",
			"must be 1 to 32 characters of a-z, A-Z", "must not be blank")
	})
	t.Run("all settings are saved and shown", func(t *testing.T) {
		b.post(list, fields("act", "save")...).redirectsTo("/settings/projects/web").shows("Saved the project web", "Website", "✓", `value="1.5"`)
		p, err := inst.svc.Project(t.Context(), mayaActor, "web")
		inst.ok(err)
		if p.Review.ExpiresSeconds != 5400 || len(p.Setup) != 2 || len(p.Checks) != 2 || p.Checks[0].TimeoutSeconds != 90 ||
			!p.Checks[0].Required || p.Checks[1].Glob != "docs/**" || p.Merge.Into != "main" || strings.Join(p.Review.From, " ") != "maya admin" {
			t.Errorf("got %+v", p)
		}
		b.get(list).shows("web", "Website", "test, docs", "1 vote from maya or any admin", "squash into main")
		// The list waits at most 2 s for the repository checks, which take longer on a
		// busy machine.
		testkit.Eventually(t, "the list says that the repository is fine", func() bool { return strings.Contains(b.get(list).body, "✓") })
		b.get("/").shows(`href="/merges"`)
	})
	t.Run("another person's change is reported, not overwritten", func(t *testing.T) {
		b.post("/settings/projects/web", fields("act", "save", "version", "99", "description", "Mine")...).is(409).
			shows("maya has changed this project", "Mine")
	})
	t.Run("an archived project accepts no tasks, and an undo restores it", func(t *testing.T) {
		p := b.post("/settings/projects/web/archive").redirectsTo(list).shows("Archived the project web", "archived")
		p.shows("/settings/projects/web/restore")
		b.get("/tasks/new").hides(`name="project"`)
		b.post("/settings/projects/web/restore", "undo", "1").redirectsTo(list).hides(">archived<")
		b.get("/tasks/new").shows(`name="project"`, `value="web"`)
	})
	t.Run("other roles can only read", func(t *testing.T) {
		o := inst.person("otto", task.RoleOperator)
		o.get(list).is(200).shows("web").hides("New project")
		o.get("/settings/projects/web").is(200).shows("Only admins can change projects", "disabled").hides("Save project")
		o.post("/settings/projects/web", "act", "save").is(403)
		o.get(add).is(403)
	})
	b.get("/settings/projects/none").is(404)
}

func TestTasksOfProjectsOnPages(t *testing.T) {
	t.Parallel()
	inst := gitSite(t)
	b := inst.maya()
	inst.project("web", "")
	inst.project("docs", "")
	t.Run("a new task names its project", func(t *testing.T) {
		b.post("/tasks", "title", "Write it", "owner", "coder", "project", "web", "status", "draft").redirectsTo("/tasks/1").shows(">web<")
		b.post("/tasks", "title", "Beside", "owner", "coder", "status", "draft").redirectsTo("/tasks/2")
	})
	t.Run("lists, board and history can be filtered by project", func(t *testing.T) {
		for _, at := range []string{"/tasks", "/queues"} {
			b.get(at).shows("Write it", "Beside", `name="project"`)
			b.get(at+"?project=web").shows("Write it", "Project web").hides("Beside")
			b.get(at + "?project=docs").hides("Write it")
		}
		b.post("/tasks/2/cancel").is(303)
		b.get("/history").shows("Beside", `name="project"`)
		b.get("/history?project=web").hides("Beside").shows("project web")
	})
	t.Run("a task's forms change its project and offer an undo", func(t *testing.T) {
		b.get("/tasks/1/edit").shows(`name="project"`)
		b.post("/tasks/1/edit", "field", "project", "project", "docs", "was", task.Mark("web")).redirectsTo("/tasks/1").
			shows("/settings/projects/docs")
		b.post("/tasks/1/edit", "field", "project", "project", "none").is(422).shows("There is no project none")
		b.post("/tasks/1/edit", "title", "Write it", "owner", "coder", "priority", "0", "project", "").redirectsTo("/tasks/1")
		if tk, err := inst.svc.Task(t.Context(), mayaActor, 1); err != nil || tk.Project != "" {
			t.Errorf("got project %q: %v", tk.Project, err)
		}
	})
}

// project creates a project. Without a repository, its tasks only have checks and
// reviews.
func (s *site) project(key, repository string) {
	s.t.Helper()
	p := task.Project{Key: key, Repository: repository, Review: task.Review{Approvals: 1}}
	if repository != "" {
		p.Checks = []task.Check{{Name: "test", Run: "echo all is well", Required: true}}
	}
	_, err := s.svc.CreateProject(s.t.Context(), mayaActor, p)
	s.ok(err)
}
