package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/task"
)

const (
	todoPrefix = "ik://system/agents/"
	todoSuffix = "/tasks.json"
)

// addResource adds the todo list of each agent as a resource, with its original
// URI.
func (h *handler) addResource(s *mcp.Server) {
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: todoPrefix + "{agent_id}" + todoSuffix, Name: "todo list", MIMEType: "application/json",
		Description: "An agent's todo list: a JSON array of its items, front to back",
	}, h.readTodo)
}

func (h *handler) readTodo(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	agent := strings.TrimSuffix(strings.TrimPrefix(uri, todoPrefix), todoSuffix)
	items, cut, err := h.todoItems(ctx, agent)
	if err != nil {
		return nil, h.unread(uri, err)
	}
	text, err := encode(items)
	if err != nil {
		return nil, err
	}
	res := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(text)}}}
	if cut != "" {
		res.Contents = append(res.Contents, &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: cut})
	}
	return res, nil
}

// maxItems bounds the resource, in addition to answerBytes.
const maxItems = 10_000

// todoItems reads the items that fit into an answer. If there are more, cut
// says how to read them.
func (h *handler) todoItems(ctx context.Context, agent string) (items []string, cut string, err error) {
	items = []string{}
	bytes := 0
	for call := (task.TodoCall{Op: task.TodoList}); ; {
		a, err := h.svc.TodoCall(ctx, task.ActorFromContext(ctx), agent, call)
		if err != nil {
			return nil, "", err
		}
		for _, item := range *a.Items {
			bytes += 3 + task.JSONBytes(item)
		}
		if len(items) > 0 && bytes > answerBytes {
			return items, todoCut(agent, len(items), call.After), nil
		}
		items = append(items, *a.Items...)
		switch {
		case a.Next == "":
			return items, "", nil
		case len(items) >= maxItems || bytes >= answerBytes:
			return items, todoCut(agent, len(items), a.Next), nil
		}
		call.After = a.Next
	}
}

func todoCut(agent string, n int, after string) string {
	return fmt.Sprintf("cut: these are the first %d items, as an answer has at most 256 KiB; "+
		"read on with todo_list, agent_id %q, after %q", n, agent, after)
}

// unread returns why a resource cannot be read as a protocol error, the only
// kind that resources have.
func (h *handler) unread(uri string, err error) error {
	var e *task.Error
	switch {
	case task.IsCode(err, task.CodeUnknownAgent):
		return mcp.ResourceNotFoundError(uri)
	case errors.As(err, &e):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: e.Message}
	}
	h.log.Error("internal error", "resource", uri, "error", err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: internalMessage}
}
