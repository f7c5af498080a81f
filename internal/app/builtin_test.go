package app

import (
	"cmp"
	"reflect"
	"strings"
	"testing"

	"taskyard/internal/config"
	"taskyard/runner/builtin"
	"taskyard/service"
	"taskyard/task"
)

func TestWhichProviderABuiltinRunnerUses(t *testing.T) {
	t.Parallel()
	one := map[string]config.Provider{"a": {API: "openai", Models: []string{"m"}}}
	two := map[string]config.Provider{"a": {API: "openai"}, "b": {API: "anthropic", DefaultModel: "big", APIKeyEnv: "KEY"}}
	tests := []struct {
		name      string
		providers map[string]config.Provider
		runners   map[string]config.Runner
		want      string // runner, provider, model, problem
		pull      string // why agents without a runner are pull-only
	}{
		{"none is configured", nil, nil, "", "no model provider is configured: add [providers.NAME] to taskyard.toml and send SIGHUP to the server"},
		{"the only one", one, nil, "builtin a m ok", ""},
		{
			"several, and none is chosen", two, nil, "",
			"several model providers are configured: set provider in [runners.builtin] to the one it uses: a, b",
		},
		{"a chosen provider", two, map[string]config.Runner{"builtin": {Kind: "builtin", Provider: "b"}}, "builtin b big The variable KEY", ""},
		{"a runner with another name", two, map[string]config.Runner{"x": {Kind: "builtin", Provider: "a"}}, "x a  ok", "several model"},
		{
			"a runner of another kind with the name", one,
			map[string]config.Runner{"builtin": {Kind: "command", Command: []string{"/bin/sh"}}},
			"", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &config.Config{Providers: tt.providers, Runners: tt.runners}
			list, err := newBuiltins(c, func(string) string { return "" })
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for name, r := range list {
				b := r.(*builtin.Runner)
				p := b.Probe(t.Context())
				p.Problem = cmp.Or(p.Problem, "ok")
				got += name + " " + b.Provider + " " + b.DefaultModel + " " + p.Problem
			}
			if tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
				t.Errorf("got the runners %q, want %q", got, tt.want)
			}
			if got := AgentOptions(c).PullOnly("builtin"); !strings.HasPrefix(got, tt.pull) || tt.pull == "" && got != "" {
				t.Errorf("got the pull-only reason %q, want %q", got, tt.pull)
			}
		})
	}
	t.Run("the plan names what a runner uses", func(t *testing.T) {
		c := &config.Config{Providers: one, Runners: map[string]config.Runner{
			"x": {Kind: "builtin", Workspace: "/w"},
			"y": {Kind: "command", Workspace: "/v"},
			"z": {Kind: "acp"},
		}}
		set, err := newRunnerSet(c, func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]service.Runner{
			"builtin": {Model: "m", Converses: true, RunnerTraits: task.RunnerTraits{Kind: "builtin", Steers: true}},
			"x":       {Model: "m", Workspace: "/w", Converses: true, RunnerTraits: task.RunnerTraits{Kind: "builtin", Steers: true}},
			"y":       {Workspace: "/v", RunnerTraits: task.RunnerTraits{Kind: "command"}},
			"z":       {RunnerTraits: task.RunnerTraits{Kind: "acp", Steers: true, MCP: true}},
			"unknown": {},
		} {
			got := set.byName[name]
			if (got.Executor == nil) != (want.Kind == "") {
				t.Errorf("%s is executed by %v", name, got.Executor)
			}
			if got.Executor = nil; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
		}
	})
}
