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
func (r *reader) item(i *item, done bool, line []byte) {
	switch i.Type {
	case "agent_message":
		if done {
			r.last = r.Clean(i.Text)
			r.Event(supervise.EventText, i.Text, nil, line)
		}
	case "reasoning":
		if done {
			r.Event(supervise.EventLog, i.Text, map[string]any{"reasoning": true}, line)
		}
	case "error":
		r.Event(supervise.EventLog, i.Message, nil, line)
	case "command_execution", "mcp_tool_call", "file_change", "web_search":
		r.tool(i, done, line)
	}
}

// tool reports a call when it begins and its result when it ends. Some items
// are reported only when they end.
func (r *reader) tool(i *item, done bool, line []byte) {
	if !done || i.Type == "file_change" || i.Type == "web_search" {
		r.Event(supervise.EventToolCall, i.call(), i.data(), line)
	}
	if !done {
		return
	}
	switch i.Type {
	case "file_change":
		r.changed(i)
	case "command_execution", "mcp_tool_call":
		data := map[string]any{"id": i.ID, "status": i.Status}
		if i.ExitCode != nil {
			data["exitCode"] = *i.ExitCode
		}
		r.Event(supervise.EventToolResult, i.answer(), data, line)
	}
	if i.Status == "declined" {
		r.Event(supervise.EventPermission, "Codex declined "+i.call(), map[string]any{"id": i.ID, "allowed": false}, line)
	}
}

// isCall reports whether the item is a tool call.
func (i *item) isCall() bool {
	switch i.Type {
	case "command_execution", "mcp_tool_call", "file_change", "web_search":
		return true
	}
	return false
}

// hasStartEvent reports whether Codex also reports the beginning of the item.
func (i *item) hasStartEvent() bool {
	return i.Type == "command_execution" || i.Type == "mcp_tool_call"
}

// call describes the call in one line.
func (i *item) call() string {
	switch i.Type {
	case "command_execution":
		return "bash " + i.Command
	case "mcp_tool_call":
		return i.Server + " " + i.Tool
	case "web_search":
		return "search " + i.Query
	}
	var paths []string
	for _, c := range i.Changes {
		paths = append(paths, c.Kind+" "+c.Path)
	}
	return "change " + strings.Join(paths, ", ")
}

func (i *item) data() map[string]any {
	data := map[string]any{"id": i.ID}
	if len(i.Arguments) > 0 {
		data["arguments"] = i.Arguments
	}
	return data
}

// answer returns the result of a call.
func (i *item) answer() string {
	switch {
	case i.Error != nil:
		return i.Error.Message
	case i.Type == "command_execution" && i.ExitCode != nil && *i.ExitCode != 0:
		return fmt.Sprintf("%s\n[exit code %d]", strings.TrimRight(i.Output, "\n"), *i.ExitCode)
	case i.Type == "command_execution":
		return i.Output
	case i.Result == nil:
		return ""
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(i.Result.Content, &parts) != nil {
		return string(i.Result.Content)
	}
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

// changed records the files of the workspace that a patch changed.
func (r *reader) changed(i *item) {
	if i.Status != "completed" {
		return
	}
	for _, c := range i.Changes {
		path := c.Path
		if rel, err := filepath.Rel(r.Work, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		path = r.Clean(path)
		if len(r.artifacts) < maxArtifacts && !slices.Contains(r.artifacts, path) {
			r.artifacts = append(r.artifacts, path)
		}
	}
}
