package service

import (
	"slices"
	"testing"

	"taskyard/task"
)

// script gives the tests a runner with this configuration.
func script(r Runner) func(*Config) {
	return func(c *Config) {
		c.Runner = func(name string) Runner {
			if name != "script" {
				return Runner{}
			}
			return r
		}
	}
}

// reloadableRunner gives the tests the runner that r points to, as a reload does.
func reloadableRunner(r *Runner) func(*Config) {
	return func(c *Config) { c.Runner = func(string) Runner { return *r } }
}

// TestARunKeepsTheTraitsOfItsRunner starts a run and changes or removes its runner during
// the run.
func TestARunKeepsTheTraitsOfItsRunner(t *testing.T) {
	t.Parallel()
	rich := task.RunnerTraits{Kind: "rich", Receiver: true, Steers: true, MCP: true}
	poor := task.RunnerTraits{Kind: "poor"}
	for _, tt := range []struct {
		name        string
		first, then Runner
		keeps       bool // whether the run has the abilities of rich
	}{
		{"whose runner was changed", Runner{RunnerTraits: rich}, Runner{RunnerTraits: poor}, true},
		{"whose runner was removed", Runner{RunnerTraits: rich}, Runner{}, true},
		{"whose runner got more abilities", Runner{RunnerTraits: poor}, Runner{RunnerTraits: rich}, false},
	} {
		t.Run("one "+tt.name, func(t *testing.T) {
			t.Parallel()
			now := tt.first
			inst := newInstance(t, noApprove, reloadableRunner(&now))
			st := inst.startSteerable(t)
			r := st.Run
			now = tt.then
			if _, err := inst.s.SendRunMessage(inst.ctx(), oleg, r.ID, "use tabs"); (err == nil) != tt.keeps {
				t.Errorf("message to the run: got %v", err)
			}
			err := inst.s.ReportEnd(inst.ctx(), inst.actor(st), r.ID, task.LeaseRef{Attempt: r.Attempt, Lease: r.Lease}, completed("done"))
			if (err == nil) != tt.keeps {
				t.Errorf("report of its receiver: got %v", err)
			}
			if !tt.keeps {
				ok(t, inst.s.FinishRun(inst.ctx(), r.ID, r.Lease, completed("done")))
			}
			warned := slices.ContainsFunc(must(inst.s.Transcript(inst.ctx(), maya, r.ID, 0, 100)), func(m task.Message) bool {
				return m.Content == neverReachedMCP
			})
			equal(t, "is warned about the MCP server", warned, tt.keeps)
		})
	}
}

func TestANewRunUsesTheCurrentRunner(t *testing.T) {
	t.Parallel()
	now := Runner{RunnerTraits: task.RunnerTraits{Kind: "one"}, Workspace: "/one", Model: "small", Executor: 1}
	inst := newInstance(t, noApprove, reloadableRunner(&now))
	tk := inst.create(maya, "coder", noStart)
	must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
	now = Runner{RunnerTraits: task.RunnerTraits{Kind: "two"}, Workspace: "/two", Model: "big", Executor: 2}
	st := inst.start()
	equal(t, "workspace", st.Spec.Workspace, "/two")
	equal(t, "model", st.Spec.Model, "big")
	equal(t, "kind", st.Spec.Traits.Kind, "two")
	equal(t, "executor", st.Runner.Executor, any(2))
	equal(t, "stored kind", inst.run(st.Run.ID).Spec.Traits.Kind, "two")
}

// TestRunnersThatMoveToWorkers moves the runner of queued runs between server and workers.
func TestRunnersThatMoveToWorkers(t *testing.T) {
	t.Parallel()
	var now Runner
	inst := newInstance(t, noApprove, reloadableRunner(&now))
	inst.queueRuns("coder", 1)
	lease := func() *task.Leased {
		return must(inst.s.LeaseRun(inst.ctx(), gpuBox, task.WorkerAsk{Labels: []string{"gpu"}}))
	}
	if lease() != nil {
		t.Error("a worker got a run of this server")
	}
	now = Runner{Worker: true, Labels: []string{"gpu"}}
	inst.nothingStarts()
	if lease() == nil {
		t.Error("no worker got the run")
	}
}

func TestAConversationStaysWithItsKindOfRunner(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"one", "two"} {
		now := Runner{RunnerTraits: task.RunnerTraits{Kind: "one"}, Converses: true}
		inst := newInstance(t, wakes, reloadableRunner(&now))
		inst.queueRuns("coder", 1)
		st := inst.start()
		inst.finish(st, completed("done"))
		now.Kind = kind
		must(inst.s.Comment(inst.ctx(), maya, st.Run.TaskID, "one thing more"))
		equal(t, "continues under "+kind, inst.start().Spec.Continues != 0, kind == "one")
	}
}

// TestReloadedSecretsAreRedactedInRunningRuns checks that a reload
// applies new secrets to runs in progress.
func TestReloadedSecretsAreRedactedInRunningRuns(t *testing.T) {
	t.Parallel()
	secrets := []string{"old-secret-value"}
	inst := newInstance(t, noApprove, func(c *Config) { c.Secrets = func([]string) []string { return secrets } })
	r := inst.startSteerable(t).Run
	redacted := func() string {
		return must(inst.s.RunRedactor(inst.ctx(), r.ID, "token-of-run")).Text("old-secret-value new-secret-value")
	}
	equal(t, "before", redacted(), task.Redacted+" new-secret-value")
	secrets = append(secrets, "new-secret-value")
	inst.s.Reconfigure(inst.s.Rules(), nil, nil)
	equal(t, "after", redacted(), task.Redacted+" "+task.Redacted)
}
