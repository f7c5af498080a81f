package service

import (
	"errors"
	"strings"
	"testing"

	"taskyard/task"
)

func TestAPolicyNamesOnlyPeopleWhoCanVote(t *testing.T) {
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
	t.Run("of an agent", func(t *testing.T) {
		text := definition("tools: read", "runner: none", "review: {from: [Maya, myra], expires: 1h, standIn: vlad}")
		for _, force := range []bool{false, true} {
			_, err := inst.s.SaveAgent(inst.ctx(), maya, "novel", text, "", force)
			refused(t, err, task.CodeInvalidField, "review.from[1]: no reviewer or admin is called myra", "review.standIn: ")
		}
		if _, err := inst.s.Agent(maya, "novel"); err == nil {
			t.Error("got no error")
		}
		def := must(inst.s.CheckAgent(inst.ctx(), maya, "novel", text))
		equal(t, "status", def.Status, task.AgentInvalid)
		equal(t, "problems", len(def.Problems), 2)
		equal(t, "line", strings.Split(text, "\n")[def.Problems[0].Line-1], "review: {from: [Maya, myra], expires: 1h, standIn: vlad}")
		must(inst.s.SaveAgent(inst.ctx(), maya, "novel", definition("tools: read", "review: {from: [Maya, reviewer]}"), "", false))
	})
	t.Run("an archived project is not checked", func(t *testing.T) {
		p := p
		p.Archived = true
		ok(t, onlyErr(inst.s.UpdateProject(inst.ctx(), maya, p, 0)))
	})
}
