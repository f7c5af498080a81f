package runner

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// codexItem is a thing that happened in a turn.
type codexItem struct {
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

// item makes events of an item that began or ended.
func (t *codexTalk) item(it *codexItem, done bool, line []byte) {
	switch it.Type {
	case "agent_message":
		if done {
			t.last = clean(t.red.Text(it.Text))
			t.event(EventText, it.Text, nil, line)
		}
	case "reasoning":
		if done {
			t.event(EventLog, it.Text, map[string]any{"reasoning": true}, line)
		}
	case "error":
		t.event(EventLog, it.Message, nil, line)
	case "command_execution", "mcp_tool_call", "file_change", "web_search":
		t.tool(it, done, line)
	}
}

// tool reports a call when it begins and its result when it ends. Some items
// are told only at their end.
func (t *codexTalk) tool(it *codexItem, done bool, line []byte) {
	if !done || it.Type == "file_change" || it.Type == "web_search" {
		t.event(EventToolCall, it.call(), it.data(), line)
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
		t.event(EventToolResult, it.answer(), data, line)
	}
	if it.Status == "declined" {
		t.event(EventPermission, "Codex declined "+it.call(), map[string]any{"id": it.ID, "allowed": false}, line)
	}
}

// isCall reports whether it is a call of a tool.
func (it *codexItem) isCall() bool {
	switch it.Type {
	case "command_execution", "mcp_tool_call", "file_change", "web_search":
		return true
	}
	return false
}

// told reports whether its beginning is told too.
func (it *codexItem) told() bool { return it.Type == "command_execution" || it.Type == "mcp_tool_call" }

// call names what is done, in one line.
func (it *codexItem) call() string {
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

func (it *codexItem) data() map[string]any {
	data := map[string]any{"id": it.ID}
	if len(it.Arguments) > 0 {
		data["arguments"] = it.Arguments
	}
	return data
}

// answer is what came of a call.
func (it *codexItem) answer() string {
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

// changed notes the files of the workspace that a patch changed.
func (t *codexTalk) changed(it *codexItem) {
	if it.Status != "completed" {
		return
	}
	for _, c := range it.Changes {
		path := c.Path
		if rel, err := filepath.Rel(t.work, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		path = clean(t.red.Text(path))
		if len(t.artifacts) < maxArtifacts && !slices.Contains(t.artifacts, path) {
			t.artifacts = append(t.artifacts, path)
		}
	}
}
