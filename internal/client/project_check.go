package client

import (
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"taskyard/task"
)

// checkForm explains how to write a check.
const checkForm = "write 'name=test,run=go test ./...,timeout=10m,required', and run=, file= or changed= or the word url; " +
	`a part that holds a comma is quoted: '"run=echo a,b"'`

// readChecks parses the values of a flag; without any, the existing checks
// stay. A single empty value removes all.
func readChecks(flag string, values []string, current []task.Check) ([]task.Check, error) {
	if values == nil {
		return current, nil
	}
	list := []task.Check{}
	for _, text := range withoutEmpty(values) {
		c, err := readCheck(flag, text)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// readCheck parses one check: comma-separated parts, as a line of CSV.
func readCheck(flag, text string) (c task.Check, err error) {
	r := csv.NewReader(strings.NewReader(text))
	r.LazyQuotes = true
	parts, err := r.Read()
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return c, usagef("%s %q is not one line: %s", flag, text, checkForm)
	}
	for _, part := range parts {
		name, value, has := strings.Cut(strings.TrimLeft(part, " "), "=")
		kind := task.CheckKind("")
		switch {
		case name == "name" && has:
			c.Name = value
		case name == "timeout" && has:
			d, err := readSpan(flag+": timeout", value)
			if err != nil {
				return c, err
			}
			c.TimeoutSeconds = int(d.Seconds())
		case name == "required" && !has:
			c.Required = true
		case name == "network" && !has:
			c.Network = true
		case name == "run" && has:
			c.Run, kind = value, task.CheckCommand
		case name == "file" && has:
			c.Path, kind = value, task.CheckFile
		case name == "changed" && has:
			c.Glob, kind = value, task.CheckChanged
		case name == "url" && !has:
			kind = task.CheckURL
		default:
			return c, usagef("%s: %q is not part of a check: %s", flag, part, checkForm)
		}
		if kind != "" && c.Kind != "" {
			return c, usagef("%s %q is more than one check: %s", flag, text, checkForm)
		}
		if kind != "" {
			c.Kind = kind
		}
	}
	if c.Name == "" || c.Kind == "" {
		return c, usagef("%s %q has no name or nothing to look at: %s", flag, text, checkForm)
	}
	return c, nil
}

// readSpan parses a duration of whole seconds: 7d, 90m, 1h30m. An empty one is
// 0.
func readSpan(what, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= 10_000 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d%time.Second != 0 {
		return 0, usagef("%s must be a time such as 90s, 10m, 12h or 7d, not %q", what, text)
	}
	return d, nil
}
