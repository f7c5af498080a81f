package views

import (
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// ServerModel is the page of the settings that admins can change while the
// server runs.
type ServerModel struct {
	Settings []task.Setting
	Form     map[string]string // the typed values, if saving failed
	Errors   ui.FieldErrors
	Servers  []task.Server // servers on the database; none: only one is possible
}

// serverScopeText explains which of several servers the settings apply to.
func serverScopeText(servers []task.Server) string {
	address := ""
	for _, s := range servers {
		if s.This {
			address = s.Address
		}
	}
	return "These settings apply only to the server at " + address + ". The other servers that share its database have their own files: " +
		"change those as well."
}

// settingGroup contains the settings of one section of the file.
type settingGroup struct {
	Name, Title string
	List        []task.Setting
}

var settingTitles = map[string]string{
	"scheduler": "Scheduler", "runs": "Runs", "claims": "Claims", "budget": "Budget of the instance", "approval": "Approvals",
	"task_tool": "Delegation", "backup": "Backups", "log": "Log",
}

func settingGroups(list []task.Setting) (out []settingGroup) {
	for _, s := range list {
		name, _, _ := strings.Cut(s.Key, ".")
		if len(out) == 0 || out[len(out)-1].Name != name {
			out = append(out, settingGroup{Name: name, Title: settingTitles[name]})
		}
		g := &out[len(out)-1]
		g.List = append(g.List, s)
	}
	return out
}

// value returns the value of a field: as typed, otherwise the current one.
func (m *ServerModel) value(s task.Setting) string {
	if v, ok := m.Form[s.Key]; ok {
		return v
	}
	return s.Value
}

// settingHint describes the default, where the value comes from, and why it
// cannot be changed.
func settingHint(s task.Setting) string {
	hint := "Default: " + settingWord(s.Default)
	if s.Source != "" && s.Source != "default" && !strings.Contains(s.Locked, s.Source) {
		hint += " · now from " + s.Source
	}
	if s.Locked != "" {
		hint += " · Locked: " + s.Locked
	}
	return hint
}

// settingWord returns a value in words.
func settingWord(v string) string {
	switch v {
	case "true":
		return "yes"
	case "false":
		return "no"
	}
	return v
}
