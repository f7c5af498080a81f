package handlers

import (
	"context"

	"taskyard/task"
)

// NoticePath is the message ID of a notice in the path.
type NoticePath struct {
	ID pathID `path:"id"`
}

type acknowledgeIn struct {
	NoticePath
	optional[emptyBody]
}

type inboxOut struct {
	Body task.Inbox
}

func (s *Server) apiInbox(ctx context.Context, _ *struct{}) (*inboxOut, error) {
	b, err := s.svc.Inbox(ctx, actorIn(ctx))
	return &inboxOut{b}, err
}

func (s *Server) apiAcknowledgeNotice(ctx context.Context, in *acknowledgeIn) (*messageOut, error) {
	return messageAnswer(s.svc.AcknowledgeNotice(ctx, actorIn(ctx), in.ID.ID))
}
