package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"taskyard/internal/config"
	"taskyard/runner"
	"taskyard/runner/builtin/model"
	"taskyard/runner/supervise"
)

// builtinName is the runner of agents without a runner.
const builtinName = "builtin"

// runnerProvider returns the name of the provider of a runner of kind builtin, or
// why it has none.
func runnerProvider(c *config.Config, name string) (provider, problem string) {
	provider = c.Runners[name].Provider
	names := slices.Sorted(maps.Keys(c.Providers))
	switch {
	case provider != "":
		return provider, ""
	case len(names) == 0:
		return "", "no model provider is configured: add [providers.NAME] to taskyard.toml and send SIGHUP to the server"
	case len(names) > 1:
		return "", fmt.Sprintf("several model providers are configured: set provider in [runners.%s] to the one it uses: %s",
			name, strings.Join(names, ", "))
	}
	return names[0], ""
}

// newBuiltins creates the runners that call models: the configured ones, and
// the default one, which needs only a provider.
func newBuiltins(c *config.Config, getenv func(string) string) (map[string]supervise.Runner, error) {
	list := map[string]supervise.Runner{}
	names := append(slices.Collect(maps.Keys(c.Runners)), builtinName)
	for _, name := range names {
		kind := runnerKind(c, name)
		provider, problem := runnerProvider(c, name)
		if problem != "" || !kind.Models {
			continue // its agents are pull-only, or it is of another kind
		}
		settings := runnerSettings(c, name)
		var err error
		if settings.Provider, err = openProvider(c.Providers[provider], getenv); err != nil {
			return nil, err
		}
		settings.Provider.Name = provider
		list[name] = kind.New(settings)
	}
	return list, nil
}

func openProvider(p config.Provider, getenv func(string) string) (runner.Provider, error) {
	out := runner.Provider{Models: p.Models, DefaultModel: defaultModel(p), Prices: map[string]runner.Price{}}
	for name, price := range p.PricePerMtok {
		out.Prices[name] = runner.Price(price)
	}
	key := ""
	if p.APIKeyEnv != "" {
		if key = getenv(p.APIKeyEnv); key == "" {
			out.Problem = "The variable " + p.APIKeyEnv + ", which holds the provider's key, is empty: set it and restart the server"
		}
	}
	var err error
	out.Model, err = model.Open(model.Provider{API: p.API, BaseURL: p.BaseURL, Key: key})
	return out, err
}

// runnerModels returns a function that returns the models of a runner; nil if
// any will do, or they are unknown here.
func runnerModels(c *config.Config) func(runner string) []string {
	return func(name string) []string {
		if _, configured := c.Runners[name]; configured && !runnerKind(c, name).Models {
			return nil
		}
		provider, problem := runnerProvider(c, name)
		if problem != "" {
			return nil
		}
		return c.Providers[provider].Models
	}
}

// defaultModel returns the configured default, or the only model.
func defaultModel(p config.Provider) string {
	if p.DefaultModel == "" && len(p.Models) == 1 {
		return p.Models[0]
	}
	return p.DefaultModel
}
