package handlers

import (
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"taskyard/task"
)

const mcpPath = "/mcp"

func isMCP(path string) bool { return path == mcpPath }

// mcp passes a request to the MCP server, with its caller.
func (s *Server) mcp(c echo.Context) error {
	leave, err := s.admitMCP(c)
	if err != nil {
		return err
	}
	leave = sync.OnceFunc(leave)
	defer leave()
	r := c.Request()
	ctx := task.WithWaitHook(task.WithActor(r.Context(), actorFrom(c)), leave) // a call that waits reads no list
	s.opt.MCP.ServeHTTP(c.Response(), r.WithContext(ctx))
	return nil
}

// mcpOrigin rejects requests from pages of other sites, even with a token: the
// protocol requires that, because pages may find a way to use the tokens of MCP
// clients.
func (s *Server) mcpOrigin(r *http.Request) error {
	unsafe := *r
	unsafe.Method = http.MethodPost // Check always permits reads
	if err := s.origin.Check(&unsafe); err != nil {
		return errCrossSite
	}
	return nil
}
