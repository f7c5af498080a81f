package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const envPrefix = "TASKYARD_"

// ClientVariables are those that clients and started agents read, and the marks
// by which a server knows the processes of its runs. They may be in the
// environment of any command and mean nothing to its configuration.
var ClientVariables = []string{
	"TASKYARD_URL", "TASKYARD_TOKEN", "TASKYARD_TOKEN_FILE", "TASKYARD_TASK_ID", "TASKYARD_RUN_ID", "TASKYARD_AGENT", "TASKYARD_MODEL",
	"TASKYARD_YARD_ID", "TASKYARD_SHELL_ID",
}

// environ reads the TASKYARD_… variables.
func (l *loader) environ(environ []string) {
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		variable, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(variable, envPrefix) || slices.Contains(ClientVariables, variable) {
			continue
		}
		name, ok := keyOf(variable)
		if !ok {
			l.strangers = append(l.strangers, variable)
			continue
		}
		l.override(name, value, variable)
	}
}

// flags reads the flags that were given.
func (l *loader) flags(flags map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		flag := "flag --set " + name
		if name == "listen" || name == "data" {
			flag = "flag --" + name // these have one of their own
		}
		l.override(name, flags[name], flag)
	}
}

// override sets a value that came as text.
func (l *loader) override(name, value, source string) {
	k, ok := lookup(name)
	switch {
	case !ok:
		l.set(name, value, source) // notes the unknown key
	case k.kind.text == nil:
		l.errs = append(l.errs, fmt.Errorf("%s: %s can only be set in the file: put it in %s", source, name, FileName))
	default:
		l.set(name, k.kind.text(value), source)
	}
}

// keyOf finds the dotted key of a variable: TASKYARD_RUNNERS_CODER_KIND is
// runners.coder.kind. Names with a dash cannot be written so.
func keyOf(variable string) (string, bool) {
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
