package handlers

import (
	"net/http"
	"strconv"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// todoSizes are the page sizes of a todo list.
var todoSizes = []int{20, 200, task.MaxTodoPage}

func (s *Server) todoModel(c echo.Context, agent string) (m views.TodoModel, err error) {
	number, _ := strconv.Atoi(c.QueryParam("todos")) // an invalid number means the smallest
	at := 0
	for at < len(todoSizes)-1 && todoSizes[at] < number {
		at++
	}
	ctx, a := c.Request().Context(), actorFrom(c)
	list, err := s.svc.TodoCall(ctx, a, agent, task.TodoCall{Op: task.TodoList, Limit: todoSizes[at]})
	if err != nil {
		return m, err
	}
	m.Items = *list.Items
	m.Count = len(m.Items)
	if list.Count != nil {
		m.Count = *list.Count
	}
	if list.Next != "" && at < len(todoSizes)-1 {
		m.More = todoSizes[at+1]
	}
	return m, nil
}

// postTodo handles push and pop by a person.
func (s *Server) postTodo(c echo.Context) error {
	id, call := c.Param("id"), task.TodoCall{Op: task.TodoOp(c.FormValue("operation"))}
	entry := text(c, "item")
	if call.Op.Pushes() {
		call.Item = &entry
	}
	if !s.svc.KnowsAgent(id) {
		return task.Errorf(task.NotFound, task.CodeAgentNotFound, "Agent not found: %s", id)
	}
	got, err := s.svc.TodoCall(formContext(c), actorFrom(c), id, call)
	if err != nil {
		return s.todoAgain(c, id, entry, err)
	}
	to := views.URL.Agent(id)
	switch {
	case call.Op.Pushes():
		return s.done(c, to, "Added to the todo list of %s", id)
	case call.Op.Pops() && got.OK:
		return s.done(c, to, "Took from the todo list of %s: %s", id, task.ClipChars(*got.Item, 80))
	case call.Op.Pops():
		return s.done(c, to, "The todo list of %s is empty", id)
	}
	return c.Redirect(http.StatusSeeOther, backURL(c, to)) // nothing to report
}

func (s *Server) todoAgain(c echo.Context, id, entry string, err error) error {
	return s.again(c, err, views.URL.Agent(id), func(ch views.Chrome, e *task.Error) (templ.Component, error) {
		m, err := s.agentModel(c, id)
		m.Todo.Entry, m.Todo.Problem = entry, e.Message
		return views.AgentPage(ch, m), err
	})
}
