package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/views"
)

func (s *Server) inboxPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	b, err := s.svc.Inbox(c.Request().Context(), actorOf(c))
	if err != nil {
		return nil, err
	}
	o, err := s.svc.Overview(c.Request().Context(), actorOf(c))
	// The navigation's own count may be a moment old; this page knows better.
	ch.Nav.Inbox, ch.Nav.Approvals = b.Totals.All(), b.Totals.Approvals
	return views.InboxPage(ch, views.InboxModel{Inbox: b, InFlight: len(o.InFlight)}), err
}

func (s *Server) acknowledgeNotice(c echo.Context) error {
	id, err := idParam(c, "id")
	if err != nil {
		return err
	}
	if _, err := s.svc.AcknowledgeNotice(formContext(c), actorOf(c), id); err != nil {
		return withBack(c, err, views.URL.Inbox())
	}
	return s.done(c, views.URL.Inbox(), "Acknowledged")
}
