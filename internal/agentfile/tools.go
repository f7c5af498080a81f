package agentfile

import (
	"slices"
	"strings"

	"taskyard/task"
)

// listEntry is one entry of a list in the file.
type listEntry struct {
	text string
	line int
}

// tool returns our name of a tool and the pattern in brackets after it, if that
// restricts the tool. The name is "" for an unknown tool.
func tool(text string) (name, pattern string) {
	base := text
	if i := strings.IndexByte(text, '('); i > 0 && strings.HasSuffix(text, ")") {
		base, pattern = text[:i], text[i:]
	}
	if slices.Contains([]string{"()", "(*)", "(**)", "(:*)"}, pattern) {
		pattern = ""
	}
	base = strings.ToLower(strings.TrimSpace(base))
	if slices.Contains(task.KnownTools, base) {
		return base, pattern
	}
	return foreignTools[base], pattern
}

// splitNames splits an entry of known names that are separated by spaces.
func splitNames(entry listEntry) []listEntry {
	words := strings.Fields(entry.text)
	if len(words) < 2 || slices.ContainsFunc(words, func(w string) bool { name, pattern := tool(w); return name == "" || pattern != "" }) {
		return []listEntry{entry}
	}
	list := make([]listEntry, len(words))
	for i, w := range words {
		list[i] = listEntry{w, entry.line}
	}
	return list
}

// tools handles the list of allowed tools that begins at a line.
func (p *parser) tools(line int, entries []listEntry) {
	if len(entries) == 0 {
		p.fatal(line, "Name at least one of: "+strings.Join(task.KnownTools, ", "), "the list of tools is empty")
		return
	}
	for _, entry := range entries {
		for _, entry := range splitNames(entry) {
			p.grant(entry)
		}
	}
}

// grant handles one allowed tool. A tool with a restriction is not granted,
// because the restriction could not be enforced.
func (p *parser) grant(entry listEntry) {
	name, pattern := tool(entry.text)
	switch {
	case name == "":
		p.unknownTool(entry)
	case pattern != "":
		p.warn(entry.line, "Write `"+name+"` to grant the whole tool",
			"only the part %s of %s is allowed, which cannot be enforced: the tool is not granted", task.Quote(pattern), name)
		p.notGranted(entry)
	case !slices.Contains(p.a.Tools, name):
		p.a.Tools = append(p.a.Tools, name)
	}
}

func (p *parser) unknownTool(entry listEntry) {
	hint := "It is never granted. Known tools are " + strings.Join(task.KnownTools, ", ")
	if near := task.Nearest(strings.ToLower(entry.text), task.KnownTools); near != "" {
		hint = "Did you mean `" + near + "`? An unknown tool is never granted"
	}
	if known := foreignHint(entry.text); known != "" {
		hint = known
	}
	p.warn(entry.line, hint, "the tool %s is unknown", task.Quote(entry.text))
	p.notGranted(entry)
}

func (p *parser) notGranted(entry listEntry) {
	if name := task.ClipChars(entry.text, 60); len(p.a.UnknownTools) < maxUnknown && !slices.Contains(p.a.UnknownTools, name) {
		p.a.UnknownTools = append(p.a.UnknownTools, name)
	}
}

// removeDisallowed removes the disallowed tools from the allowed ones.
func (p *parser) removeDisallowed() {
	if len(p.disallowed) == 0 || len(p.a.Tools) == 0 {
		return
	}
	p.a.Tools = slices.DeleteFunc(p.a.Tools, func(t string) bool { return slices.Contains(p.disallowed, t) })
	if len(p.a.Tools) == 0 {
		p.fatal(p.seen["disallowed_tools"], "Allow at least one tool that is not forbidden here",
			"every allowed tool is disallowed, so the list of tools is empty")
	}
}

// splitList splits at commas and line endings outside brackets.
func splitList(s string) []string {
	var parts []string
	depth, from := 0, 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) {
			switch s[i] {
			case '(':
				depth++
				continue
			case ')':
				depth = max(depth-1, 0)
				continue
			case ',':
				if depth > 0 {
					continue
				}
			case '\n':
				depth = 0
			default:
				continue
			}
		}
		if part := strings.TrimSpace(s[from:i]); part != "" {
			parts = append(parts, part)
		}
		from = i + 1
	}
	return parts
}
