package config

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskyard/task"
)

// settings are the keys that can be changed while the server runs, in display
// order, with descriptions.
var settings = []struct{ name, about string }{
	{"scheduler.enabled", "ticks and wakes start runs"},
	{"scheduler.cron", "when ticks happen: minute, hour, day, month, weekday"},
	{"scheduler.timezone", "time zone of the schedules"},
	{"scheduler.concurrency", "runs of one tick at a time"},
	{"scheduler.wake_budget_per_hour", "wakes per task and hour; 0: none"},

	{"runs.max_parallel", "runs at the same time"},
	{"runs.timeout", "time limit of a run"},
	{"runs.idle_timeout", "time limit of a run without progress"},
	{"runs.attempts", "failures in a row until a task needs a person"},
	{"runs.equal_failures", "equal failures in a row that pause an agent; 0: never"},
	{"runs.max_check_attempts", "completions with failed checks until a run's result goes to people"},
	{"runs.keep_transcripts", "how long transcripts are kept"},

	{"claims.lease", "how long a claim lasts without a heartbeat"},

	{"budget.max_cost_usd_per_day", "cost of the whole instance per day in US dollars; 0: no limit"},
	{"budget.max_tokens_per_day", "tokens of the whole instance per day; 0: no limit"},

	{"approval.policy", "runs that a person must approve"},
	{"approval.expires", "time to decide before a run is denied"},

	{"task_tool.enabled", "agents may delegate"},
	{"task_tool.max_depth", "depth of delegation"},
	{"task_tool.default_timeout_seconds", "seconds of a delegated run"},
	{"task_tool.max_tokens", "tokens of a delegated run"},
	{"task_tool.max_per_hour", "delegations per agent and hour"},
	{"task_tool.allow_model_override", "agents may choose the model for what they delegate"},
	{"task_tool.enable_verbose_logging", "delegated runs are logged in detail"},

	{"backup.cron", "when the instance is backed up, in the scheduler's time zone"},
	{"backup.keep", "number of backups to keep"},

	{"log.level", "least important lines that the server logs"},
}

// Settings lists the keys that can be changed while the server runs. Values are
// text, in the form of variables and flags.
func (c *Config) Settings() []task.Setting {
	path, _, _ := c.opts.path()
	shut := fileLock(path)
	list := make([]task.Setting, 0, len(settings))
	for _, s := range settings {
		k, _ := lookup(s.name)
		def, _ := k.kind.read(k.def) // valid: see TestDefaults
		one := task.Setting{
			Key: s.name, About: s.about, Value: formatValue(c.values[s.name]), Default: formatValue(def),
			Source: c.sources[s.name], Locked: shut, Choices: k.kind.words,
		}
		if by := c.overriddenBy(s.name); by != "" {
			one.Locked = by
		}
		list = append(list, one)
	}
	return list
}

// overriddenBy returns which variable or flag overrides the file for a key, or
// "".
func (c *Config) overriddenBy(name string) string {
	switch source := c.sources[name]; {
	case source == envName(name):
		return "the variable " + source + " sets it: change it there and restart the server"
	case source == flagName(name):
		return "the " + source + " sets it: change the command line and restart the server"
	}
	return ""
}

// isSetting reports whether a key can be changed while the server runs.
func isSetting(name string) bool {
	for _, s := range settings {
		if s.name == name {
			return true
		}
	}
	return false
}

// Change is a changed setting. Values are text.
type Change struct{ Key, Before, After string }

// reloaded reports whether a running server applies changes of a key in its
// file: the settings, notification targets, runners and their providers. Links
// in notifications use the public URL at the start of the server, and folders
// of runners were checked against its data folder.
func (c *Config) reloaded(name string, next *Config) bool {
	switch group, _, _ := strings.Cut(name, "."); group {
	case "notify":
		return c.PublicURL == next.PublicURL
	case "providers", "runners":
		return c.Data == next.Data
	}
	return isSetting(name)
}

// OfRunners reports whether a key belongs to runners or their providers.
func OfRunners(key string) bool {
	return strings.HasPrefix(key, "runners.") || strings.HasPrefix(key, "providers.")
}

// Takeover returns c with the settings, notification targets, runners and
// providers of next, the changes, and the keys of next that differ from c and
// require a restart.
func (c *Config) Takeover(next *Config) (merged *Config, changed []Change, restart []string) {
	m := *c
	m.file = next.file
	m.values, m.sources = maps.Clone(c.values), maps.Clone(c.sources)
	m.Notify, m.Providers, m.Runners = maps.Clone(c.Notify), maps.Clone(c.Providers), maps.Clone(c.Runners)
	for _, s := range settings {
		v := next.values[s.name]
		if before, after := formatValue(c.values[s.name]), formatValue(v); before != after {
			changed = append(changed, Change{s.name, before, after})
		}
		m.values[s.name], m.sources[s.name] = v, next.sources[s.name]
		assign(reflect.ValueOf(&m).Elem(), s.name, reflect.ValueOf(v))
	}
	names := maps.Clone(c.values)
	maps.Copy(names, next.values)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, after := c.values[name], next.values[name]
		switch {
		case isSetting(name) || reflect.DeepEqual(before, after):
		case !c.reloaded(name, next):
			restart = append(restart, name)
		default:
			changed = append(changed, Change{name, inEvent(name, before), inEvent(name, after)})
			m.values[name], m.sources[name] = after, next.sources[name]
			if after == nil {
				delete(m.values, name)
				delete(m.sources, name)
			}
			m.takeSection(name, next)
		}
	}
	return &m, changed, restart
}

// takeSection copies the section of a key from next.
func (c *Config) takeSection(name string, next *Config) {
	parts := strings.SplitN(name, ".", 3)
	switch group, own := parts[0], parts[1]; group {
	case "notify":
		c.Notify = replaced(c.Notify, next.Notify, own)
	case "providers":
		c.Providers = replaced(c.Providers, next.Providers, own)
	case "runners":
		c.Runners = replaced(c.Runners, next.Runners, own)
	}
}

// replaced replaces one section of the table, which may be nil, with that of
// next.
func replaced[T any](table, next map[string]T, own string) map[string]T {
	section, ok := next[own]
	if !ok {
		delete(table, own)
		return table
	}
	if table == nil {
		table = map[string]T{}
	}
	table[own] = section
	return table
}

// inEvent formats a value for the event log, which everyone may read.
// Variables, arguments and URL paths of runners may be secrets.
func inEvent(name string, v any) string {
	if !OfRunners(name) {
		return formatValue(v)
	}
	switch v := v.(type) {
	case map[string]string:
		return inline(v, func(string, string) string { return quote(Hidden) })
	case []string:
		if strings.HasSuffix(name, ".command") && len(v) > 1 {
			return literal([]string{v[0], Hidden})
		}
	case string:
		if u, err := url.Parse(v); err == nil && u.Host != "" && (u.Path != "" || u.RawQuery != "") {
			return u.Scheme + "://" + u.Host + "/" + Hidden
		}
	}
	return formatValue(v)
}

// formatValue formats a checked value in the form of variables and flags.
func formatValue(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case time.Duration:
		return shortDuration(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return literal(v)
}
