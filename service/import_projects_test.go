package service

import (
	"strings"
	"testing"

	"taskyard/task"
)

func TestProjectsAreExportedAndImported(t *testing.T) {
	t.Parallel()
	from := newInstance(t)
	tk := from.reviewed(func(p *task.Project) { p.Checks = []task.Check{{Name: "pr", Kind: task.CheckURL}} })
	from.submitResult(tk, "done")
	canceled := from.create(maya, "pull", noStart, func(in *task.New) { in.Project = "web" }).ID
	must(from.s.CancelTask(from.ctx(), maya, canceled, "no"))
	first := from.export()
	equal(t, "projects", first.n.Projects, 1)
	for _, no := range []string{"createdAt", "version"} {
		if strings.Contains(first.projects, no) {
			t.Errorf("projects.json contains %s:\n%s", no, first.projects)
		}
	}

	inst := newInstance(t)
	plan := first.plan()
	got := inst.imported(plan, ImportOptions{})
	equal(t, "imported", got.Projects, 1)
	equal(t, "projects.json", inst.export().projects, first.projects)
	now := inst.task(tk.ID)
	equal(t, "project", now.Project, "web")
	equal(t, "waiting for", now.WaitingFor, task.WaitingFor(""))
	equal(t, "a canceled task keeps its project", inst.task(canceled).Project, "web")
	if len(plan.Report.Omitted) != 1 || !strings.Contains(plan.Report.Omitted[0].What, "has to be completed again") {
		t.Errorf("got omitted %v", plan.Report.Omitted)
	}
	must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "again", 0))
	equal(t, "waiting for", inst.task(tk.ID).WaitingFor, task.WaitsReview)

	t.Run("an existing project is unchanged", func(t *testing.T) {
		must(inst.s.UpdateProject(inst.ctx(), maya, task.Project{Key: "web", Name: "Mine", Review: task.Review{Approvals: 2}}, 0))
		equal(t, "imported", inst.imported(first.plan(), ImportOptions{}).Projects, 0)
		p := must(inst.s.Project(inst.ctx(), maya, "web"))
		equal(t, "name", p.Name, "Mine")
		equal(t, "approvals", p.Review.Approvals, 2)
	})
}

func TestAnImportNamesReviewersWhoAreNotHere(t *testing.T) {
	t.Parallel()
	from := newInstance(t)
	from.reviewed(func(p *task.Project) {
		p.Review.From, p.Review.StandIn, p.Review.ExpiresSeconds = []string{"rita", "reviewer"}, "maya", 60
	})
	from.create(maya, "pull", noStart, func(in *task.New) { in.Policy = &task.Review{Approvals: 1, From: []string{"rita"}} })
	files := from.export()

	plan := files.plan()
	newInstance(t).imported(plan, ImportOptions{})
	var notes []string
	for _, n := range plan.Report.Notes {
		if strings.Contains(n.What, "who is not a reviewer or admin here") {
			what, _, _ := strings.Cut(n.What, ",")
			notes = append(notes, what+" in "+n.First)
		}
	}
	equal(t, "notes", strings.Join(notes, "; "), "the review of project web names rita in projects.json; "+
		"the review of project web names maya in projects.json; the review of tasks names rita in tasks.json: tasks[1]")

	plan, inst := files.plan(), newInstance(t)
	inst.voters()
	inst.imported(plan, ImportOptions{})
	for _, n := range plan.Report.Notes {
		if strings.Contains(n.What, "who is not a reviewer") {
			t.Errorf("everybody is there, and a note says %s", n.What)
		}
	}
}

const doneInProject = `{"id":"5","title":"Past","owner":"coder","createdBy":"user:maya","status":"done","summary":"Was good.","project":"web",
 "createdAt":"2025-01-02T03:04:05.678Z","updatedAt":"2025-01-03T03:04:05.678Z","archivedAt":"2025-01-04T03:04:05.678Z"}`

func TestAnImportCreatesNoDoneTasksOfAProject(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.reviewed()
	plan := planFromFiles("", strings.ReplaceAll(doneInProject, "\n", ""), "")
	got := inst.imported(plan, ImportOptions{})
	now := inst.task(got.IDs[0].ID)
	equal(t, "status", now.Status, task.Done)
	equal(t, "project", now.Project, "")
	if notes := plan.Report.Notes; len(notes) != 1 || !strings.Contains(notes[0].What, "done tasks of project web lose it") {
		t.Errorf("got notes %v", notes)
	}
	list, err := inst.s.History(inst.ctx(), maya, task.HistoryFilter{Project: "web", Limit: 10})
	ok(t, err)
	equal(t, "done tasks of the project", len(list.Tasks), 0)
}

func TestRefusedProjectImports(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	open := `{"id":"5","title":"Open","owner":"coder","status":"active","project":"web"}`
	for _, c := range []struct{ name, tasks, projects, want string }{
		{"an unknown project", open, "", "there is no project web"},
		{"an invalid key", strings.ReplaceAll(open, `"web"`, `"Web!"`), "", "is not the key of a project"},
		{"an invalid project", open, `{"projects":[{"key":"web","checks":[{"name":"a","run":""}]}]}`, "projects.json.projects[0].checks[0].kind"},
		{"a duplicate key", open, `{"projects":[{"key":"web"},{"key":"web"}]}`, "a second project web"},
		{"an unknown structure", open, `{"projects":[{"key":"web","merge":true}]}`, "is not a project"},
		{"invalid JSON", open, `{"projects":[`, "projects.json: is not JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := exported{tasks: `{"tasks":[` + c.tasks + `],"nextId":42}`, todos: "{}", projects: c.projects}
			_, err := inst.s.PrepareImport(maya, e.plan(), ImportOptions{})
			refused(t, err, task.CodeInvalidField, c.want)
		})
	}
}
