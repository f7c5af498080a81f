package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/views"
)

// styleguidePage shows those who build the pages every part of them.
func (s *Server) styleguidePage(_ echo.Context, ch views.Chrome) (templ.Component, error) {
	return views.StyleguidePage(ch), nil
}
