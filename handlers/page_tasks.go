package handlers

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

func (s *Server) tasksPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	f := queueFilter(c)
	agents, err := s.svc.Agents(actorFrom(c))
	if err != nil {
		return nil, err
	}
	m := views.TasksModel{Filter: f, Bar: views.FilterModel{List: true, Filter: f, Agents: agentIDs(agents)}}
	m.Tasks, m.Next, m.Total, err = s.openTaskPage(c, ch, f)
	m.Bar.Sum = views.OpenTasks(m.Total, f.Narrowed())
	return views.TasksPage(ch, m), err
}

func (s *Server) newTaskPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	m := views.NewTaskModel{Owner: c.QueryParam("owner"), Project: c.QueryParam("project"), Priority: "0"}
	err := s.follow(c, &m, c.QueryParam("follow"))
	if err == nil {
		m.Agents, err = s.agentOptions(c)
	}
	return views.NewTaskPage(ch, m), err
}

// follow parses which archived task the new one follows.
func (s *Server) follow(c echo.Context, m *views.NewTaskModel, id string) error {
	if id == "" {
		return nil
	}
	n, err := task.ParseID(id)
	if err != nil {
		return task.FieldErrorf("follow", "%s", err)
	}
	old, err := s.svc.Task(c.Request().Context(), actorFrom(c), n)
	if err != nil {
		return err
	}
	m.Follow, m.FollowTitle = old.ID, old.Title
	for _, r := range old.Resources {
		m.Take = append(m.Take, views.FollowUpLink{Resource: r, On: true})
	}
	return s.prefill(c, m, old)
}

// prefill copies from the followed task what the form does not contain:
// everything for a new form, the chosen links for one that was sent.
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
	m.Priority, m.Labels = strconv.Itoa(old.Priority), strings.Join(old.Labels, " ")
	if s.svc.KnowsAgent(old.Owner) && m.Owner == "" {
		m.Owner = old.Owner
	}
	return nil
}

func (s *Server) createTask(c echo.Context) error {
	ctx := formContext(c)
	m := views.NewTaskModel{
		Title: c.FormValue("title"), Description: text(c, "description"), Owner: c.FormValue("owner"), Priority: c.FormValue("priority"),
		Labels: c.FormValue("labels"), BlockedBy: c.FormValue("blockedBy"), Steps: text(c, "steps"), Links: text(c, "links"),
		Project: c.FormValue("project"),
		Draft:   c.FormValue("status") == string(task.Draft), Key: c.FormValue("_key"),
	}
	if err := s.follow(c, &m, c.FormValue("follow")); err != nil {
		return err
	}
	form := func(ch views.Chrome) (p templ.Component, err error) {
		m.Agents, err = s.agentOptions(c)
		return views.NewTaskPage(ch, m), err
	}
	if m.Preview = c.FormValue("preview") != ""; m.Preview {
		return s.show(c, http.StatusOK, views.URL.NewTask(""), form)
	}
	prio, err := wholeNumber(c, "priority")
	var first []task.ID
	if err == nil {
		first, err = parseIDs("blockedBy", m.BlockedBy)
	}
	var t *task.Task
	if err == nil {
		in := s.newTask(c, &m, prio)
		in.BlockedBy = first
		t, err = s.svc.CreateTask(ctx, actorFrom(c), in)
	}
	if err != nil {
		return s.again(c, err, views.URL.NewTask(""), func(ch views.Chrome, e *task.Error) (templ.Component, error) {
			m.Errors, m.Key = ui.FieldErrorsFrom(e), nextKey(c, e)
			return form(ch)
		})
	}
	return s.done(c, views.URL.Task(t.ID), "Created #%d", t.ID)
}

func (s *Server) newTask(c echo.Context, m *views.NewTaskModel, prio int) task.New {
	in := task.New{
		Title: m.Title, Description: m.Description, Owner: m.Owner, Priority: prio, Status: task.Active,
		Labels: words(m.Labels), Project: m.Project, Steps: stepLines(m.Steps), Resources: linkLines(m.Links),
	}
	if m.Draft {
		in.Status = task.Draft
	}
	if m.Follow != 0 {
		in.Resources = append(in.Resources, task.Resource{Type: "url", Value: s.baseURL(c) +
			views.URL.Task(m.Follow), Label: "Follow-up of #" + m.Follow.String()})
		for _, t := range m.Take {
			if t.On {
				in.Resources = append(in.Resources, t.Resource)
			}
		}
	}
	return in
}

// agentOptions returns the agents as choices of an owner.
func (s *Server) agentOptions(c echo.Context) ([]views.AgentOption, error) {
	agents, err := s.svc.Agents(actorFrom(c))
	if err != nil {
		return nil, err
	}
	o, err := s.svc.Overview(c.Request().Context(), actorFrom(c))
	list := make([]views.AgentOption, len(agents))
	for i, a := range agents {
		l := o.Loads[a.ID]
		list[i] = views.AgentOption{ID: a.ID, Name: a.Name, Queue: l.Queued + l.Working, Invalid: !a.Serving, PullOnly: a.PullOnly}
	}
	return list, err
}
