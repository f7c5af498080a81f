//go:build !windows

package cmd

import (
	"maps"

	"taskyard/db"
	"taskyard/internal/app"
	"taskyard/internal/config"
	"taskyard/runner/workspace"
)

// settings are the flags of every command for the data folder.
type settings struct {
	Data   string            `help:"Data folder (default TASKYARD_DATA, else ./data)." placeholder:"DIR"`
	Config string            `help:"Configuration file (default taskyard.toml in the data folder or in /etc/taskyard)." placeholder:"FILE"`
	Set    map[string]string `help:"Set any configuration key, such as --set scheduler.concurrency=2." placeholder:"KEY=VALUE"`
}

// load loads the configuration. It first finishes an interrupted restore, which
// may replace the configuration.
func (s settings) load(e *Env, more map[string]string) (*config.Config, config.Sources, error) {
	c, src, err := s.read(e, more)
	if err != nil || !db.FolderRestorePending(app.DBPath(c.Data)) {
		return c, src, err
	}
	if err := db.FinishRestoreIfPending(app.DBPath(c.Data), newLogger(e, config.Log{Level: "warn"})); err != nil {
		return nil, nil, err
	}
	return s.read(e, more)
}

func (s settings) read(e *Env, more map[string]string) (*config.Config, config.Sources, error) {
	flags := map[string]string{}
	maps.Copy(flags, s.Set)
	if s.Data != "" {
		flags["data"] = s.Data
	}
	maps.Copy(flags, more)
	c, src, err := config.Load(config.LoadOptions{
		File: s.Config, System: e.SystemConfig, Environ: e.Environ, Flags: flags, Workspace: workspace.CheckApart,
	})
	if err != nil {
		return nil, nil, &usageError{"configuration: " + err.Error()}
	}
	return c, src, nil
}
