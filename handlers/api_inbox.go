package handlers

import (
	"context"

	"taskyard/task"
)

// NoticePath is the message id of a notice in the path.
type NoticePath struct {
	ID pathID `path:"id"`
}

type acknowledgeIn struct {
	NoticePath
	optional[nothing]
}

type inboxOut struct {
	Body task.Inbox
}

func (s *Server) inboxOperations() {
	handle(s, op{
		Method: "GET", Path: "/api/inbox", Need: task.Read, Tag: "Inbox", Summary: "Read what waits for a person",
		Desc: "At most 50 entries of each kind; `totals` counts them all. What a person snoozed on the page is left " +
			"out for their own tokens.",
	}, func(ctx context.Context, _ *struct{}) (*inboxOut, error) {
		b, err := s.svc.Inbox(ctx, actorIn(ctx))
		return &inboxOut{b}, err
	})
	handle(s, op{
		Method: "POST", Path: "/api/inbox/notices/{id}/acknowledge", Need: task.Person, Tag: "Inbox",
		Summary: "Take a notice out of the inbox", Desc: "The id is the notice's messageId. Acknowledging twice is no error.",
	},
		func(ctx context.Context, in *acknowledgeIn) (*messageOut, error) {
			return messageAnswer(s.svc.AcknowledgeNotice(ctx, actorIn(ctx), in.ID.ID))
		})
}
