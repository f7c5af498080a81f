package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"taskyard/internal/config"
	"taskyard/runner"
	"taskyard/runner/model"
	"taskyard/service"
)

// builtinName is the runner of agents that name none.
const builtinName = "builtin"

// providerOf returns the name of the provider of a runner of kind builtin, or
// why it has none.
func providerOf(c *config.Config, name string) (provider, problem string) {
	provider = c.Runners[name].Provider
	names := slices.Sorted(maps.Keys(c.Providers))
	switch {
	case provider != "":
		return provider, ""
	case len(names) == 0:
		return "", "no model provider is configured; it claims its tasks with a token"
	case len(names) > 1:
		return "", fmt.Sprintf("several model providers are configured: say by provider in [runners.%s] which one it uses: %s", name, strings.Join(names, ", "))
	}
	return names[0], ""
}

// builtinsOf makes the runners of kind builtin: those that are configured, and
// the one that needs no configuration but that of a provider.
func builtinsOf(c *config.Config, getenv func(string) string) (map[string]runner.Runner, error) {
	list := map[string]runner.Runner{}
	names := []string{builtinName}
	for name, r := range c.Runners {
		if r.Kind == "builtin" {
			names = append(names, name)
		}
	}
	for _, name := range names {
		r, configured := c.Runners[name]
		provider, problem := providerOf(c, name)
		if problem != "" || configured && r.Kind != "builtin" {
			continue // its agents are pull-only, or it is another kind
		}
		b, err := builtinOf(c.Providers[provider], getenv)
		if err != nil {
			return nil, err
		}
		b.Provider, b.AcceptWeaker, b.Tools, b.Shell = provider, r.AcceptWeaker, runner.OpenTools(r.AcceptWeaker), runner.ShellLevel(r.AcceptWeaker)
		list[name] = b
	}
	return list, nil
}

func builtinOf(p config.Provider, getenv func(string) string) (*runner.Builtin, error) {
	b := &runner.Builtin{Models: p.Models, DefaultModel: defaultModel(p), Prices: map[string]runner.Price{}}
	for name, price := range p.PricePerMtok {
		b.Prices[name] = runner.Price(price)
	}
	key := ""
	if p.APIKeyEnv != "" {
		if key = getenv(p.APIKeyEnv); key == "" {
			b.Problem = "The variable " + p.APIKeyEnv + ", which is to hold the provider's key, is empty: set it and start the server again"
		}
	}
	var err error
	b.Model, err = model.Open(model.Provider{API: p.API, BaseURL: p.BaseURL, Key: key})
	return b, err
}

// modelsOf tells the models that a runner has; nil where any will do, or
// nobody here knows.
func modelsOf(c *config.Config) func(runner string) []string {
	return func(name string) []string {
		if r, configured := c.Runners[name]; configured && r.Kind != builtinName {
			return nil
		}
		provider, problem := providerOf(c, name)
		if problem != "" {
			return nil
		}
		return c.Providers[provider].Models
	}
}

// defaultModel is the one that is named, or the only one.
func defaultModel(p config.Provider) string {
	if p.DefaultModel == "" && len(p.Models) == 1 {
		return p.Models[0]
	}
	return p.DefaultModel
}

// runnerDefaults tells the service what runners use where an agent's
// definition says nothing.
func runnerDefaults(c *config.Config) map[string]service.RunnerDefaults {
	list := map[string]service.RunnerDefaults{}
	add := func(name, kind, workspace string) {
		d := service.RunnerDefaults{Workspace: workspace}
		if provider, problem := providerOf(c, name); kind == "builtin" && problem == "" {
			d.Model = defaultModel(c.Providers[provider])
		}
		list[name] = d
	}
	add(builtinName, "builtin", "")
	for name, r := range c.Runners {
		add(name, r.Kind, r.Workspace)
	}
	return list
}
