package service

import (
	"errors"
	"strings"
	"testing"

	"taskyard/task"
)

func TestAPolicyNamesOnlyThoseWhoCanVote(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.voters()
	inst.person("vlad") // a viewer
	p := task.Project{Key: "web", Review: task.Review{
		Approvals: 1, From: []string{"Maya", "reviewer", "myra", "vlad", "operator"}, ExpiresSeconds: 60, StandIn: "admin",
	}}
	for name, put := range map[string]func(p task.Project) error{
		"of a new project": func(p task.Project) error { return onlyErr(inst.s.CreateProject(inst.ctx(), maya, p)) },
		"of a task": func(p task.Project) error {
			return onlyErr(inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: "pull", Policy: &p.Review}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := put(p)
			refused(t, err, task.CodeInvalidField, "no reviewer or admin is called myra", "(maya, nina, rita)", "the role reviewer or admin")
			field := map[bool]string{true: "policy", false: "review"}[name == "of a task"]
			var bad *task.Error
			if !errors.As(err, &bad) {
				t.Fatal(err)
			}
			got := ""
			for _, f := range bad.AllFields() {
				got += f.Field + " "
			}
			equal(t, "fields", got, strings.ReplaceAll("F.from[2] F.from[3] F.from[4] F.standIn ", "F", field))
			good := p
			good.Review = task.Review{Approvals: 1, From: []string{"Maya", "reviewer", "admin"}, ExpiresSeconds: 60, StandIn: "rita"}
			ok(t, put(good))
		})
	}
	t.Run("and an archived project is not checked", func(t *testing.T) {
		p := p
		p.Archived = true
		ok(t, onlyErr(inst.s.UpdateProject(inst.ctx(), maya, p, 0)))
	})
}
