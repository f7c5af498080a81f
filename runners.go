package main

import (
	"taskyard/config"
	"taskyard/runner"
)

// claudeOf makes the runner of a section of kind claude.
func claudeOf(r config.Runner) *runner.Claude {
	c := &runner.Claude{Argv: r.Command, Env: r.Env}
	if r.SecretEnv != "" {
		c.Pass = []string{r.SecretEnv}
	}
	return c
}
