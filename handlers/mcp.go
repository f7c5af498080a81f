package handlers

import (
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"taskyard/task"
)

const mcpPath = "/mcp"

func isMCP(path string) bool { return path == mcpPath }

// mcp hands a request on to the MCP server, with its caller.
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

// mcpOrigin refuses what a page of another site sends, with a token too: the
// protocol asks for it, as MCP clients keep their tokens where pages may find
// a way to them.
func (s *Server) mcpOrigin(r *http.Request) error {
	unsafe := *r
	unsafe.Method = http.MethodPost // Check lets reads pass
	if err := s.origin.Check(&unsafe); err != nil {
		return errCrossSite
	}
	return nil
}
