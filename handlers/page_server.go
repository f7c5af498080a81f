package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// serverPage shows admins the settings that can be changed while the server
// runs.
func (s *Server) serverPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	return s.server(c, ch, views.ServerModel{})
}

func (s *Server) server(c echo.Context, ch views.Chrome, m views.ServerModel) (_ templ.Component, err error) {
	if m.Settings, err = s.svc.Settings(c.Request().Context(), actorFrom(c)); err != nil {
		return nil, err
	}
	m.Servers, err = s.svc.Servers(c.Request().Context())
	return views.ServerPage(ch, m), err
}

// setSettings applies the changed fields of the form, each of which is sent
// with its value when the page was rendered. An empty one resets to its
// default.
func (s *Server) setSettings(c echo.Context) error {
	ctx, a := formContext(c), actorFrom(c)
	list, err := s.svc.Settings(ctx, a)
	if err != nil {
		return err
	}
	form, err := c.FormParams()
	if err != nil {
		return err
	}
	m := views.ServerModel{Form: map[string]string{}}
	values := map[string]*string{}
	for _, one := range list {
		if !form.Has(one.Key) {
			continue
		}
		v := form.Get(one.Key)
		m.Form[one.Key] = v
		if v == form.Get("was."+one.Key) {
			continue
		}
		if values[one.Key] = &v; v == "" {
			values[one.Key] = nil
		}
	}
	if len(values) == 0 {
		return s.done(c, views.URL.Settings("server"), "Nothing was changed")
	}
	_, err = s.svc.ChangeSettings(ctx, a, values)
	if err == nil {
		return s.done(c, views.URL.Settings("server"), "Saved %s; it is in use now", ui.Count(len(values), "setting", "settings"))
	}
	return s.again(c, err, views.URL.Settings("server"), func(ch views.Chrome, e *task.Error) (templ.Component, error) {
		m.Errors = ui.FieldErrorsFrom(e)
		return s.server(c, ch, m)
	})
}
