package handlers

import (
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// touring reports whether the inbox says what to try in the demo.
func (s *Server) touring(ch views.Chrome) bool {
	return s.opt.Demo && ch.Prefs[task.PrefGuide] != "off"
}

// endTour puts the tour of the demo away for the person.
func (s *Server) endTour(c echo.Context) error {
	if err := s.svc.SetPreference(formContext(c), actorOf(c), task.PrefGuide, "off"); err != nil {
		return err
	}
	return s.done(c, views.URL.Inbox(), "Put the tour away")
}
