package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// checkSections checks the rules between several keys of one provider or
// runner.
func (l *loader) checkSections() {
	l.checkTLS()
	for _, s := range l.sections("providers") {
		l.checkProvider(s)
	}
	for _, s := range l.sections("runners") {
		l.checkRunner(s)
	}
	for _, s := range l.sections("notify") {
		l.checkNotify(s)
	}
}

// checkTLS checks that there is at most one certificate, for an https URL.
func (l *loader) checkTLS() {
	given := func(name string) bool { s, _ := l.values[name].(string); return s != "" }
	address, _ := l.values["public_url"].(string)
	u, err := url.Parse(address)
	first := func(names ...string) string { return names[max(slices.IndexFunc(names, given), 0)] }
	switch cert, key, acme := given("tls.cert"), given("tls.key"), given("tls.acme"); {
	case cert != key:
		l.addError(first("tls.cert", "tls.key"), "give cert and key, the two files of a certificate")
	case cert && acme:
		l.addError("tls.acme", "give either acme or cert and key")
	case !cert && !acme:
		if given("tls.redirect") {
			l.addError("tls.redirect", "needs cert and key, or acme")
		}
	case err != nil || u.Scheme != "https":
		l.addError(first("tls.cert", "tls.acme"), `needs public_url with the address of the certificate such as "https://tasks.example.org"`)
	case acme && net.ParseIP(u.Hostname()) != nil:
		l.addError("tls.acme", "needs a name in public_url: certificates are for names")
	}
}

// checkNotify sets the default kinds of notifications.
func (l *loader) checkNotify(s string) {
	l.require(s, "url_env", `name the variable that holds the address of the service such as "TASKYARD_NOTIFY_OPS"`)
	if kinds, ok := l.values[s+"kinds"].([]string); ok && len(kinds) == 0 {
		l.addError(s+"kinds", "must not be empty: valid values are %s", strings.Join(noticeKinds, ", "))
	} else if !ok && !l.refused[s+"kinds"] {
		l.values[s+"kinds"], l.sources[s+"kinds"] = noticeKinds[:4], fromDefault
	}
	if url, _ := l.values["public_url"].(string); url == "" && !l.refused["public_url"] {
		l.addError(strings.TrimSuffix(s, "."), "needs public_url, so that the link of a notice leads to this server")
	}
}

// checkVariables rejects unknown variables, unless a key names them as holding
// a secret.
func (l *loader) checkVariables() {
	for _, variable := range l.unknown {
		named := func(name string) bool { return strings.HasSuffix(name, "_env") && l.values[name] == variable }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(l.values)), named) {
			hint := "a key of " + FileName + " in capitals is valid, such as TASKYARD_SCHEDULER_CRON for cron in [scheduler]"
			if near := suggestVariable(variable); near != "" {
				hint = "did you mean " + near + "?"
			}
			l.errs = append(l.errs, fmt.Errorf("%s: unknown variable: %s", variable, hint))
		}
	}
}

// sections returns the prefixes ("runners.coder.") of the sections of a group.
func (l *loader) sections(group string) []string {
	found := map[string]bool{}
	for name := range l.sources {
		if parts := strings.SplitN(name, ".", 3); parts[0] == group && len(parts) > 1 {
			found[group+"."+parts[1]+"."] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (l *loader) checkProvider(s string) {
	l.require(s, "api", `give "openai" or "anthropic"`)
	models, _ := l.values[s+"models"].([]string)
	model, ok := l.values[s+"default_model"].(string)
	if ok && len(models) > 0 && !slices.Contains(models, model) {
		l.addError(s+"default_model", "%q is not among models: valid values are %s", model, strings.Join(models, ", "))
	}
}

// needs maps the kinds of runners to the key that each requires.
var needs = map[string][2]string{
	"command": {"command", `give the program and its arguments such as ["python3", "/srv/agent.py"]`},
	"acp":     {"command", `give the program and its arguments such as ["gemini", "--acp"]`},
	"webhook": {"url", `give one such as "https://host/path"`},
}

func (l *loader) checkRunner(s string) {
	if s == "runners.none." {
		l.addError(strings.TrimSuffix(s, "."), "the name none is taken: an agent with that runner is never started")
	}
	l.require(s, "kind", "valid values are command, builtin, claude, codex, acp, webhook, worker")
	kind, _ := l.values[s+"kind"].(string)
	if need, ok := needs[kind]; ok {
		l.require(s, need[0], "a runner of kind "+kind+" needs it: "+need[1])
	}
	if kind == "webhook" {
		l.require(s, "secret_env", "name the variable that holds the signing secret")
	}
	if command, ok := l.values[s+"command"].([]string); ok && len(command) == 0 {
		l.addError(s+"command", `must not be empty: give the program and its arguments such as ["python3", "/srv/agent.py"]`)
	}
	l.checkFolders(s)
	provider, ok := l.values[s+"provider"].(string)
	if ok && !slices.Contains(l.sections("providers"), "providers."+provider+".") {
		l.addError(s+"provider", "there is no [providers.%s]", provider)
	}
}

// checkFolders rejects folders of a runner that are the data folder, contain
// it, or are inside it.
func (l *loader) checkFolders(s string) {
	data, _ := l.values["data"].(string)
	kind, _ := l.values[s+"kind"].(string)
	if l.workspace == nil || data == "" || kind == "worker" || kind == "webhook" {
		return // those are folders on another machine
	}
	check := func(own, folder string) {
		if folder == "" {
			return
		}
		if err := l.workspace(folder, data); err != nil {
			l.addError(s+own, "%s", err)
		}
	}
	workspace, _ := l.values[s+"workspace"].(string)
	check("workspace", workspace)
	writable, _ := l.values[s+"writable"].([]string)
	for _, folder := range writable {
		check("writable", folder)
	}
	if confine, ok := l.values[s+"confine"].(bool); ok && !confine || kind != "claude" && kind != "acp" {
		return
	}
	// The folders in these variables are writable, too.
	env, _ := l.values[s+"env"].(map[string]string)
	for _, name := range []string{"HOME", "TMPDIR", "CLAUDE_CONFIG_DIR"} {
		check("env."+name, env[name])
	}
}

// require reports a missing key, unless its value was already rejected.
func (l *loader) require(s, own, hint string) {
	if _, ok := l.values[s+own]; ok || l.refused[s+own] {
		return
	}
	l.addError(s+own, "is missing: %s", hint)
}

func (l *loader) addError(name, format string, args ...any) {
	source := l.sources[name]
	if source == "" {
		table, _ := section(name)
		source = l.sources[table]
	}
	source = cmp.Or(source, "configuration")
	l.errs = append(l.errs, fmt.Errorf("%s: %s: %s", source, name, fmt.Sprintf(format, args...)))
}
