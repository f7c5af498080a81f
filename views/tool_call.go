package views

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// toolCall is the displayed content of a tool call, parsed from untrusted data
// of an agent.
type toolCall struct {
	Tool string
	Hint string // its most informative argument, on one line
	Args string // all arguments, indented
	Bad  bool   // refused or failed
}

// readToolCall parses the data of a tool_call or tool_result message.
func readToolCall(m task.Message) toolCall {
	var d map[string]json.RawMessage
	if json.Unmarshal(m.Data, &d) != nil {
		return toolCall{Tool: firstLine(m.Content)}
	}
	c := toolCall{Tool: firstString(d, "tool", "name", "toolName"), Bad: m.CallFailed()}
	for _, k := range []string{"args", "arguments", "input"} {
		if raw, ok := d[k]; ok {
			c.Args, c.Hint = indentArgs(raw)
			break
		}
	}
	if c.Tool == "" {
		c.Tool = firstLine(m.Content)
	}
	return c
}

// indentArgs returns arguments as indented JSON, and the most informative one.
func indentArgs(raw json.RawMessage) (args, hint string) {
	var text string
	if json.Unmarshal(raw, &text) == nil { // arguments as a JSON string
		raw = json.RawMessage(text)
	}
	var buf bytes.Buffer
	if json.Indent(&buf, raw, "", "  ") != nil {
		return text, firstLine(text)
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) == nil {
		hint = firstString(m, "path", "file", "file_path", "command", "pattern", "url", "query", "description", "task", "title")
	}
	return buf.String(), firstLine(hint)
}

func firstString(m map[string]json.RawMessage, keys ...string) string {
	for _, k := range keys {
		var s string
		if json.Unmarshal(m[k], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// firstLine returns the first line of s that is not blank, at most 160
// characters.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if r := []rune(line); len(r) > 160 {
			return string(r[:159]) + "…"
		}
		return line
	}
	return ""
}

// lengthText returns the length of a text: "96 lines", or "48 characters" for a
// single line.
func lengthText(s string) string {
	if n := strings.Count(strings.TrimSuffix(s, "\n"), "\n") + 1; n > 1 {
		return fmt.Sprintf("%d lines", n)
	}
	return ui.Count(len([]rune(s)), "character", "characters")
}

// toolIcon returns the icon of a tool.
func toolIcon(tool string) string {
	switch strings.ToLower(tool) {
	case "read", "list":
		return "file-text"
	case "glob", "grep":
		return "search"
	case "fetch":
		return "external-link"
	case "create", "edit":
		return "pencil"
	case "task":
		return "corner-down-right"
	}
	return "terminal"
}
