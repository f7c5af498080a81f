package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// queueRead is how far into its queue the place of a task is looked for.
const queueRead = 100

func (s *Server) taskPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	id, err := idParam(c, "id")
	if err != nil {
		return nil, err
	}
	m, err := s.taskModel(c, id)
	return views.TaskPage(ch, m), err
}

// taskModel reads all that the page of a task shows.
func (s *Server) taskModel(c echo.Context, id task.ID) (m views.TaskModel, err error) {
	ctx, a := c.Request().Context(), actorOf(c)
	p, err := s.svc.TaskPage(ctx, a, id)
	if err != nil {
		return m, err
	}
	m = views.TaskModel{
		Task: p.Task, Family: family(p), Subtasks: map[task.ID]*task.Task{}, Question: question(p.Task), Runs: p.Runs,
		Usage: usageOf(p.Runs), Blockers: p.Blockers, Blocks: p.Blocks,
	}
	for _, t := range p.Subtasks {
		m.Subtasks[t.ID] = t
	}
	if !p.Task.Status.Archived() {
		m.Why = p.Why
	}
	m.Activity, m.Older = activity(p)
	if p.Task.Status != task.Active || !s.svc.KnowsAgent(p.Task.Owner) {
		return m, nil
	}
	o, err := s.svc.Overview(ctx, a)
	if err != nil {
		return m, err
	}
	queue, err := s.svc.Queue(ctx, a, p.Task.Owner, false, queueRead, "")
	load := o.Loads[p.Task.Owner]
	m.Prev, m.Next, m.Place = neighbours(queue.Tasks, id, load.Queued+load.Working)
	return m, err
}

// taskAct is the shape of most posts of the task page: one act on the task,
// and a sentence about it. What is refused is told on the task's own page,
// with what was typed, which entries fills in.
func (s *Server) taskAct(act func(echo.Context, task.ID) (string, error), entries func(echo.Context) views.TaskEntries) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := idParam(c, "id")
		if err != nil {
			return err
		}
		said, err := act(c, id)
		if e, ok := refusal(err); ok {
			return s.taskAgain(c, id, e, entries(c))
		}
		if err != nil {
			return err
		}
		return s.done(c, views.URL.Task(id), "%s", said)
	}
}

// noEntries is for acts without an input.
func noEntries(echo.Context) views.TaskEntries { return views.TaskEntries{} }

// taskAgain shows the page of a task with what speaks against an act.
func (s *Server) taskAgain(c echo.Context, id task.ID, e *task.Error, typed views.TaskEntries) error {
	return s.again(c, e, views.URL.Task(id), func(ch views.Chrome) (templ.Component, error) {
		m, err := s.taskModel(c, id)
		if err != nil {
			return nil, err
		}
		m.Entries = typed
		if e.Kind == task.Invalid && len(e.AllFields()) > 0 && typed.Errors != nil {
			m.Entries.Errors = typedErrors(e, typed)
		} else {
			m.Notice = e.Message
		}
		return views.TaskPage(ch, m), nil
	})
}

// typedErrors puts an error beside the one form that was sent.
func typedErrors(e *task.Error, typed views.TaskEntries) views.FieldErrors {
	fe := views.ErrorsOf(e)
	for to, from := range typed.Errors {
		fe = renamed(fe, from, to)
	}
	return fe
}

func (s *Server) comment(c echo.Context, id task.ID) (string, error) {
	_, err := s.svc.Comment(formContext(c), actorOf(c), id, text(c, "content"))
	return "Commented", err
}

func commentEntries(c echo.Context) views.TaskEntries {
	return views.TaskEntries{Comment: text(c, "content"), Errors: views.FieldErrors{}}
}

func (s *Server) reply(c echo.Context, id task.ID) (string, error) {
	_, err := s.svc.Reply(formContext(c), actorOf(c), id, text(c, "content"))
	return "Answered", err
}

func replyEntries(c echo.Context) views.TaskEntries {
	return views.TaskEntries{Reply: text(c, "content"), Errors: views.FieldErrors{"reply": "content"}}
}

func (s *Server) addStep(c echo.Context, id task.ID) (string, error) {
	_, err := s.svc.AddStep(formContext(c), actorOf(c), id, task.Step{Title: c.FormValue("title")})
	return "Added a step", err
}

func stepEntries(c echo.Context) views.TaskEntries {
	return views.TaskEntries{Step: c.FormValue("title"), Errors: views.FieldErrors{"step": "title"}}
}

func (s *Server) addResource(c echo.Context, id task.ID) (string, error) {
	_, err := s.svc.AddResource(formContext(c), actorOf(c), id, resourceOf(c))
	return "Added a link", err
}

func resourceOf(c echo.Context) task.Resource {
	return task.Resource{Type: c.FormValue("type"), Value: c.FormValue("value"), Label: c.FormValue("label")}
}

func resourceEntries(c echo.Context) views.TaskEntries {
	return views.TaskEntries{Resource: resourceOf(c), Errors: views.FieldErrors{}}
}

func (s *Server) removeResource(c echo.Context, id task.ID) (string, error) {
	n, err := index(c)
	if err != nil {
		return "", err
	}
	t, err := s.svc.Task(c.Request().Context(), actorOf(c), id)
	if err != nil {
		return "", err
	}
	// The list may have moved since the page was made.
	if v := c.FormValue("value"); v != "" && n < len(t.Resources) && t.Resources[n].Value != v {
		return "", task.Errorf(task.Conflict, task.CodeStaleVersion, "The links of this task have changed meanwhile; look again")
	}
	_, err = s.svc.RemoveResource(formContext(c), actorOf(c), id, n)
	return "Removed a link", err
}
