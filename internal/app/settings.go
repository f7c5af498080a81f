package app

import (
	"context"
	"errors"
	"sync"

	"taskyard/internal/config"
	"taskyard/jobs"
	"taskyard/service"
	"taskyard/task"
)

// Settings are the configuration that is in use, and what has to know when a
// part of it changes while the server runs.
type Settings struct {
	opt      Options
	mu       sync.Mutex
	current  *config.Config
	redactor *task.Redactor   // of the secrets of current
	service  *service.Service // nil until it serves
	jobs     *jobs.Jobs
}

// NewSettings makes the settings of a configuration.
func NewSettings(c *config.Config, o Options) *Settings {
	return &Settings{opt: o, current: c, redactor: task.NewRedactor(secretsOf(c, o.Getenv)...)}
}

// Use names what has to know of changes.
func (s *Settings) Use(svc *service.Service, clock *jobs.Jobs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.service, s.jobs = svc, clock
}

// secrets lists the values that must never be in a transcript.
func (s *Settings) secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return secretsOf(s.current, s.opt.Getenv)
}

// redact takes the secrets out of a text.
func (s *Settings) redact(text string) string {
	s.mu.Lock()
	r := s.redactor
	s.mu.Unlock()
	return r.Text(text)
}

// List returns what can be changed.
func (s *Settings) List() []task.Setting {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []task.Setting{}
	for _, one := range s.current.Settings() {
		list = append(list, task.Setting(one))
	}
	return list
}

// Edit checks new values. The caller makes one edit at a time.
func (s *Settings) Edit(values map[string]*string) (out service.SettingsEdit, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.service == nil {
		return out, task.Errorf(task.Unavailable, task.CodeUnavailable, "settings are changed through the server: start it first")
	}
	edit, err := s.current.Edit(values)
	if err != nil {
		return out, settingsError(err)
	}
	next, changed, restart := s.current.Takeover(edit.Next)
	ticks, err := ticksOf(next)
	if err != nil {
		return out, err
	}
	plan, err := planOf(next)
	if err != nil {
		return out, err
	}
	outlets, err := outletsOf(next, s.opt.Getenv)
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
		s.apply(next, ticks, plan)
		s.jobs.Retarget(outlets)
	}
	return out, nil
}

// apply has the server use a configuration.
func (s *Settings) apply(next *config.Config, ticks func(task.Time) task.Time, plan jobs.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.redactor = next, task.NewRedactor(secretsOf(next, s.opt.Getenv)...)
	s.opt.setLevel(next.Log)
	s.service.Reconfigure(next.Rules(), ticks, notifyTargets(next))
	if err := s.jobs.Reschedule(plan); err != nil {
		s.opt.Log.Error("schedule not changed", "error", err)
	}
}

// settingsError is a refusal that people may read.
func settingsError(err error) error {
	var bad *config.EditError
	if !errors.As(err, &bad) {
		return task.Errorf(task.Conflict, task.CodeConfigInvalid, "Nothing was changed: %s", err)
	}
	first := bad.Problems[0]
	e := task.FieldErrorf(first.Key, "%s", first.Message)
	for _, p := range bad.Problems[1:] {
		e.Fields = append(e.Fields, task.FieldError{Field: p.Key, Message: p.Message})
	}
	return e
}

// planOf returns when the jobs come whose times are configured, but for how
// backups are made.
func planOf(c *config.Config) (jobs.Plan, error) {
	loc, err := c.Scheduler.Location()
	return jobs.Plan{
		Enabled: c.Scheduler.Enabled, Cron: c.Scheduler.Cron, Location: loc,
		Backup: jobs.Backup{Cron: c.Backup.Cron, Keep: c.Backup.Keep},
	}, err
}

// reloadSettings reads the configuration again.
func (in *Instance) reloadSettings(ctx context.Context) {
	if _, err := in.Service.ChangeSettings(ctx, task.SystemActor, nil); err != nil {
		in.opt.Log.Error("configuration not reloaded; the last valid version is still in use", "error", err)
	}
}
