package app

import (
	"regexp"

	"taskyard/internal/config"
	"taskyard/jobs"
	"taskyard/runner"
	"taskyard/service"
	"taskyard/task"
)

// serviceConfig returns the rules of the configuration.
func serviceConfig(c *config.Config, o Options, ticks func(task.Time) task.Time) service.Config {
	return service.Config{
		Rules: c.Rules(), Ticks: ticks,
		Now: o.Now, Log: o.Log, Workers: workersOf(c), Webhooks: webhooksOf(c),
		Steerable: steerableOf(c), Runners: runnerDefaults(c), Notify: notifyTargets(c),
	}
}

// workersOf lists the runners that workers execute, with their labels.
func workersOf(c *config.Config) map[string][]string {
	list := map[string][]string{}
	for name, r := range c.Runners {
		if runnerKind(c, name).Place == runner.Worker {
			list[name] = r.Labels
		}
	}
	return list
}

// webhooksOf lists the runners whose receivers report over the API.
func webhooksOf(c *config.Config) map[string]bool {
	list := map[string]bool{}
	for name := range c.Runners {
		list[name] = runnerKind(c, name).Place == runner.Receiver
	}
	return list
}

// steerableOf lists the runners that pass messages of people on to a run that
// works.
func steerableOf(c *config.Config) map[string]bool {
	list := map[string]bool{builtinName: runnerKind(c, builtinName).Steers} // it needs no section
	for name := range c.Runners {
		list[name] = runnerKind(c, name).Steers
	}
	return list
}

// ticksOf is the plan of the ticks, nil where there are none.
func ticksOf(c *config.Config) (func(task.Time) task.Time, error) {
	if !c.Scheduler.Enabled {
		return nil, nil
	}
	loc, err := c.Scheduler.Location()
	if err != nil {
		return nil, err
	}
	return jobs.Ticks(c.Scheduler.Cron, loc)
}

// secretName fits the names of variables whose values are secrets.
var secretName = regexp.MustCompile(`(?i)KEY|TOKEN|SECRET|PASSWORD`)

// secretsOf lists the values that must never be in a transcript.
func secretsOf(c *config.Config, getenv func(string) string) []string {
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
			if secretName.MatchString(k) {
				list = append(list, v)
			}
		}
	}
	return list
}
