package service

import (
	"cmp"
	"slices"
	"strings"

	"taskyard/task"
)

// settle turns what the caller asks for into what bounds the run: never wider
// than the agent's definition and than what the caller has itself. Errors: the
// fields that ask for more.
func (tx *txn) settle(def task.Agent, c *delegator, d task.Delegation) (*task.Ask, error) {
	model, err := tx.s.modelFor(def, c, d)
	if err != nil {
		return nil, err
	}
	tools, err := toolsFor(def, c, d.Tools)
	if err != nil {
		return nil, err
	}
	limits, err := tx.s.delegatedLimits(def).AtMost(c.remaining).Tighten(d.Limits)
	if err != nil {
		return nil, err
	}
	return &task.Ask{Model: model, Complexity: d.Complexity, Tools: tools, NoNetwork: c.noNetwork, Limits: limits, Request: d.Key()}, nil
}

// modelFor chooses the model: the one asked for, by complexity, the agent's,
// the caller's, the provider's. Another runner than the caller's has models of
// its own.
func (s *Service) modelFor(def task.Agent, c *delegator, d task.Delegation) (string, error) {
	tool, callers := s.config().TaskTool, c.model
	if d.Model == "" {
		inherited := cmp.Or(callers, tool.DefaultModel)
		if c.runner != "" && c.runner != def.Runner {
			inherited = s.runner(def.Runner).Model
		}
		return cmp.Or(def.Models[d.Complexity], def.Model, inherited), nil
	}
	if !tool.ModelOverride {
		return "", task.FieldErrorf("model", "must be left out: this server lets no caller "+
			"choose a model (task_tool.allow_model_override = false)")
	}
	known := allowedModels(def, callers, tool)
	switch {
	case tool.AnyModel || slices.Contains(known, d.Model):
		return d.Model, nil
	case len(known) == 0:
		return "", task.FieldErrorf("model", "unknown model %q: no model is configured or named by agent %s; leave it out", d.Model, def.ID)
	}
	return "", task.FieldErrorf("model", "unknown model %q: allowed are %s", d.Model, strings.Join(known, ", "))
}

// allowedModels lists the models that may be asked for: the providers', and those
// that the agent's definition and the caller's run name.
func allowedModels(def task.Agent, callers string, tool task.DelegationRules) []string {
	list := slices.Clone(tool.Models)
	list = append(list, tool.DefaultModel, def.Model, callers)
	for _, m := range def.Models {
		list = append(list, m)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(m string) bool { return m == "" })
}

// toolsFor is the widest set of tools that the run may have: the caller's own,
// or those of them that it asks for.
func toolsFor(def task.Agent, c *delegator, requested []string) ([]string, error) {
	if requested == nil {
		return c.tools, nil
	}
	var p task.Problems
	for _, tool := range requested {
		switch {
		case c.tools != nil && !slices.Contains(c.tools, tool):
			p.Add("tools", "%s is wider than your own tools (%s)", tool, toolList(c.tools))
		case !def.HasTool(tool):
			p.Add("tools", "agent %s does not have %s; it has %s", def.ID, tool, toolList(def.Tools))
		}
	}
	return append([]string{}, requested...), p.Err()
}

// intersect returns what is in both lists, in the order of the first; nil
// is no bound.
func intersect(a, b []string) []string {
	out := []string{}
	for _, v := range a {
		if b == nil || slices.Contains(b, v) {
			out = append(out, v)
		}
	}
	return out
}

// ownLimits are those that the definition itself names.
func ownLimits(def task.Agent) task.Limits {
	return task.Limits{
		TimeoutSeconds: int(def.Timeout.Seconds()), IdleTimeoutSeconds: int(def.IdleTimeout.Seconds()),
		MaxTokens: def.MaxTokens, MaxTurns: def.MaxTurns, MaxCostUSD: def.MaxCostUSD,
	}
}

// delegatedLimits are those of a delegated run before its caller's bound it.
func (s *Service) delegatedLimits(def task.Agent) task.Limits {
	l := ownLimits(def)
	l.TimeoutSeconds = cmp.Or(l.TimeoutSeconds, int(s.config().TaskTool.Timeout.Seconds()))
	l.IdleTimeoutSeconds = cmp.Or(l.IdleTimeoutSeconds, int(s.config().IdleTimeout.Seconds()))
	return l.AtMost(task.Limits{MaxTokens: s.config().TaskTool.MaxTokens})
}
