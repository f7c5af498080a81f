package handlers

import (
	"context"

	"taskyard/task"
)

// afterIn selects a page of a list that grows at its end.
type afterIn struct {
	TaskPath
	After cursor `query:"after" doc:"only entries with a greater id; use next of the previous page"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

type contentIn struct {
	TaskPath
	Body struct {
		Content string `json:"content" doc:"Markdown, at most 64 KiB"`
	}
}

type replyIn struct {
	TaskPath
	Body struct {
		Content    string `json:"content" doc:"Markdown, at most 64 KiB"`
		QuestionID apiID  `json:"questionId,omitempty" doc:"the message that you are answering; refused with no_open_question if a different question is open now"`
	}
}

type notifyIn struct {
	TaskPath
	Body struct {
		Message    string `json:"message" doc:"Markdown, at most 64 KiB"`
		NeedsReply bool   `json:"needsReply,omitempty" doc:"true: a question; the task waits for a person's answer, and your claim ends: the next signup returns the task with the answer"`
		KeepClaim  bool   `json:"keepClaim,omitempty" doc:"true: a question does not end your claim"`
	}
}

type commentsOutBody struct {
	Comments []task.Comment `json:"comments"`
	Next     string         `json:"next,omitempty" doc:"cursor of the next page; absent at the end"`
	CutMark
}

type messagesOutBody struct {
	Messages []task.Message `json:"messages"`
	Next     string         `json:"next,omitempty" doc:"cursor of the next page; absent at the end"`
	CutMark
}

func messagesAnswer(ctx context.Context, list []task.Message, limit int, err error) (messagesOutBody, error) {
	return messagesOutBody{list, nextID(ctx, list, limit, messageID), cutMark(ctx)}, err
}

func messageID(m task.Message) task.ID { return m.ID }

func (s *Server) apiComment(ctx context.Context, in *contentIn) (task.Message, error) {
	return s.svc.Comment(ctx, actorIn(ctx), in.ID.ID, in.Body.Content)
}

func (s *Server) apiNotify(ctx context.Context, in *notifyIn) (task.Message, error) {
	b := in.Body
	if b.NeedsReply {
		return s.svc.Ask(ctx, actorIn(ctx), in.ID.ID, b.Message, b.KeepClaim)
	}
	return s.svc.Notify(ctx, actorIn(ctx), in.ID.ID, b.Message)
}

func (s *Server) apiReply(ctx context.Context, in *replyIn) (task.Message, error) {
	return s.svc.ReplyTo(ctx, actorIn(ctx), in.ID.ID, task.ID(in.Body.QuestionID), in.Body.Content)
}

func (s *Server) apiThread(ctx context.Context, in *afterIn) (messagesOutBody, error) {
	list, err := s.svc.Thread(ctx, actorIn(ctx), in.ID.ID, in.After.ID, in.Limit)
	return messagesAnswer(ctx, list, in.Limit, err)
}

func (s *Server) apiTaskEvents(ctx context.Context, in *afterIn) (eventsOutBody, error) {
	return s.eventsAnswer(ctx, task.EventFilter{TaskID: in.ID.ID, After: in.After.ID, Limit: in.Limit})
}

func (s *Server) apiComments(ctx context.Context, in *afterIn) (commentsOutBody, error) {
	list, err := s.svc.Comments(ctx, actorIn(ctx), in.ID.ID, in.After.ID, in.Limit)
	out := commentsOutBody{make([]task.Comment, len(list)), nextID(ctx, list, in.Limit, messageID), cutMark(ctx)}
	for i, m := range list {
		out.Comments[i] = task.Comment{ID: m.ID, Author: m.Author, Kind: m.Kind, Content: m.Content, CreatedAt: m.CreatedAt}
	}
	return out, err
}
