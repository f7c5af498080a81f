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

// Settings holds the configuration in use, and notifies its users when a part
// of it changes while the server runs. Values that can change must be read from
// here each time.
type Settings struct {
	opt Options
	now atomic.Pointer[inUse]

	mu             sync.Mutex       // serializes changes
	service        *service.Service // nil before serving
	jobs           *jobs.Jobs
	runnersChanged func()
}

// inUse is a configuration with everything derived from it. It is replaced as a
// whole.
type inUse struct {
	config   *config.Config
	runners  *runnerSet
	secrets  []string       // of all configurations since the start, because earlier runs may still write
	redactor *task.Redactor // for secrets
}

// next returns the successor of u, which may be nil, for a configuration. With
// sameRunners, it reuses the runners. It returns an error if a runner cannot be
// created.
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

// NewSettings returns the settings of a configuration. It returns an error if a
// runner cannot be created.
func NewSettings(c *config.Config, o Options) (*Settings, error) {
	s := &Settings{opt: o}
	now, err := s.now.Load().next(c, false, o.Getenv)
	s.now.Store(now)
	return s, err
}

// Use sets what must be notified of changes. runnersChanged is called after the
// runners were replaced; nil: nothing.
func (s *Settings) Use(svc *service.Service, clock *jobs.Jobs, runnersChanged func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.service, s.jobs, s.runnersChanged = svc, clock, runnersChanged
}

// runners returns the runners in use.
func (s *Settings) runners() *runnerSet { return s.now.Load().runners }

// runner returns a runner's description for the service.
func (s *Settings) runner(name string) service.Runner { return s.runners().byName[name] }

// agentOptions returns the options for checking agent definitions.
func (s *Settings) agentOptions() *agentfile.Options { return s.runners().agents }

// secrets returns the values that must never be in a transcript. The caller may
// append to the slice.
func (s *Settings) secrets() []string { return slices.Clip(s.now.Load().secrets) }

// redact removes the secrets from a text.
func (s *Settings) redact(text string) string { return s.now.Load().redactor.Text(text) }

// List returns the settings that can be changed.
func (s *Settings) List() []task.Setting { return s.now.Load().config.Settings() }

// Edit validates new values. The caller must serialize edits.
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

// keysOfRunners returns the changed keys that belong to runners.
func keysOfRunners(changed []config.Change) (keys []string) {
	for _, c := range changed {
		if config.OfRunners(c.Key) {
			keys = append(keys, c.Key)
		}
	}
	return keys
}

// apply makes the server use a configuration. ofRunners are the changed keys of
// runners.
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

// settingsError returns an error that people may read.
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

// newPlan returns the times of the scheduled jobs, but not how backups are
// made.
func newPlan(c *config.Config) (jobs.Plan, error) {
	loc, err := c.Scheduler.Location()
	return jobs.Plan{
		Enabled: c.Scheduler.Enabled, Cron: c.Scheduler.Cron, Location: loc,
		Backup: jobs.Backup{Cron: c.Backup.Cron, Keep: c.Backup.Keep},
	}, err
}

// reloadSettings reloads the configuration.
func (in *Instance) reloadSettings(ctx context.Context) {
	if _, err := in.Service.ChangeSettings(ctx, task.SystemActor, nil); err != nil {
		in.opt.Log.Error("failed to reload the configuration; the last valid version is still in use", "error", err)
	}
}
