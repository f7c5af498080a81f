package mcptools

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

// result is a success: text for agents, and the same as structured content.
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

// none as the body of an answer leaves its line alone.
var none any = struct{ none bool }{true}

// encode leaves <, > and & as they are: nothing of this is a page.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
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
	Task    *taskView         `json:"task,omitempty"` // the present one, with stale_version
	Retry   int               `json:"retryAfter,omitempty"`
}

// failure is the result of a call that was refused, or that failed through
// our fault: then only the log tells why.
func (y *yard) failure(t tool, err error) *mcp.CallToolResult {
	r := refusal{Code: task.CodeInternal, Message: "Internal error; the server's log tells more"}
	var e *task.Error
	switch {
	case errors.As(err, &e):
		r = refusal{Code: e.Code, Message: named(e), Errors: inWords(t, e.AllFields()), Retry: e.Retry}
		if e.Task != nil {
			r.Task = view(e.Task)
		}
	case errors.Is(err, context.Canceled):
		r.Code, r.Message = task.CodeUnavailable, "The call was taken back"
	default:
		y.log.Error("internal error", "tool", t.name, "error", err)
	}
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t.fails + r.Message}}, IsError: true}
	if b, err := encode(r); err == nil {
		res.StructuredContent = b
	}
	return res
}

// named is the message of an error with the field that it is about.
func named(e *task.Error) string {
	if e.Field == "" || e.Code != task.CodeInvalidField {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// inWords gives fields the names that the tool's schema has for them.
func inWords(t tool, list []task.FieldError) []task.FieldError {
	list = slices.Clone(list)
	for i, f := range list {
		if a, ok := find(t.args, f.Field); ok {
			list[i].Field = a.name
		}
	}
	return list
}
