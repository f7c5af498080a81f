package runner

import (
	"slices"
	"testing"

	"taskyard/runner/acp"
	"taskyard/runner/builtin"
	"taskyard/runner/claude"
	"taskyard/runner/codex"
	"taskyard/runner/command"
	"taskyard/runner/confine"
	"taskyard/runner/supervise"
	"taskyard/runner/webhook"
	"taskyard/task"
)

// TestEveryRequirementIsEnforcedOrReported compares, for every kind of runner, the
// requirements of a spec with what is reported about them. No tool or limit is
// omitted.
func TestEveryRequirementIsEnforcedOrReported(t *testing.T) {
	t.Parallel()
	on, off := supervise.Confinement{On: true, Kernel: &confine.Kernel{Landlock: 9, Seccomp: true, Attributes: true}}, supervise.Confinement{}
	plan := task.Spec{Tools: []string{"read", "launch"}, Limits: task.Limits{TimeoutSeconds: 60, MaxTokens: 10, MaxTurns: 3, MaxCostUSD: 1}}
	shell := plan
	shell.Tools = []string{"read", "bash"}
	for _, tt := range []struct {
		name   string
		runner supervise.Runner
		plan   task.Spec
		not    []string // reported as not, or only partly, enforced
	}{
		{"the built-in agent", &builtin.Runner{}, plan, nil},
		{"its shell, confined", &builtin.Runner{Shell: func() string { return "bash: landlock v6 + no network" }}, shell, nil},
		{"its shell, unconfined", &builtin.Runner{Shell: func() string { return "bash: none" }}, shell, []string{"files", "network"}},
		{"claude, confined", &claude.Runner{Program: supervise.Program{Confine: on}}, plan, nil},
		{"claude, not confined", &claude.Runner{Program: supervise.Program{Confine: off}}, plan, []string{"files"}},
		{"codex with reading tools", &codex.Runner{}, plan, []string{"list", "glob", "grep", "bash", "maxCostUsd"}},
		{
			"an ACP agent", &acp.Runner{Program: supervise.Program{Confine: on}}, plan,
			[]string{"list", "glob", "grep", "fetch", "create", "edit", "bash", "network", "maxTokens", "maxTurns", "maxCostUsd"},
		},
		{"a command", &command.Runner{}, plan, []string{
			"list", "glob", "grep", "fetch", "create", "edit",
			"bash", "files", "network", "maxTokens", "maxTurns", "maxCostUsd",
		}},
		{"a webhook", &webhook.Runner{}, plan, []string{
			"list", "glob", "grep", "fetch", "create", "edit", "bash",
			"files", "network", "timeout", "maxTokens", "maxTurns", "maxCostUsd",
		}},
		{"a worker", nil, plan, []string{
			"list", "glob", "grep", "fetch", "create", "edit",
			"bash", "files", "network", "maxTokens", "maxTurns", "maxCostUsd",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list := Enforces(tt.runner, tt.plan)
			var what, not []string
			for _, e := range list {
				what = append(what, e.What)
				if e.Asked == "" || e.Level == "" {
					t.Errorf("%+v has no text", e)
				}
				if (e.Asked == "allowed" || e.Asked == "none" || e.Asked == "open") != (e.Level == task.NotAsked) {
					t.Errorf("%+v contradicts itself", e)
				}
			}
			for _, e := range task.Unenforced(list) {
				not = append(not, e.What)
			}
			if !slices.Equal(not, tt.not) {
				t.Errorf("got not enforced %v, want %v", not, tt.not)
			}
			for _, name := range append(append([]string{"files", "network", "timeout", "idleTimeout", "maxTokens", "maxTurns", "maxCostUsd"},
				task.KnownTools...), tt.plan.Tools...) {
				if !slices.Contains(what, name) {
					t.Errorf("nothing is reported about %s", name)
				}
			}
			if len(what) != len(slices.Compact(slices.Sorted(slices.Values(what)))) {
				t.Errorf("something is reported twice: %v", what)
			}
		})
	}
}
