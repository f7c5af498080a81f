package codex

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"taskyard/runner/supervise"
)

// item is something that happened in a turn.
type item struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Message   string          `json:"message"`
	Status    string          `json:"status"`
	Command   string          `json:"command"`
	Output    string          `json:"aggregated_output"`
	ExitCode  *int            `json:"exit_code"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Query     string          `json:"query"`
	Changes   []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
	Result *struct {
		Content json.RawMessage `json:"content"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// item emits the events of an item that began or ended.
func (t *talk) item(it *item, done bool, line []byte) {
	switch it.Type {
	case "agent_message":
		if done {
			t.last = t.Clean(it.Text)
			t.Event(supervise.EventText, it.Text, nil, line)
		}
	case "reasoning":
		if done {
			t.Event(supervise.EventLog, it.Text, map[string]any{"reasoning": true}, line)
		}
	case "error":
		t.Event(supervise.EventLog, it.Message, nil, line)
	case "command_execution", "mcp_tool_call", "file_change", "web_search":
		t.tool(it, done, line)
	}
}

// tool reports a call when it begins and its result when it ends. Some items
// are reported only when they end.
func (t *talk) tool(it *item, done bool, line []byte) {
	if !done || it.Type == "file_change" || it.Type == "web_search" {
		t.Event(supervise.EventToolCall, it.call(), it.data(), line)
	}
	if !done {
		return
	}
	switch it.Type {
	case "file_change":
		t.changed(it)
	case "command_execution", "mcp_tool_call":
		data := map[string]any{"id": it.ID, "status": it.Status}
		if it.ExitCode != nil {
			data["exitCode"] = *it.ExitCode
		}
		t.Event(supervise.EventToolResult, it.answer(), data, line)
	}
	if it.Status == "declined" {
		t.Event(supervise.EventPermission, "Codex declined "+it.call(), map[string]any{"id": it.ID, "allowed": false}, line)
	}
}

// isCall reports whether the item is a tool call.
func (it *item) isCall() bool {
	switch it.Type {
	case "command_execution", "mcp_tool_call", "file_change", "web_search":
		return true
	}
	return false
}

// hasStartEvent reports whether Codex also reports the beginning of the item.
func (it *item) hasStartEvent() bool {
	return it.Type == "command_execution" || it.Type == "mcp_tool_call"
}

// call describes the call in one line.
func (it *item) call() string {
	switch it.Type {
	case "command_execution":
		return "bash " + it.Command
	case "mcp_tool_call":
		return it.Server + " " + it.Tool
	case "web_search":
		return "search " + it.Query
	}
	var paths []string
	for _, c := range it.Changes {
		paths = append(paths, c.Kind+" "+c.Path)
	}
	return "change " + strings.Join(paths, ", ")
}

func (it *item) data() map[string]any {
	data := map[string]any{"id": it.ID}
	if len(it.Arguments) > 0 {
		data["arguments"] = it.Arguments
	}
	return data
}

// answer returns the result of a call.
func (it *item) answer() string {
	switch {
	case it.Error != nil:
		return it.Error.Message
	case it.Type == "command_execution" && it.ExitCode != nil && *it.ExitCode != 0:
		return fmt.Sprintf("%s\n[exit code %d]", strings.TrimRight(it.Output, "\n"), *it.ExitCode)
	case it.Type == "command_execution":
		return it.Output
	case it.Result == nil:
		return ""
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(it.Result.Content, &parts) != nil {
		return string(it.Result.Content)
	}
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

// changed records the files of the workspace that a patch changed.
func (t *talk) changed(it *item) {
	if it.Status != "completed" {
		return
	}
	for _, c := range it.Changes {
		path := c.Path
		if rel, err := filepath.Rel(t.Work, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		path = t.Clean(path)
		if len(t.artifacts) < maxArtifacts && !slices.Contains(t.artifacts, path) {
			t.artifacts = append(t.artifacts, path)
		}
	}
}
