package mcpserver

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/task"
)

const (
	todoPrefix = "ik://system/agents/"
	todoSuffix = "/tasks.json"
)

// addResource offers the todo list of each agent under its old address.
func (y *yard) addResource(s *mcp.Server) {
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: todoPrefix + "{agent_id}" + todoSuffix, Name: "todo list", MIMEType: "application/json",
		Description: "An agent's todo list: a JSON array of its items, front to back",
	}, y.readTodo)
}

func (y *yard) readTodo(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	agent := strings.TrimSuffix(strings.TrimPrefix(uri, todoPrefix), todoSuffix)
	items, bytes := []string{}, 0
	for call := (task.TodoCall{Op: task.TodoList}); ; {
		a, err := y.svc.TodoCall(ctx, task.ActorIn(ctx), agent, call)
		if err != nil {
			return nil, y.unread(uri, err)
		}
		items = append(items, *a.Items...)
		for _, item := range *a.Items {
			bytes += 3 + task.JSONBytes(item)
		}
		if a.Next == "" || len(items) >= maxItems || bytes >= answerBytes {
			break
		}
		call.After = a.Next
	}
	text, err := encode(items)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(text)}}}, nil
}

// maxItems bounds the resource, as answerBytes does; the tool todo_list reads
// on from a cursor.
const maxItems = 10_000

// unread is why a resource cannot be read, as an error of the protocol: there
// is no other for resources.
func (y *yard) unread(uri string, err error) error {
	var e *task.Error
	switch {
	case task.IsCode(err, task.CodeUnknownAgent):
		return mcp.ResourceNotFoundError(uri)
	case errors.As(err, &e):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: e.Message}
	}
	y.log.Error("internal error", "resource", uri, "error", err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: internalWords}
}
