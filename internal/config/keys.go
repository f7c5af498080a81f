package config

import (
	"slices"
	"strings"
	"time"
)

// key is one setting: its dotted name, where "*" stands for a name that the
// user chooses, its default (nil: none) and its type.
type key struct {
	name string
	def  any
	kind kind
}

const (
	second = time.Second
	minute = time.Minute
	hour   = time.Hour
	day    = 24 * time.Hour
)

// keys lists all settings in the order of Print.
var keys = []key{
	{"listen", "127.0.0.1:8080", text(listenAddress)},
	{"data", "./data", text(notEmpty)},
	{"database", "", text(orEmpty(postgresURL))},
	{"public_url", "", text(orEmpty(siteURL))},
	{"trusted_proxies", []any{}, list(address)},
	{"allowed_hosts", []any{}, list(hostName)},

	{"log.level", "info", enum("debug", "info", "warn", "error")},
	{"log.format", "auto", enum("auto", "text", "json")},

	{"tls.cert", "", text(orEmpty(notEmpty))},
	{"tls.key", "", text(orEmpty(notEmpty))},
	{"tls.acme", "", text(orEmpty(mailAddress))},
	{"tls.acme_directory", "https://acme-v02.api.letsencrypt.org/directory", text(httpURL)},
	{"tls.redirect", "", text(orEmpty(hostPort))},

	{"scheduler.enabled", true, boolean},
	{"scheduler.cron", "0 6-21 * * *", text(cronLine)},
	{"scheduler.timezone", "Local", text(zone)},
	{"scheduler.concurrency", int64(1), number(1, 64)},
	{"scheduler.wake_budget_per_hour", int64(12), number(0, 1000)},

	{"runs.max_parallel", int64(4), number(1, 256)},
	{"runs.timeout", "300s", duration(second, day)},
	{"runs.idle_timeout", "120s", duration(second, day)},
	{"runs.attempts", int64(3), number(1, 10)},
	{"runs.equal_failures", int64(5), number(0, 100)},
	{"runs.max_check_attempts", int64(3), number(1, 20)},
	{"runs.keep_transcripts", "2160h", duration(hour, 3650*day)},

	{"claims.lease", "2h", duration(minute, 30*day)},

	{"budget.max_cost_usd_per_day", 0.0, money},
	{"budget.max_tokens_per_day", int64(0), number(0, 1_000_000_000_000)},

	{"approval.policy", "delegated", enum("always", "delegated", "never")},
	{"approval.expires", "24h", duration(minute, 30*day)},

	{"checks.accept_weaker", false, boolean},

	{"task_tool.enabled", true, boolean},
	{"task_tool.max_depth", int64(2), number(0, 10)},
	{"task_tool.default_timeout_seconds", int64(300), number(1, 86400)},
	{"task_tool.max_tokens", int64(50000), number(100, 100_000_000)},
	{"task_tool.enable_verbose_logging", false, boolean},
	{"task_tool.allow_model_override", true, boolean},
	{"task_tool.max_per_hour", int64(60), number(1, 100_000)},

	{"backup.cron", "30 3 * * *", text(cronLine)},
	{"backup.keep", int64(7), number(1, 1000)},
	{"backup.after", []any{}, inFile(list(notEmpty))},
	{"backup.after_timeout", "30m", duration(second, day)},

	{"providers.*.api", nil, enum("openai", "anthropic")},
	{"providers.*.base_url", nil, text(httpURL)},
	{"providers.*.api_key_env", nil, text(orEmpty(variableName))},
	{"providers.*.models", nil, list(notEmpty)},
	{"providers.*.default_model", nil, text(notEmpty)},
	{"providers.*.price_per_mtok", nil, prices},

	{"runners.*.kind", nil, enum("command", "builtin", "claude", "codex", "acp", "webhook", "worker")},
	{"runners.*.command", nil, list(notEmpty)},
	{"runners.*.env", nil, variables},
	{"runners.*.workspace", nil, text(workspace)},
	{"runners.*.accept_weaker", nil, boolean},
	{"runners.*.confine", nil, boolean},
	{"runners.*.writable", nil, list(absolutePath)},
	{"runners.*.network", nil, boolean},
	{"runners.*.provider", nil, text(sectionName)},
	{"runners.*.url", nil, text(httpURL)},
	{"runners.*.secret_env", nil, text(variableName)},
	{"runners.*.allow_private", nil, boolean},
	{"runners.*.labels", nil, list(label)},

	{"notify.*.url_env", nil, text(variableName)},
	{"notify.*.kinds", nil, list(noticeKind)},
}

// pattern converts "runners.coder.kind" to "runners.*.kind".
func pattern(name string) string {
	parts := strings.SplitN(name, ".", 3)
	if len(parts) > 1 && slices.Contains(groups, parts[0]) {
		parts[1] = "*"
	}
	return strings.Join(parts, ".")
}

// groups are the tables whose sections have user-defined names.
var groups = []string{"providers", "runners", "notify"}

// lookup returns the setting with a dotted name.
func lookup(name string) (key, bool) {
	want := pattern(name)
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == want })
	if i < 0 || strings.Contains(name, "*") {
		return key{}, false
	}
	return keys[i], true
}

// section splits a dotted name into its table and its own name.
func section(name string) (table, own string) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}

// isTable reports whether there are settings below the name.
func isTable(name string) bool {
	p := pattern(name) + "."
	return slices.ContainsFunc(keys, func(k key) bool { return strings.HasPrefix(k.name, p) })
}

// valid lists the valid settings in place of an unknown name.
func valid(unknown string) string {
	table, _ := section(unknown)
	if table != "" && !isTable(table) {
		return valid(table)
	}
	var names []string
	for _, k := range keys {
		t, own := section(k.name)
		if t == pattern(table) {
			names = append(names, own)
		} else if table == "" {
			if top, _, _ := strings.Cut(t, "."); !slices.Contains(names, "["+top+"]") {
				names = append(names, "["+top+"]")
			}
		}
	}
	if table == "" {
		return "valid keys are " + strings.Join(names, ", ")
	}
	return "valid in [" + table + "] are " + strings.Join(names, ", ")
}
