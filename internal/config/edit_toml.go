package config

import (
	"bytes"
	"slices"
	"strings"

	"taskyard/internal/lazyregexp"
)

var bom = []byte("\xef\xbb\xbf")

// tomlValue matches a key with a value on one line: what precedes the value,
// the value, and what follows it.
var tomlValue = lazyregexp.New(`^([^=]*=\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#"']+)(\s*(?:#.*)?)$`)

// setKey returns the text of a file with a new value for a setting, or without
// it for nil. Comments and everything else stay unchanged, including values
// that it cannot write, which changesOnly detects.
func setKey(text []byte, name string, value *string) []byte {
	body, marked := bytes.CutPrefix(text, bom)
	end := "\n"
	if bytes.Contains(body, []byte("\r\n")) {
		end = "\r\n"
	}
	lines := strings.Split(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n")
	lines = setLine(lines, name, value)
	out := []byte(strings.Join(lines, end))
	if marked {
		out = append(slices.Clone(bom), out...)
	}
	return out
}

func setLine(lines []string, name string, value *string) []string {
	index := scanLines(strings.Join(lines, "\n"))
	at, found := index[name]
	if value == nil {
		if found {
			lines = slices.Delete(lines, at-1, at)
		}
		return lines
	}
	k, _ := lookup(name)
	typed, err := k.kind.read(k.kind.text(*value))
	if err != nil {
		return lines
	}
	if found {
		if m := tomlValue().FindStringSubmatch(lines[at-1]); m != nil {
			lines[at-1] = m[1] + literal(typed) + m[3]
		}
		return lines
	}
	table, own := section(name)
	line := own + " = " + literal(typed)
	if head, ok := index[table]; ok {
		return slices.Insert(lines, lastKey(lines, head), line)
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	return append(lines, "["+table+"]", line, "")
}

// lastKey returns the index of the last line of a table that has a key, or that
// of its header.
func lastKey(lines []string, head int) int {
	last := head
	for i := head; i < len(lines) && !tomlTable().MatchString(lines[i]); i++ {
		if tomlKey().MatchString(lines[i]) {
			last = i + 1
		}
	}
	return last
}
