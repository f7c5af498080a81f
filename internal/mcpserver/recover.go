package mcpserver

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// survive converts a panic to a protocol error: the SDK handles requests in its
// own goroutines, where a panic would end the whole server.
func (h *handler) survive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				h.log.Error("internal error", "method", method, "error", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: internalMessage}
			}
		}()
		return next(ctx, method, req)
	}
}

// internalMessage is what a caller sees of an internal error.
const internalMessage = "Internal error; the server's log has the details"
