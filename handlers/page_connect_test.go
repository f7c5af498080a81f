package handlers

import (
	"context"
	"strings"
	"testing"

	"taskyard/task"
)

func TestConnectAnAgent(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	b.get("/agents/coder").is(200).shows("/agents/coder/connect")
	b.get("/agents/coder/connect").is(200).shows("No tokens for coder")
	a := b.post("/agents/coder/connect", "name", "laptop", "days", "30").is(200).shows("laptop is ready",
		"Claude Code", "Gemini CLI", "opencode",
		"codex mcp add taskyard --url "+inst.url+"/mcp --bearer-token-env-var TASKYARD_TOKEN",
		"&#34;httpUrl&#34;", "{env:TASKYARD_TOKEN}", "/api/agents/coder/signup")
	_, rest, _ := strings.Cut(a.body, "TASKYARD_TOKEN=")
	secret := rest[:strings.IndexAny(rest, "<\n& ")]
	actor, err := inst.svc.Authenticate(context.Background(), secret, "")
	if err != nil || actor.Name != "coder" {
		t.Fatalf("the displayed token %q is %+v: %v", secret, actor, err)
	}
	t.Run("the secret is shown once", func(t *testing.T) {
		b.get("/agents/coder/connect").is(200).hides(secret).shows("laptop", secret[:9], "/settings/tokens/1/revoke")
		b.get("/agents/pull/connect").hides("laptop")
		if cc := a.header.Get("Cache-Control"); cc != "no-store" {
			t.Errorf("got Cache-Control %q, want no-store", cc)
		}
	})
	t.Run("an invalid form keeps its input", func(t *testing.T) {
		b.post("/agents/coder/connect", "name", "", "days", "30").is(422).shows("Must not be blank", `value="30"`)
		b.post("/agents/coder/connect", "name", "x", "days", "many").is(422).shows("Must be a whole number", `value="many"`)
		b.post("/agents/ghost/connect", "name", "x", "days", "1").is(404)
	})
	t.Run("other roles are refused", func(t *testing.T) {
		oleg := inst.person("oleg", task.RoleOperator)
		oleg.get("/agents/coder").hides("/connect")
		oleg.get("/agents/coder/connect").is(403)
		oleg.post("/agents/coder/connect", "name", "x", "days", "1").is(403)
	})
}

func TestAgentsAreListedWithTheirOutcomes(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	inst.sample("")
	p := b.get("/agents").is(200).shows("Success", "Last runs, oldest first", `<span class="mono">edit</span>`, "/agents/coder/pause")
	p.hides("not granted")
	b.get("/agents/coder").shows("Last 30 days")
}

func TestDeletingAnAgentNamesItsOpenTasks(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	tk := inst.newTask(mayaActor, task.New{Owner: "pull", NoStart: true})
	inst.newTask(mayaActor, task.New{Owner: "pull", Status: task.Draft})
	b.get("/agents/pull").shows("1 active task and 1 draft", "move or finish them first")
	b.post("/agents/pull/delete").is(409).shows("owns 2 open tasks")
	b.post("/tasks/" + tk.ID.String() + "/complete").is(303)
	b.get("/agents/pull").shows("1 draft").hides("1 active task")
	b.get("/agents/coder").shows("Delete coder").hides("move or finish them first")
}

func TestAgentsArePausedFromTheList(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	b.get("/agents").shows("/agents/coder/pause")
	b.post("/agents/coder/pause", "reason", "no").is(303)
	b.get("/agents").shows("Paused", "/agents/coder/resume").hides("/agents/coder/pause")
}
