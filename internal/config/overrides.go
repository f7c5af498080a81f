package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"taskyard/internal/lazyregexp"
	"taskyard/task"
)

const envPrefix = "TASKYARD_"

// ConfigVariable names the configuration file.
const ConfigVariable = envPrefix + "CONFIG"

// ClientVariables are variables of clients and started agents, and marks by
// which a server recognizes the processes of its runs. They may be in the
// environment of any command and are ignored by its configuration.
var ClientVariables = []string{
	"TASKYARD_URL", "TASKYARD_TOKEN", "TASKYARD_TOKEN_FILE", "TASKYARD_TASK_ID", "TASKYARD_RUN_ID", "TASKYARD_AGENT", "TASKYARD_MODEL",
	"TASKYARD_YARD_ID", "TASKYARD_SHELL_ID", ConfigVariable,
}

// environ loads the TASKYARD_… variables.
func (l *loader) environ(environ []string) {
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		variable, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(variable, envPrefix) || slices.Contains(ClientVariables, variable) {
			continue
		}
		name, ok := keyFromVariable(variable)
		if !ok && serviceLink().MatchString(variable) {
			continue
		}
		if !ok {
			l.unknown = append(l.unknown, variable)
			continue
		}
		l.override(name, value, variable)
	}
}

// serviceLink matches the variables that Kubernetes adds to each container for
// a service whose name begins with taskyard.
var serviceLink = lazyregexp.New(`^TASKYARD_([A-Z0-9_]+_)?` +
	`(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// suggestVariable returns the known variable that an unknown one probably misspells, or
// "".
func suggestVariable(variable string) string {
	var known []string
	for _, k := range keys {
		if !strings.Contains(k.name, "*") {
			known = append(known, envName(k.name)[len(envPrefix):])
		}
	}
	for _, v := range ClientVariables {
		known = append(known, strings.TrimPrefix(v, envPrefix))
	}
	if near := task.Nearest(strings.TrimPrefix(variable, envPrefix), known); near != "" {
		return envPrefix + near
	}
	return ""
}

// flags loads the flags that were given.
func (l *loader) flags(flags map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		l.override(name, flags[name], flagName(name))
	}
}

// flagName returns the source of a flag's value.
func flagName(name string) string {
	if name == "listen" || name == "data" {
		return "flag --" + name // these have their own flags
	}
	return "flag --set " + name
}

// override sets a value that is given as text.
func (l *loader) override(name, value, source string) {
	k, ok := lookup(name)
	switch {
	case !ok:
		l.set(name, value, source) // reports the unknown key
	case k.kind.text == nil:
		l.errs = append(l.errs, fmt.Errorf("%s: %s can only be set in the file: put it in %s", source, name, FileName))
	default:
		l.set(name, k.kind.text(value), source)
	}
}

// keyFromVariable returns the dotted key of a variable:
// TASKYARD_RUNNERS_CODER_KIND is runners.coder.kind. Names with a dash cannot
// be expressed.
func keyFromVariable(variable string) (string, bool) {
	for _, k := range keys {
		before, after, dynamic := strings.Cut(k.name, "*")
		if !dynamic {
			if variable == envName(k.name) {
				return k.name, true
			}
			continue
		}
		middle, ok := strings.CutPrefix(variable, envName(before))
		if middle, ok2 := strings.CutSuffix(middle, envName(after)[len(envPrefix):]); ok && ok2 {
			if name := strings.ToLower(middle); strings.ToUpper(name) == middle && sectionName(name) == nil {
				return before + name + after, true
			}
		}
	}
	return "", false
}

func envName(name string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}
