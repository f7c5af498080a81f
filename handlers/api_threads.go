package handlers

import (
	"context"

	"taskyard/task"
)

// afterIn is a page of a list that grows at its end.
type afterIn struct {
	TaskPath
	After cursor `query:"after" doc:"entries with a greater id; the cursor next of the page before"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

type contentIn struct {
	TaskPath
	Body struct {
		Content string `json:"content" doc:"Markdown, at most 64 KiB"`
	}
}

type notifyIn struct {
	TaskPath
	Body struct {
		Message    string `json:"message" doc:"Markdown, at most 64 KiB"`
		NeedsReply bool   `json:"needsReply,omitempty" doc:"true: a question; the task waits for a person's answer"`
	}
}

type messageOut struct {
	Body task.Message
}

func messageAnswer(m task.Message, err error) (*messageOut, error) {
	if err != nil {
		return nil, err
	}
	return &messageOut{m}, nil
}

type commentsOut struct {
	Body struct {
		Comments []task.Comment `json:"comments"`
		Next     string         `json:"next,omitempty" doc:"cursor of the next page; absent at the end"`
		CutMark
	}
}

type messagesOut struct {
	Body struct {
		Messages []task.Message `json:"messages"`
		Next     string         `json:"next,omitempty" doc:"cursor of the next page; absent at the end"`
		CutMark
	}
}

func messagesAnswer(ctx context.Context, list []task.Message, limit int, err error) (*messagesOut, error) {
	if err != nil {
		return nil, err
	}
	out := &messagesOut{}
	out.Body.Messages, out.Body.Next = list, nextID(ctx, list, limit, messageID)
	out.Body.CutMark = cutMark(ctx)
	return out, nil
}

func messageID(m task.Message) task.ID { return m.ID }

func (s *Server) threadOperations() {
	handle(s, op{
		Method: "GET", Path: "/api/tasks/{id}/comments", Need: task.Read, Tag: "Threads",
		Summary: "Read the comments of a task, oldest first",
	}, s.comments)
	handle(s, op{
		Method: "POST", Path: "/api/tasks/{id}/comments", Need: task.Write, Status: 201,
		Tag: "Threads", Summary: "Comment on a task", Desc: "A person's comment wakes the owner of an active task.",
	},
		func(ctx context.Context, in *contentIn) (*messageOut, error) {
			return messageAnswer(s.svc.Comment(ctx, actorIn(ctx), in.ID.ID, in.Body.Content))
		})
	handle(s, op{
		Method: "POST", Path: "/api/tasks/{id}/notify", Need: task.Write, Status: 201, Tag: "Threads",
		Summary: "Tell people something, or ask them",
	}, func(ctx context.Context, in *notifyIn) (*messageOut, error) {
		return messageAnswer(s.svc.Notify(ctx, actorIn(ctx), in.ID.ID, in.Body.Message, in.Body.NeedsReply))
	})
	handle(s, op{
		Method: "POST", Path: "/api/tasks/{id}/reply", Need: task.Person, Status: 201, Tag: "Threads",
		Summary: "Answer the open question of a task",
	}, func(ctx context.Context, in *contentIn) (*messageOut, error) {
		return messageAnswer(s.svc.Reply(ctx, actorIn(ctx), in.ID.ID, in.Body.Content))
	})
	handle(s, op{
		Method: "GET", Path: "/api/tasks/{id}/thread", Need: task.Read, Tag: "Threads",
		Summary: "Read the messages of a task, oldest first", Desc: "Transcripts of runs are at /api/runs/{id}/messages.",
	},
		func(ctx context.Context, in *afterIn) (*messagesOut, error) {
			list, err := s.svc.Thread(ctx, actorIn(ctx), in.ID.ID, in.After.ID, in.Limit)
			return messagesAnswer(ctx, list, in.Limit, err)
		})
	handle(s, op{
		Method: "GET", Path: "/api/tasks/{id}/runs", Need: task.Read, Tag: "Runs",
		Summary: "List the runs of a task, newest first",
	}, s.taskRuns)
	handle(s, op{
		Method: "GET", Path: "/api/tasks/{id}/events", Need: task.Read, Tag: "Events",
		Summary: "Read the log of a task, oldest first",
	}, func(ctx context.Context, in *afterIn) (*eventsOut, error) {
		return s.eventsAnswer(ctx, task.EventFilter{TaskID: in.ID.ID, After: in.After.ID, Limit: in.Limit})
	})
}

func (s *Server) comments(ctx context.Context, in *afterIn) (*commentsOut, error) {
	list, err := s.svc.Thread(ctx, actorIn(ctx), in.ID.ID, in.After.ID, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &commentsOut{}
	out.Body.Comments = make([]task.Comment, len(list))
	for i, m := range list {
		out.Body.Comments[i] = task.Comment{ID: m.ID, Author: m.Author, Kind: m.Kind, Content: m.Content, CreatedAt: m.CreatedAt}
	}
	out.Body.Next, out.Body.CutMark = nextID(ctx, list, in.Limit, messageID), cutMark(ctx)
	return out, nil
}
