package handlers

import (
	"net/http"

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
	defer leave()
	r := c.Request()
	s.opt.MCP.ServeHTTP(c.Response(), r.WithContext(task.WithActor(r.Context(), actorFrom(c))))
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
