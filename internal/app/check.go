package app

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"taskyard/internal/config"
	"taskyard/runner/supervise"
)

// CheckConfig checks what a configuration refers to outside itself. errs
// prevent a server from starting; warnings disable something until they are
// fixed.
func CheckConfig(c *config.Config, getenv func(string) string) (errs []error, warnings []string) {
	if _, err := newTicks(c); err != nil {
		errs = append(errs, err)
	}
	if _, err := newBuiltins(c, getenv); err != nil {
		errs = append(errs, err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Notify)) {
		if _, err := OpenTarget(name, c.Notify[name], getenv); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		errs = append([]error{errors.New("the server would not start with this configuration")}, errs...)
	}
	warnings = runnerWarnings(c, getenv)
	if after := c.Backup.After; len(after) > 0 {
		if _, err := supervise.LookPath(after); err != nil {
			warnings = append(warnings, "backup.after: "+err.Error())
		}
	}
	return errs, warnings
}

// runnerWarnings returns which runners cannot start, and why.
func runnerWarnings(c *config.Config, getenv func(string) string) (warnings []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		if v := c.Providers[name].APIKeyEnv; v != "" && getenv(v) == "" {
			warnings = append(warnings, fmt.Sprintf("providers.%s: the variable %s, which holds the key, is empty: "+
				"set it in the environment of the server", name, v))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Runners)) {
		kind, settings := runnerKind(c, name), runnerSettings(c, name)
		if kind.Missing != nil {
			if why := kind.Missing(settings); why != "" {
				warnings = append(warnings, fmt.Sprintf("runners.%s: %s", name, why))
			}
		}
		switch v := settings.SecretEnv; {
		case v != "" && kind.Name != "claude" && kind.Name != "webhook":
			warnings = append(warnings, fmt.Sprintf("runners.%s: runners of kind %s do not use secret_env: "+
				"hand on %s by env in the definitions of its agents, or see docs/runners.md for its credentials", name, kind.Name, v))
		case v != "" && getenv(v) == "":
			warnings = append(warnings, fmt.Sprintf("runners.%s: the variable %s, which holds the secret, is empty: "+
				"set it in the environment of the server", name, v))
		}
	}
	return warnings
}
