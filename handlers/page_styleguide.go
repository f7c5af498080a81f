package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/views"
)

// styleguidePage shows every component of the pages, for their developers.
func (s *Server) styleguidePage(_ echo.Context, ch views.Chrome) (templ.Component, error) {
	return views.StyleguidePage(ch), nil
}
