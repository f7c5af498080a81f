package handlers

import (
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

func (s *Server) peoplePage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	return s.people(c, ch, views.PeopleModel{Role: task.RoleOperator})
}

func (s *Server) people(c echo.Context, ch views.Chrome, m views.PeopleModel) (_ templ.Component, err error) {
	m.People, err = s.svc.Users(c.Request().Context(), actorFrom(c))
	return views.PeoplePage(ch, m), err
}

func (s *Server) addPerson(c echo.Context) error {
	m := views.PeopleModel{Name: c.FormValue("name"), Role: task.Role(c.FormValue("role"))}
	_, err := s.svc.AddUser(formContext(c), actorFrom(c), m.Name, c.FormValue("password"), m.Role)
	if err == nil {
		return s.done(c, views.URL.Settings("people"), "Added %s", m.Name)
	}
	return s.peopleAgain(c, m, err)
}

func (s *Server) peopleAgain(c echo.Context, m views.PeopleModel, err error) error {
	return s.again(c, err, views.URL.Settings("people"), func(ch views.Chrome, e *task.Error) (templ.Component, error) {
		m.Errors = ui.FieldErrorsFrom(e)
		return s.people(c, ch, m)
	})
}

func (s *Server) setRole(c echo.Context, id task.ID) error {
	role := task.Role(c.FormValue("role"))
	return s.changePerson(c, id, service.UserChange{Role: &role})
}

func (s *Server) disablePerson(c echo.Context, id task.ID) error {
	return s.changePerson(c, id, service.UserChange{Disabled: new(true)})
}

func (s *Server) enablePerson(c echo.Context, id task.ID) error {
	return s.changePerson(c, id, service.UserChange{Disabled: new(false)})
}

// changePerson ends the sessions of the person; one's own session continues
// with a new token, unless one has disabled oneself.
func (s *Server) changePerson(c echo.Context, id task.ID, change service.UserChange) error {
	u, err := s.svc.UpdateUser(formContext(c), actorFrom(c), id, change)
	if err != nil {
		return s.peopleAgain(c, views.PeopleModel{Role: task.RoleOperator}, err)
	}
	if id == actorFrom(c).UserID {
		if u.DisabledAt != 0 {
			return s.logout(c)
		}
		if err := s.signIn(c, u); err != nil {
			return err
		}
		if u.Role != task.RoleAdmin {
			return c.Redirect(http.StatusSeeOther, views.URL.Settings(""))
		}
	}
	return s.done(c, views.URL.Settings("people"), "Saved %s", u.Name)
}
