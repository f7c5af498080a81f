package handlers

import (
	"net/http"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

func TestPagesShowWhoDelegated(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	tk := inst.newTask(task.Actor{Name: "user:maya", Role: task.RoleAdmin}, task.New{Title: "The whole", Owner: "planner", NoStart: true})
	if _, err := inst.svc.RunNow(t.Context(), task.SystemActor, tk.ID); err != nil {
		t.Fatal(err)
	}
	parent := inst.startRun()
	a, err := inst.svc.Authenticate(t.Context(), parent.Token, "")
	inst.ok(err)
	d, err := inst.svc.Delegate(t.Context(), a, task.Delegation{Task: "The <b>part</b>", AgentType: "coder"})
	inst.ok(err)
	want := []string{"delegated by", `href="/runs/` + parent.Run.ID.String() + `"`, `href="/tasks/` + tk.ID.String() + `"`, "depth 1"}
	t.Run("on the run's page", func(t *testing.T) {
		b.get("/runs/" + d.RunID.String()).is(http.StatusOK).shows(append(want, "by delegation")...)
	})
	t.Run("in the approval, with the delegating agent", func(t *testing.T) {
		b.get("/approvals/" + d.RunID.String()).is(http.StatusOK).shows(append(want, "planner", "asks to delegate")...).hides("<b>part</b>")
	})
	t.Run("on the page of the delegating run", func(t *testing.T) {
		b.get("/runs/"+parent.Run.ID.String()).is(http.StatusOK).shows("1 delegated run", `href="/runs/`+d.RunID.String()+`"`)
	})
	t.Run("not on the page of another run", func(t *testing.T) {
		b.get("/runs/" + parent.Run.ID.String()).hides("delegated by")
	})
	t.Run("in the task's log", func(t *testing.T) {
		_, err := inst.svc.ApproveRun(t.Context(), task.Actor{Name: "user:maya", Role: task.RoleAdmin}, d.RunID, service.Approve{})
		inst.ok(err)
		b.get("/tasks/" + d.TaskID.String()).is(http.StatusOK).shows("planner")
	})
}
