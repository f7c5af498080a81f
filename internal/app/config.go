package app

import (
	"taskyard/internal/config"
	"taskyard/jobs"
	"taskyard/service"
	"taskyard/task"
)

// serviceConfig returns the rules of the configuration.
func serviceConfig(c *config.Config, o Options, ticks func(task.Time) task.Time) service.Config {
	return service.Config{
		Rules: c.Rules(), Ticks: ticks, Now: o.Now, Log: o.Log, Notify: notifyTargets(c),
	}
}

// newTicks returns a function that returns when the scheduler ticks, nil if it
// is disabled.
func newTicks(c *config.Config) (func(task.Time) task.Time, error) {
	if !c.Scheduler.Enabled {
		return nil, nil
	}
	loc, err := c.Scheduler.Location()
	if err != nil {
		return nil, err
	}
	return jobs.Ticks(c.Scheduler.Cron, loc)
}

// collectSecrets returns the values that must never be in a transcript.
func collectSecrets(c *config.Config, getenv func(string) string) []string {
	var list []string
	for _, p := range c.Providers {
		list = append(list, getenv(p.APIKeyEnv))
	}
	for _, n := range c.Notify {
		list = append(list, getenv(n.URLEnv))
	}
	for _, r := range c.Runners {
		list = append(list, getenv(r.SecretEnv))
		for k, v := range r.Env {
			if task.IsSecretName(k) {
				list = append(list, v)
			}
		}
	}
	return list
}
