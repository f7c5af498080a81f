package mcpserver

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// survive turns a panic into an error of the protocol: the SDK handles
// requests in goroutines of its own, in which one would end the whole server.
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

// internalMessage is all that a caller reads of an error that is our fault.
const internalMessage = "Internal error; the server's log tells more"
