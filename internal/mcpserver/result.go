package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/task"
)

// result returns a success: text for agents, and the same as structured
// content.
func (a answer) result() (*mcp.CallToolResult, error) {
	structured, err := encode(a.structured)
	if err != nil {
		return nil, err
	}
	body := structured
	if a.body != nil {
		if body, err = encode(a.body); err != nil {
			return nil, err
		}
	}
	var text strings.Builder
	text.WriteString(a.line)
	if a.line != "" && a.body != none {
		text.WriteString("\n\n")
	}
	if a.body != none {
		if err := write(&text, body, a.compact); err != nil {
			return nil, err
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text.String()}}, StructuredContent: structured}, nil
}

// none as the body of an answer means that it has only its line.
var none any = struct{ none bool }{true}

// encode leaves <, > and & unescaped, because the result is not HTML. It
// escapes every character that could be taken for a line ending, so that
// untrusted text cannot look like a separate line.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.ReplaceAll(bytes.TrimRight(b.Bytes(), "\n"), []byte("\u0085"), []byte(`\u0085`)), nil
}

func write(text *strings.Builder, body json.RawMessage, compact bool) error {
	if compact {
		text.Write(body)
		return nil
	}
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		return err
	}
	text.Write(b.Bytes())
	return nil
}

// refusal is the structured content of a failure.
type refusal struct {
	Code    task.Code         `json:"code"`
	Message string            `json:"message"`
	Errors  []task.FieldError `json:"errors,omitempty"`
	More    int               `json:"moreErrors,omitempty"` // wrong arguments in addition to Errors
	Task    *taskView         `json:"task,omitempty"`       // the current task, for stale_version
	Retry   int               `json:"retryAfter,omitempty"`
}

// failure returns the result of a call that was rejected or failed internally;
// in the latter case, only the log has the reason. words are the arguments
// whose names replace those of the error's fields; nil: unchanged.
func (h *handler) failure(t tool, words []arg, err error) *mcp.CallToolResult {
	r := refusal{Code: task.CodeInternal, Message: internalMessage}
	var e *task.Error
	switch {
	case errors.As(err, &e):
		r = refusal{Code: e.Code, Message: e.Message, Errors: withSchemaNames(words, e.AllFields()), More: e.More, Retry: e.Retry}
		if r.Code == task.CodeInvalidField && len(r.Errors) > 0 {
			r.Message = task.JoinFields(r.Errors, r.More)
		}
		if e.Task != nil {
			r.Task = view(e.Task)
		}
	case errors.Is(err, context.Canceled):
		r.Code, r.Message = task.CodeUnavailable, "The call was canceled by the client"
	default:
		h.log.Error("internal error", "tool", t.name, "error", err)
	}
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t.fails + r.Message}}, IsError: true}
	if b, err := encode(r); err == nil {
		res.StructuredContent = b
	}
	return res
}

// otherNames are arguments whose names differ from the service's fields in more
// than spelling.
var otherNames = map[string][]string{"index": {"stepIndex"}, "agent": {"agent_name", "agent_id"}}

// withSchemaNames renames the fields of errors to those of a tool's schema.
func withSchemaNames(words []arg, list []task.FieldError) []task.FieldError {
	list = slices.Clone(list)
	for i, f := range list {
		for _, name := range append([]string{f.Field}, otherNames[f.Field]...) {
			if a, ok := find(words, name); ok {
				list[i].Field = a.name
				break
			}
		}
	}
	return list
}
