package app

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"taskyard/internal/agentfile"
	"taskyard/internal/config"
	"taskyard/jobs"
	"taskyard/service"
	"taskyard/task"
)

// Settings are the configuration that is in use, and what has to know when a
// part of it changes while the server runs. Whoever depends on what can change
// asks here each time that it matters.
type Settings struct {
	opt Options
	now atomic.Pointer[inUse]

	mu             sync.Mutex       // of changes, one at a time
	service        *service.Service // nil until it serves
	jobs           *jobs.Jobs
	runnersChanged func()
}

// inUse is a configuration with what follows from it. It is replaced as a whole.
type inUse struct {
	config   *config.Config
	runners  *runnerSet
	secrets  []string       // of all configurations since the start: runs of former ones may still write
	redactor *task.Redactor // of them
}

// next returns what a configuration gives that follows upon u, which may be nil.
// The runners are the same where all of them are. Error: a runner cannot be made.
func (u *inUse) next(c *config.Config, sameRunners bool, getenv func(string) string) (*inUse, error) {
	n := &inUse{config: c, secrets: collectSecrets(c, getenv)}
	if u != nil {
		n.secrets = slices.Concat(u.secrets, n.secrets)
	}
	slices.Sort(n.secrets)
	n.secrets = slices.Compact(n.secrets)
	n.redactor = task.NewRedactor(n.secrets...)
	if sameRunners {
		n.runners = u.runners
		return n, nil
	}
	var err error
	n.runners, err = newRunnerSet(c, getenv)
	return n, err
}

// NewSettings makes the settings of a configuration. Error: a runner cannot be
// made.
func NewSettings(c *config.Config, o Options) (*Settings, error) {
	s := &Settings{opt: o}
	now, err := s.now.Load().next(c, false, o.Getenv)
	s.now.Store(now)
	return s, err
}

// Use names what has to know of changes. runnersChanged is called after the
// runners were replaced; nil: nobody keeps anything of them.
func (s *Settings) Use(svc *service.Service, clock *jobs.Jobs, runnersChanged func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.service, s.jobs, s.runnersChanged = svc, clock, runnersChanged
}

// runners returns what is configured about runners.
func (s *Settings) runners() *runnerSet { return s.now.Load().runners }

// runner returns what the service is told of a runner.
func (s *Settings) runner(name string) service.Runner { return s.runners().byName[name] }

// agentOptions returns what definitions of agents are checked against.
func (s *Settings) agentOptions() *agentfile.Options { return s.runners().agents }

// secrets lists the values that must never be in a transcript. The caller may
// append to it.
func (s *Settings) secrets() []string { return slices.Clip(s.now.Load().secrets) }

// redact takes the secrets out of a text.
func (s *Settings) redact(text string) string { return s.now.Load().redactor.Text(text) }

// List returns what can be changed.
func (s *Settings) List() []task.Setting { return s.now.Load().config.Settings() }

// Edit checks new values. The caller makes one edit at a time.
func (s *Settings) Edit(values map[string]*string) (out service.SettingsEdit, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.service == nil {
		return out, task.Errorf(task.Unavailable, task.CodeUnavailable, "settings are changed through the server: start it first")
	}
	now := s.now.Load()
	edit, err := now.config.Edit(values)
	if err != nil {
		return out, settingsError(err)
	}
	next, changed, restart := now.config.Takeover(edit.Next)
	ofRunners := keysOfRunners(changed)
	ready, err := now.next(next, len(ofRunners) == 0, s.opt.Getenv)
	if err != nil {
		return out, task.Errorf(task.Conflict, task.CodeConfigInvalid, "Nothing was changed: %s", err)
	}
	ticks, err := newTicks(next)
	if err != nil {
		return out, err
	}
	plan, err := newPlan(next)
	if err != nil {
		return out, err
	}
	outlets, err := newOutlets(next, s.opt.Getenv)
	if err != nil {
		return out, task.Errorf(task.Conflict, task.CodeConfigInvalid, "Nothing was changed: %s", err)
	}
	out.Changes = map[string][2]string{}
	for _, c := range changed {
		out.Changes[c.Key] = [2]string{c.Before, c.After}
	}
	out.Write = func() error {
		if err := edit.Write(); err != nil {
			return settingsError(err)
		}
		return nil
	}
	out.Undo = edit.Undo
	out.Apply = func() {
		if len(restart) > 0 {
			s.opt.Log.Warn("these keys of the configuration take effect after a restart", "keys", restart)
		}
		s.apply(ready, ofRunners, ticks, plan)
		s.jobs.Retarget(outlets)
	}
	return out, nil
}

// keysOfRunners lists the changed keys that are those of runners.
func keysOfRunners(changed []config.Change) (keys []string) {
	for _, c := range changed {
		if config.OfRunners(c.Key) {
			keys = append(keys, c.Key)
		}
	}
	return keys
}

// apply has the server use a configuration. ofRunners are the keys of runners that
// differ.
func (s *Settings) apply(ready *inUse, ofRunners []string, ticks func(task.Time) task.Time, plan jobs.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := ready.config
	s.now.Store(ready)
	s.opt.setLevel(next.Log)
	if len(ofRunners) > 0 {
		if s.runnersChanged != nil {
			s.runnersChanged()
		}
		s.opt.Log.Info("runners reloaded; runs that have started keep theirs", "keys", ofRunners)
		for _, w := range runnerWarnings(next, s.opt.Getenv) {
			s.opt.Log.Warn("a runner cannot start anything yet", "problem", w)
		}
	}
	s.service.Reconfigure(next.Rules(), ticks, notifyTargets(next))
	if err := s.jobs.Reschedule(plan); err != nil {
		s.opt.Log.Error("failed to change the schedule", "error", err)
	}
}

// settingsError is a refusal that people may read.
func settingsError(err error) error {
	var bad *config.EditError
	if !errors.As(err, &bad) {
		return task.Errorf(task.Conflict, task.CodeConfigInvalid, "Nothing was changed: %s", err)
	}
	first := bad.Problems[0]
	e := task.FieldErrorf(first.Field, "%s", first.Message)
	e.Fields = bad.Problems[1:]
	return e
}

// newPlan returns when the jobs run whose times are configured, but not how
// backups are made.
func newPlan(c *config.Config) (jobs.Plan, error) {
	loc, err := c.Scheduler.Location()
	return jobs.Plan{
		Enabled: c.Scheduler.Enabled, Cron: c.Scheduler.Cron, Location: loc,
		Backup: jobs.Backup{Cron: c.Backup.Cron, Keep: c.Backup.Keep},
	}, err
}

// reloadSettings reads the configuration again.
func (in *Instance) reloadSettings(ctx context.Context) {
	if _, err := in.Service.ChangeSettings(ctx, task.SystemActor, nil); err != nil {
		in.opt.Log.Error("failed to reload the configuration; the last valid version is still in use", "error", err)
	}
}
