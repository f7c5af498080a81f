package handlers

import (
	"net/http"
	"testing"

	"taskyard/task"
)

func TestAScriptGetsTheRedirectOfAForm(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	tk := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Talked about", NoStart: true})
	b := inst.maya()
	b.header = http.Header{sentHeader: {"1"}}
	path := "/tasks/" + tk.ID.String() + "/comments"
	if got := b.post(path, "content", "Said").is(204).header.Get("Location"); got != "/tasks/1#msg-1" {
		t.Errorf("got redirect to %q", got)
	}
	b.get("/tasks/1").is(200).shows("Said")
	b.post(path, "content", "   ").is(422).shows("Must not be blank")
	guest := inst.browser()
	guest.header = b.header
	guest.post(path, "content", "Kept").is(401).shows("Kept")
}
