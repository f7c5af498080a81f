package agentfile

import (
	"slices"
	"strings"

	"taskyard/task"
)

// item is one entry of a list in the file.
type item struct {
	text string
	line int
}

// toolNames maps the names that coding agents use, in lower case, to ours.
var toolNames = map[string]string{
	"read": "read", "list": "list", "ls": "list", "glob": "glob", "grep": "grep",
	"fetch": "fetch", "webfetch": "fetch", "create": "create", "write": "create",
	"edit": "edit", "multiedit": "edit", "bash": "bash", "task": "task",
}

// tool returns our name of a tool and the pattern in brackets behind it, if
// any. The name is "" for an unknown tool.
func tool(text string) (name, pattern string) {
	base := text
	if i := strings.IndexByte(text, '('); i > 0 && strings.HasSuffix(text, ")") {
		base, pattern = text[:i], text[i:]
	}
	return toolNames[strings.ToLower(strings.TrimSpace(base))], pattern
}

// tools takes the list of allowed tools that begins at a line.
func (p *parser) tools(line int, items []item) {
	if len(items) == 0 {
		p.fatal(line, "Name at least one of: "+strings.Join(task.KnownTools, ", "), "the list of tools is empty")
		return
	}
	for _, it := range items {
		name, pattern := tool(it.text)
		if name == "" {
			p.unknownTool(it)
			continue
		}
		if pattern != "" {
			p.warn(it.line, "Write `"+name+"` if the whole tool may be used, else leave it out", "the pattern %s is not enforced: the agent is given all of %s", quote(pattern), name)
		}
		if !slices.Contains(p.a.Tools, name) {
			p.a.Tools = append(p.a.Tools, name)
		}
	}
}

func (p *parser) unknownTool(it item) {
	hint := "It is never granted. Known tools are " + strings.Join(task.KnownTools, ", ")
	if near := nearest(strings.ToLower(it.text), task.KnownTools); near != "" {
		hint = "Did you mean `" + near + "`? An unknown tool is never granted"
	}
	p.warn(it.line, hint, "the tool %s is unknown", quote(it.text))
	if name := clip(it.text); len(p.a.UnknownTools) < maxUnknown && !slices.Contains(p.a.UnknownTools, name) {
		p.a.UnknownTools = append(p.a.UnknownTools, name)
	}
}

// withhold takes the disallowed tools off the allowed ones.
func (p *parser) withhold() {
	if len(p.disallowed) == 0 || len(p.a.Tools) == 0 {
		return
	}
	p.a.Tools = slices.DeleteFunc(p.a.Tools, func(t string) bool { return slices.Contains(p.disallowed, t) })
	if len(p.a.Tools) == 0 {
		p.fatal(p.seen["disallowed_tools"], "Allow at least one tool that is not forbidden here", "every allowed tool is disallowed, so the list of tools is empty")
	}
}

// splitList cuts at commas and line ends that stand outside brackets.
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
