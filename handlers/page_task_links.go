package handlers

import (
	"strings"

	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

func (s *Server) addResource(c echo.Context, id task.ID) (string, error) {
	_, err := s.svc.AddResource(formContext(c), actorFrom(c), id, resourceFromForm(c))
	return "Added a link", err
}

func resourceFromForm(c echo.Context) task.Resource {
	return task.Resource{Type: c.FormValue("type"), Value: c.FormValue("value"), Label: c.FormValue("label")}
}

func resourceEntries(c echo.Context) views.TaskEntries {
	return views.TaskEntries{Resource: resourceFromForm(c), Errors: ui.FieldErrors{}}
}

// editResource changes one link or file; the form says which.
func (s *Server) editResource(c echo.Context, id task.ID) error {
	n, err := index(c)
	if err != nil {
		return err
	}
	r := task.Resource{Type: "url", Value: strings.TrimSpace(c.FormValue("value")), Label: c.FormValue("label")}
	if strings.HasPrefix(r.Value, "/") {
		r.Type = "file"
	}
	_, err = s.svc.UpdateResource(formContext(c), actorFrom(c), id, n, c.FormValue("had"), r)
	if err != nil {
		typed := views.TaskEntries{Resource: r, ResourceAt: n + 1, Errors: ui.FieldErrors{}}
		if e, ok := knownError(err); ok && e.Field == "index" { // there is no form that could show it
			typed.Errors = nil
		}
		return s.taskAgain(c, id, err, typed)
	}
	return s.done(c, views.URL.TaskView(id, views.TaskView{Tab: "links"})+"#activity", "Saved the link")
}

func (s *Server) removeResource(c echo.Context, id task.ID) (string, error) {
	n, err := index(c)
	if err != nil {
		return "", err
	}
	t, err := s.svc.Task(c.Request().Context(), actorFrom(c), id)
	if err != nil {
		return "", err
	}
	// The list may have changed since the page was rendered.
	if v := c.FormValue("value"); v != "" && n < len(t.Resources) && t.Resources[n].Value != v {
		return "", task.Errorf(task.Conflict, task.CodeStaleVersion, "The links of this task have changed since you read them; read them again")
	}
	_, err = s.svc.RemoveResource(formContext(c), actorFrom(c), id, n)
	return "Removed a link", err
}
