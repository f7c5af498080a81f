package client

import (
	"net/http"
	"slices"

	"taskyard/task"
)

// Settings contains the commands for settings that admins can change while the
// server runs.
type Settings struct {
	List  SettingsList  `cmd:"" default:"1" help:"List the settings with their values (the default command)."`
	Set   SettingsSet   `cmd:"" help:"Change one setting; it takes effect at once and is written to the configuration file."`
	Reset SettingsReset `cmd:"" help:"Return settings to their defaults."`

	JSON JSONFlag `name:"json" help:"Print the server's JSON answer."`
}

// SettingsList lists the settings.
type SettingsList struct{}

// Run lists them.
func (SettingsList) Run(e *Env) error { return e.settings(http.MethodGet, nil) }

// SettingsSet changes one.
type SettingsSet struct {
	Key   string `arg:"" help:"Key, such as scheduler.cron."`
	Value string `arg:"" help:"New value."`
}

// Run changes it.
func (c *SettingsSet) Run(e *Env) error {
	return e.settings(http.MethodPatch, payload{"set": map[string]string{c.Key: c.Value}}, c.Key)
}

// SettingsReset resets settings to their defaults.
type SettingsReset struct {
	Keys []string `arg:"" help:"Keys, such as scheduler.cron."`
}

// Run resets them.
func (c *SettingsReset) Run(e *Env) error {
	return e.settings(http.MethodPatch, payload{"reset": c.Keys}, c.Keys...)
}

// settings sends a request and prints the settings with these keys, or all.
func (e *Env) settings(method string, body payload, keys ...string) error {
	var send any
	if body != nil {
		send = body
	}
	return printCall(e, method, "/api/settings", send, func(out *struct{ Settings []task.Setting }) {
		for _, s := range out.Settings {
			if len(keys) > 0 && !slices.Contains(keys, s.Key) {
				continue
			}
			line := printable(s.Key) + " = " + printable(s.Value)
			if s.Source != "" {
				line += "  # " + printable(s.Source)
			}
			e.say("%s", line)
		}
	})
}
