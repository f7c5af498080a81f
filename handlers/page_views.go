package handlers

import (
	"maps"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

func (s *Server) viewsPage(_ echo.Context, ch views.Chrome) (templ.Component, error) {
	return views.ViewsPage(ch, views.ViewsModel{Views: ch.Views}), nil
}

// saveView stores the filter of a list under a name.
func (s *Server) saveView(c echo.Context) error {
	home := backURL(c, views.URL.Views())
	path, err := listPath(c.FormValue("path"))
	if err != nil {
		return withBack(c, err, home)
	}
	v, err := s.svc.SaveView(formContext(c), actorFrom(c), c.FormValue("name"), path)
	if e, ok := refusal(err); ok && ui.FieldErrorsFrom(e)["name"] != "" {
		return s.saveViewAgain(c, e, path)
	}
	if err != nil {
		return withBack(c, err, home)
	}
	if c.FormValue("undo") != "" {
		return s.done(c, home, "Restored the view %s", v.Name)
	}
	return s.done(c, home, "Saved the view %s", v.Name)
}

// saveViewAgain shows the list at path again, with the name that was refused.
func (s *Server) saveViewAgain(c echo.Context, e *task.Error, path string) error {
	u, err := url.Parse(path)
	if err != nil {
		return err
	}
	maps.Copy(c.QueryParams(), u.Query())
	page := s.tasksPage
	if u.Path == views.URL.Queues(views.QueueFilter{}) {
		page = s.queuesPage
	}
	return s.again(c, e, path, func(ch views.Chrome, _ *task.Error) (templ.Component, error) {
		ch.NewView = views.NewView{Name: c.FormValue("name"), Problem: ui.FieldErrorsFrom(e)["name"]}
		return page(c, ch)
	})
}

// listPath returns the URL of a list with only the known parts of its filter.
func listPath(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.IsAbs() || u.Host != "":
	case u.Path == views.URL.Tasks(views.TaskListFilter{}):
		return views.URL.Tasks(filterFromQuery(u.Query()).From("")), nil
	case u.Path == views.URL.Queues(views.QueueFilter{}):
		return views.URL.Queues(filterFromQuery(u.Query()).From("")), nil
	}
	return "", task.FieldErrorf("path", "must be the address of the queues or of the tasks")
}

func (s *Server) renameView(c echo.Context, id task.ID) error {
	v, err := s.svc.RenameView(formContext(c), actorFrom(c), id, c.FormValue("name"))
	if e, ok := refusal(err); ok {
		return s.again(c, e, views.URL.Views(), func(ch views.Chrome, _ *task.Error) (templ.Component, error) {
			return views.ViewsPage(ch, views.ViewsModel{Views: ch.Views, Of: id, Name: c.FormValue("name"), Error: e.Message}), nil
		})
	}
	if err != nil {
		return withBack(c, err, views.URL.Views())
	}
	return s.done(c, views.URL.Views(), "The view is now called %s", v.Name)
}

func (s *Server) deleteView(c echo.Context, id task.ID) error {
	v, err := s.svc.DeleteView(formContext(c), actorFrom(c), id)
	if err != nil {
		return withBack(c, err, views.URL.Views())
	}
	undoable(c, views.URL.Views(), "name", v.Name, "path", v.Path)
	s.flash(c, "Deleted the view %s", v.Name)
	return c.Redirect(303, views.URL.Views())
}
