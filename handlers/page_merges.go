package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/views"
)

const mergeRows = 50

func (s *Server) mergesPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	m := views.MergesModel{Project: c.QueryParam("project")}
	var err error
	if m.Before, err = queryID(c, "before"); err != nil {
		return nil, err
	}
	m.Queue, m.Ended, err = s.svc.ProjectMerges(c.Request().Context(), actorFrom(c), m.Project, m.Before, mergeRows+1)
	if len(m.Ended) > mergeRows {
		m.Ended = m.Ended[:mergeRows]
		m.Next = m.Ended[mergeRows-1].ID
	}
	return views.MergesPage(ch, m), err
}
