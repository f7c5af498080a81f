package handlers

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"
)

// specOnce makes the OpenAPI document at first use and keeps its bytes.
type specOnce struct {
	once  sync.Once
	bytes []byte
	err   error
}

func (s *Server) openapi(c echo.Context) error {
	s.spec.once.Do(func() { s.spec.bytes, s.spec.err = json.Marshal(s.api.OpenAPI()) })
	if s.spec.err != nil {
		return s.spec.err
	}
	return c.Blob(http.StatusOK, "application/json", s.spec.bytes)
}
