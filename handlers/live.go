package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"taskyard/task"
)

const (
	heartbeat      = 15 * time.Second
	coalesceWindow = 40 * time.Millisecond // changes of one burst are sent together
	maxTopics      = 300                   // of all tabs of a browser
	streamLife     = time.Hour             // then the browser reconnects
	recheck        = 30 * time.Second
)

// live is the only stream of a browser tab: names of topics that changed. The
// page then fetches its parts again.
func (s *Server) live(c echo.Context) error {
	topics := strings.Split(c.QueryParam("topics"), ",")
	if c.QueryParam("topics") == "" || len(topics) > maxTopics {
		return task.FieldErrorf("topics", "must name 1 to %d topics", maxTopics)
	}
	ctx, leave, err := s.enterStream(c)
	if err != nil {
		return err
	}
	defer leave()
	sub := s.svc.Hub().Subscribe(topics...)
	defer sub.Close()
	st := s.stream(c)
	// The generation reveals a change between the page and this stream.
	if err := st.send(fmt.Sprintf("retry: 1000\nevent: hello\ndata: %d\n\n", s.svc.Hub().Generation())); err != nil {
		return nil
	}
	beat, check, end := time.NewTicker(heartbeat), time.NewTicker(recheck), time.NewTimer(streamLife)
	defer beat.Stop()
	defer check.Stop()
	defer end.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-sub.Done():
			return nil
		case <-end.C:
			return nil
		case <-check.C:
			if !s.isStillSignedIn(c) {
				return nil
			}
		case <-beat.C:
			err = st.send(": beat\n\n")
		case <-sub.C:
			time.Sleep(coalesceWindow)
			gen := s.svc.Hub().Generation() // read it first: changes in between are sent twice
			b, _ := json.Marshal(sub.Drain())
			err = st.send(fmt.Sprintf("id: %d\ndata: %s\n\n", gen, b))
		}
		if err != nil {
			return nil // the browser has disconnected
		}
	}
}

// enterStream opens another stream for a caller. The context ends with the
// caller's token; leave closes the stream. Errors: an agent with restricted
// access, a token that was revoked in the meantime, too many streams.
func (s *Server) enterStream(c echo.Context) (ctx context.Context, leave func(), err error) {
	a := actorFrom(c)
	if err := s.svc.SeesAll(a); err != nil {
		return nil, nil, err
	}
	ctx, end := s.svc.WhileValid(c.Request().Context(), a)
	if !s.isStillSignedIn(c) { // revoked since the request was accepted
		end()
		return nil, nil, errSignIn
	}
	closed, err := s.svc.OpenStream(a)
	if err != nil {
		end()
		return nil, nil, err
	}
	return ctx, func() { closed(); end() }, nil
}

// isStillSignedIn reports whether the caller of a long stream may still read it. A
// caller whose role has changed must open it again.
func (s *Server) isStillSignedIn(c echo.Context) bool {
	a := actorFrom(c)
	if a.TokenID == 0 && a.UserID != 0 {
		// Signing out ends the session, not the person.
		_, ok, err := s.svc.Session(c.Request().Context(), s.sessionHash(c))
		if err != nil || !ok {
			return false
		}
		now, err := s.svc.UserActor(c.Request().Context(), a.UserID, a.Addr)
		return err == nil && now.Role == a.Role
	}
	secret := strings.TrimPrefix(c.Request().Header.Get("Authorization"), "Bearer ")
	now, err := s.svc.Authenticate(c.Request().Context(), secret, a.Addr)
	return err == nil && now.Role == a.Role
}

type eventStream struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (s *Server) stream(c echo.Context) eventStream {
	h := c.Response().Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	c.Response().WriteHeader(http.StatusOK)
	return eventStream{c.Response(), http.NewResponseController(c.Response())}
}

// send writes one message; a browser that does not accept it within 10 s is
// disconnected.
func (st eventStream) send(msg string) error {
	if err := st.rc.SetWriteDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := st.w.Write([]byte(msg)); err != nil {
		return err
	}
	return st.rc.Flush()
}

// eventLog streams the audit log, from Last-Event-ID or after.
func (s *Server) eventLog(c echo.Context, after task.ID) error {
	a := actorFrom(c)
	ctx, leave, err := s.enterStream(c)
	if err != nil {
		return err
	}
	defer leave()
	sub := s.svc.Hub().Subscribe("events")
	defer sub.Close()
	st := s.stream(c)
	// The ID says where the stream begins, for callers that disconnect before
	// the first line.
	if st.send(fmt.Sprintf("retry: 1000\nid: %d\n\n", after)) != nil {
		return nil
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		if !s.isStillSignedIn(c) { // a caller that is far behind reads for long without a heartbeat
			return nil
		}
		list, err := s.svc.Events(ctx, a, task.EventFilter{After: after, Limit: 200})
		if err != nil {
			return nil
		}
		for _, e := range list {
			b, err := marshalJSON(e)
			if err != nil {
				return nil
			}
			if st.send(fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", e.ID, e.Kind, b)) != nil {
				return nil
			}
			after = e.ID
		}
		if len(list) == 200 || task.BudgetFromContext(ctx).Cut() {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-sub.Done():
			return nil
		case <-beat.C:
			if st.send(": beat\n\n") != nil {
				return nil
			}
		case <-sub.C:
		}
	}
}
