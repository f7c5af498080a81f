package handlers

import (
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// guide returns suggestions for the inbox: in the demo its tour; on a new
// instance the first steps, until they are done. nil: dismissed or not needed.
func (s *Server) guide(c echo.Context, ch views.Chrome) (*views.Guide, error) {
	if ch.Prefs[task.PrefGuide] == "off" || !s.opt.Demo && !ch.CanWrite {
		return nil, nil
	}
	f, err := s.svc.Milestones(c.Request().Context(), actorFrom(c), s.opt.Demo)
	if err != nil || !s.opt.Demo && (!f.New || f.Task && f.Worked && f.Decided) {
		return nil, err
	}
	return &views.Guide{Demo: s.opt.Demo, Milestones: f}, nil
}

// endTour dismisses the guide for the person.
func (s *Server) endTour(c echo.Context) error {
	if err := s.svc.SetPreference(formContext(c), actorFrom(c), task.PrefGuide, "off"); err != nil {
		return err
	}
	return s.done(c, views.URL.Inbox(), "Dismissed the guide")
}
