package handlers

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// prefill takes over from the task that is followed what the form does not
// tell by itself: all of it when the form is new, the chosen links when it was
// sent.
func (s *Server) prefill(c echo.Context, m *views.NewTaskModel, old *task.Task) error {
	if c.Request().Method == http.MethodPost {
		form, err := c.FormParams()
		for i := range m.Take {
			m.Take[i].On = slices.Contains(form["take"], m.Take[i].Resource.Value)
		}
		return err
	}
	m.Title = "Follow up: " + old.Title
	for utf8.RuneCountInString(m.Title) > task.MaxTitle {
		_, n := utf8.DecodeLastRuneInString(m.Title)
		m.Title = m.Title[:len(m.Title)-n]
	}
	m.Priority, m.Labels = formNumber(old.Priority), strings.Join(old.Labels, " ")
	if s.svc.KnowsAgent(old.Owner) && m.Owner == "" {
		m.Owner = old.Owner
	}
	return nil
}

// previewNew shows the form as it was sent, and how its description will look.
func (s *Server) previewNew(c echo.Context, m views.NewTaskModel) error {
	ch, err := s.chrome(c)
	if err != nil {
		return err
	}
	ch.Path, m.Preview = views.URL.NewTask(""), true
	if m.Agents, err = s.agentOptions(c); err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.NewTaskPage(ch, m))
}
