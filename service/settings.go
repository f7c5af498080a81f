package service

import (
	"context"
	"errors"

	"taskyard/task"
)

// SettingsFile is the configuration of the running server, as far as admins may
// change it.
type SettingsFile interface {
	List() []task.Setting
	// Edit checks new values by key, nil for the default; without values the
	// file is only read again. Error: a *task.Error with a field for each
	// value that is wrong.
	Edit(values map[string]*string) (SettingsEdit, error)
}

// SettingsEdit is a checked change that is neither written nor in use.
type SettingsEdit struct {
	Changes map[string][2]string // by key, the values before and after
	Write   func() error         // replaces the file
	Undo    func() error         // puts the former file back
	Apply   func()               // has the server use it
}

// Settings lists the settings that can be changed while the server runs. Only
// admins see where a value comes from. Error: may not read.
func (s *Service) Settings(_ context.Context, a task.Actor) ([]task.Setting, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	if s.config().Settings == nil {
		return nil, nil
	}
	list := s.config().Settings.List()
	if s.allowed(a, task.Admin) != nil {
		for i := range list {
			list[i].Source, list[i].Locked = "", ""
		}
	}
	return list, nil
}

// ChangeSettings writes settings into the configuration file and has the server
// use them at once; nil returns a key to its default. What else changed in the
// file comes into use, too; without values only that. It returns the settings
// as they are now. Errors: not an admin; a value that is wrong or locked; a
// file that is not valid or cannot be written.
func (s *Service) ChangeSettings(ctx context.Context, a task.Actor, values map[string]*string) ([]task.Setting, error) {
	if err := s.allowed(a, task.Admin); err != nil {
		return nil, err
	}
	file := s.config().Settings
	if file == nil {
		return nil, task.Errorf(task.Unavailable, task.CodeUnavailable, "this server was started without a configuration that can be changed")
	}
	s.settingsMu.Lock()
	defer s.settingsMu.Unlock()
	edit, err := file.Edit(values)
	if err != nil {
		return nil, err
	}
	wrote := false
	err = change(ctx, s, a, func(tx *txn) error {
		if len(edit.Changes) > 0 {
			if err := tx.event(task.EvSettings, task.Event{}, edit.Changes); err != nil {
				return err
			}
		}
		wrote = true
		return edit.Write()
	})
	if err != nil && wrote {
		return nil, errors.Join(err, edit.Undo())
	}
	if err != nil {
		return nil, err
	}
	if wrote { // not when an earlier answer was repeated
		edit.Apply()
		s.hub.Publish([]string{"settings", "scheduler", "inbox", "queues"})
	}
	return file.List(), nil
}

// Rules returns those in force now.
func (s *Service) Rules() task.Rules { return s.config().Rules }

// Reconfigure puts other rules, other ticks and other targets of notifications in
// force. One caller at a time.
func (s *Service) Reconfigure(rules task.Rules, ticks func(after task.Time) task.Time, targets []NotifyTarget) {
	cfg := *s.config()
	cfg.Rules, cfg.Ticks, cfg.Notify = rules, ticks, targets
	s.cfg.Store(&cfg)
	s.signal()
}
