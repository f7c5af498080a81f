package handlers

import (
	"context"
	"strconv"

	"taskyard/service"
	"taskyard/task"
)

// TaskPath is the ID of a task in the path. It is exported, like the other
// embedded inputs, because huma ignores unexported types.
type TaskPath struct {
	ID pathID `path:"id"`
}

type taskOut struct {
	ETag string `header:"ETag"`
	Body *task.Task
}

func taskAnswer(t *task.Task, err error) (*taskOut, error) {
	if err != nil {
		return nil, err
	}
	return &taskOut{etag(t), t}, nil
}

func etag(t *task.Task) string { return `"` + strconv.FormatInt(t.Version, 10) + `"` }

type createdOut struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     *task.Task
}

func createdAnswer(t *task.Task, err error) (*createdOut, error) {
	if err != nil {
		return nil, err
	}
	return &createdOut{"/api/tasks/" + t.ID.String(), etag(t), t}, nil
}

func (s *Server) apiCreateTask(ctx context.Context, in *struct{ Body newTaskBody }) (*createdOut, error) {
	return createdAnswer(s.svc.CreateTask(ctx, actorIn(ctx), in.Body.task()))
}

func (s *Server) apiTask(ctx context.Context, in *TaskPath) (*taskOut, error) {
	return taskAnswer(s.svc.Task(ctx, actorIn(ctx), in.ID.ID))
}

type listTasksIn struct {
	Owner      string          `query:"owner" doc:"agent id"`
	Status     task.Status     `query:"status" enum:"draft,active"`
	WorkStatus task.WorkStatus `query:"workStatus" enum:"idle,working"`
	Query      string          `query:"q" doc:"words in the title or description; the last one can be a prefix"`
	Parent     pathID          `query:"parent" doc:"only subtasks of this task"`
	Label      string          `query:"label" doc:"only tasks with this label"`
	Project    string          `query:"project" doc:"only tasks of this project"`
	Limit      int             `query:"limit" minimum:"1" maximum:"500" default:"100"`
	After      string          `query:"after" doc:"next of the previous page"`
	Full       bool            `query:"full" doc:"true: include descriptions"`
}

// agentLine says how busy an agent is.
type agentLine struct {
	ID      string           `json:"id"`
	Status  task.AgentStatus `json:"status" enum:"valid,warning,invalid"`
	Queued  int              `json:"queued" doc:"active tasks without a live claim"`
	Working int              `json:"working" doc:"active tasks with a live claim"`
}

type tasksOutBody struct {
	Tasks    []*task.Task `json:"tasks"`
	Agents   []agentLine  `json:"agents"`
	InFlight []task.ID    `json:"inFlight" doc:"tasks with a queued or running run"`
	Next     string       `json:"next,omitempty" doc:"cursor of the next page; absent at the end"`
	CutMark
}

func (s *Server) apiTasks(ctx context.Context, in *listTasksIn) (out tasksOutBody, err error) {
	a := actorIn(ctx)
	p, err := s.svc.OpenTasks(ctx, a, task.TaskFilter{
		Owner: in.Owner, Status: in.Status, WorkStatus: in.WorkStatus, Query: in.Query, Parent: in.Parent.ID,
		Label: in.Label, Project: in.Project, Limit: in.Limit, After: in.After, Full: in.Full,
	})
	if err != nil {
		return out, err
	}
	out.Tasks, out.Next, out.CutMark = p.Tasks, p.Next, cutMark(ctx)
	o, err := s.svc.Overview(ctx, a)
	if err != nil {
		return out, err
	}
	if out.InFlight, err = s.svc.InFlight(ctx, a); err != nil {
		return out, err
	}
	agents, err := s.svc.Agents(a)
	for _, def := range agents {
		l := o.Loads[def.ID]
		out.Agents = append(out.Agents, agentLine{def.ID, def.Status, l.Queued, l.Working})
	}
	return out, err
}

type historyIn struct {
	Owner     string      `query:"owner" doc:"agent id"`
	Status    task.Status `query:"status" enum:"done,canceled"`
	CreatedBy string      `query:"createdBy" doc:"an actor: coder, or user:maya"`
	Label     string      `query:"label" doc:"only tasks with this label"`
	Project   string      `query:"project" doc:"only tasks of this project"`
	Query     string      `query:"q" doc:"full-text search in titles, descriptions, comments, summaries, and lines of transcripts"`
	From      queryTime   `query:"from" doc:"archived at or after this time, RFC 3339"`
	To        queryTime   `query:"to" doc:"archived before this time, RFC 3339"`
	Limit     int         `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Before    string      `query:"before" doc:"next of the previous page"`
}

type pageOutBody struct {
	Tasks    []*task.Task `json:"tasks"`
	Next     string       `json:"next,omitempty" doc:"cursor of the next page; absent at the end"`
	Indexing int          `json:"indexing,omitzero" doc:"percentage of the history that is indexed for search; absent when all of it is"`
	CutMark
}

func pageAnswer(ctx context.Context, p service.Page, err error) (pageOutBody, error) {
	return pageOutBody{p.Tasks, p.Next, p.Indexing, cutMark(ctx)}, err
}

func (s *Server) apiHistory(ctx context.Context, in *historyIn) (pageOutBody, error) {
	p, err := s.svc.History(ctx, actorIn(ctx), task.HistoryFilter{
		Owner: in.Owner, CreatedBy: in.CreatedBy, Label: in.Label, Project: in.Project, Status: in.Status, Query: in.Query,
		From: in.From.Time, To: in.To.Time, Limit: in.Limit, Before: in.Before,
	})
	return pageAnswer(ctx, p, err)
}
