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

func (s *Server) apiInbox(ctx context.Context, _ *struct{}) (task.Inbox, error) {
	return s.svc.Inbox(ctx, actorIn(ctx))
}

func (s *Server) apiAcknowledgeNotice(ctx context.Context, in *acknowledgeIn) (task.Message, error) {
	return s.svc.AcknowledgeNotice(ctx, actorIn(ctx), in.ID.ID)
}
