package handlers

import (
	"net/http"
	"testing"

	"taskyard/task"
)

// knownRunners is a prober with fixed results that counts its probes.
type knownRunners struct{ looks int }

func (k *knownRunners) Refresh() { k.looks++ }

func (k *knownRunners) Runners() []task.RunnerInfo {
	const at = task.Time(1_772_442_000_000)
	return []task.RunnerInfo{
		{Name: "far", Kind: "worker", Installed: true, Tools: "Elsewhere.", ProbedAt: at},
		{
			Name: "script", Kind: "command", Problem: "the program agent cannot be started", Remedy: "Install it.",
			Path: "/opt/secret/agent", Tools: "It is told its tools.", Shell: "not confined", Network: "open", ProbedAt: at, Probing: k.looks > 0,
		},
	}
}

func TestRunnersAreListed(t *testing.T) {
	t.Parallel()
	known := &knownRunners{}
	s := newSite(t, func(o setup) { o.Runners, o.EnforcementGap = known, weakerScript })
	type runnersBody struct{ Runners []task.RunnerInfo }
	type agentBody struct {
		ID         string
		Weaker     string
		Pause      *task.Pause
		RunnerInfo *task.RunnerInfo
	}
	t.Run("all readers see state, problem and fix; only admins see the path", func(t *testing.T) {
		for caller, path := range map[string]string{"agent": "", "viewer": "", "admin": "/opt/secret/agent"} {
			r := decode[runnersBody](s.do(caller, "GET", "/api/runners", "").want(200)).Runners
			if len(r) != 2 || r[1].Name != "script" || r[1].Problem == "" || r[1].Remedy != "Install it." ||
				r[1].Path != path || r[1].State() != "missing" {
				t.Errorf("%s: got %+v", caller, r)
			}
		}
	})
	t.Run("only admins can request a probe, which responds at once", func(t *testing.T) {
		s.do("operator", "POST", "/api/runners/probe", "").problem(403, task.CodeForbidden)
		r := decode[runnersBody](s.do("admin", "POST", "/api/runners/probe", "").want(202)).Runners
		if known.looks != 1 || !r[1].Probing {
			t.Errorf("got %d probes: %+v", known.looks, r)
		}
	})
	t.Run("agents are listed with what is not enforced and with their pause", func(t *testing.T) {
		s.do("operator", "POST", "/api/pause", `{"agent":"coder","reason":"a bad key"}`).want(200)
		list := decode[struct {
			Agents  []agentBody
			Runners []task.RunnerInfo
		}](s.do("viewer", "GET", "/api/agents", "").want(200))
		if len(list.Runners) != 2 {
			t.Errorf("got runners %+v", list.Runners)
		}
		for _, a := range list.Agents {
			if (a.Pause != nil) != (a.ID == "coder") || a.ID == "coder" && a.Weaker == "" || a.ID == "pull" && a.Weaker != "" {
				t.Errorf("got %+v", a)
			}
		}
		a := decode[agentBody](s.do("viewer", "GET", "/api/agents/coder", "").want(200))
		if a.Pause == nil || a.Pause.Reason != "a bad key" || a.RunnerInfo == nil || a.RunnerInfo.Name != "script" || a.RunnerInfo.Path != "" {
			t.Errorf("got %+v", a)
		}
	})
	t.Run("a server without runners says so without failing", func(t *testing.T) {
		s := newSite(t)
		if r := decode[runnersBody](s.do("admin", "POST", "/api/runners/probe", "").want(202)); r.Runners == nil || len(r.Runners) > 0 {
			t.Errorf("got %+v", r)
		}
	})
}

func TestPagesShowWhatRunnersEnforce(t *testing.T) {
	t.Parallel()
	known := &knownRunners{}
	inst := newSite(t)
	inst.srv.opt.Runners = known
	maya, vera := inst.maya(), inst.person("vera", task.RoleViewer)
	t.Run("the list of agents shows runners with problem and fix", func(t *testing.T) {
		maya.get("/agents").is(200).shows("Not enforced.", "The program agent cannot be started",
			"Install it.", "/opt/secret/agent", "cannot start")
		vera.get("/agents").is(200).shows("Install it.").hides("/opt/secret/agent", "Check again")
	})
	t.Run("the page of an agent shows its runner", func(t *testing.T) {
		maya.get("/agents/coder").is(200).shows("Runner script", "Not installed", "not confined").hides("Elsewhere.")
		maya.get("/agents/pull").is(200).hides("Runner script")
	})
	t.Run("the button starts a probe", func(t *testing.T) {
		maya.post("/runners/probe").redirectsTo("/agents")
		vera.post("/runners/probe").is(http.StatusForbidden)
		if known.looks != 1 {
			t.Errorf("got %d probes", known.looks)
		}
	})
}

func TestBudgetsAreShown(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	maya := inst.maya()
	_, err := inst.svc.SaveAgent(t.Context(), mayaActor, "spender",
		"---\ndescription: spends\ntools: read\nrunner: script\nmax_cost_usd_per_day: 2\nmax_tokens_per_day: 1000\n---\nSpend.\n", "", false)
	inst.ok(err)
	st := inst.runTask(inst.newTask(mayaActor, task.New{Owner: "spender", NoStart: true}).ID)
	inst.ok(inst.svc.AppendTranscript(t.Context(), st.Run.ID, st.Run.Lease,
		[]task.Message{{Type: "usage", Data: []byte(`{"tokensIn":600,"costUsd":0.5,"estimated":true}`)}}))
	run := "/runs/" + st.Run.ID.String()
	t.Run("estimated figures are marked everywhere", func(t *testing.T) {
		maya.get("/agents/spender").shows("≈ $0.50 of $2.00", "≈ 600 of 1k")
		maya.get("/settings/limits").shows("≈ $0.50 of $2.00", "≈ 600")
		maya.get(run).shows("≈ 600 in", "≈ $0.50")
		maya.get("/runs").shows("≈ 600")
	})
	t.Run("unreported figures are unknown", func(t *testing.T) {
		silent := inst.runNew()
		at := "/runs/" + silent.Run.ID.String()
		maya.get(at).shows("0 in")
		inst.endRun(silent, "done")
		maya.get(at).shows("Unknown: its program reports none")
		maya.get("/runs").shows("unknown")
	})
	t.Run("an exhausted budget says until when", func(t *testing.T) {
		inst.ok(inst.svc.AppendTranscript(t.Context(), st.Run.ID, st.Run.Lease,
			[]task.Message{{Type: "usage", Data: []byte(`{"tokensIn":400,"costUsd":0.1}`)}}))
		maya.get("/agents/spender").shows("Budget of spender for today is used up: 1000 of 1000 tokens (in part estimated), until 00:00 UTC")
	})
	t.Run("exact figures are not marked", func(t *testing.T) {
		maya.get("/agents/coder").hides("Today's budgets", "≈")
	})
}
