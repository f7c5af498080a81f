package handlers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"
	"github.com/mileusna/useragent"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
)

const (
	sessionIdle  = 8 * time.Hour
	sessionLife  = 30 * 24 * time.Hour
	sessionTouch = 5 * time.Minute // interval for writing "seen"
	keyUser      = "uid"
	keySeen      = "seen"

	// For the list of sessions: since when, from where and with which browser.
	keySince   = "since"
	keyAddress = "from"
	keyProgram = "by"
)

func (s *Server) newSessions() *scs.SessionManager {
	m := scs.New()
	m.Store = sessionStore{s.svc}
	m.Codec = leanCodec{}
	m.HashTokenInStore = true
	m.Lifetime = sessionLife
	// scs's own idle timeout writes on every request; ours does not.
	m.IdleTimeout = 0
	m.Cookie = scs.SessionCookie{
		Name: s.cookieName("taskyard"), Path: s.cookiePath(), HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Persist: true, Secure: s.secure(),
	}
	return m
}

// sessionStore stores sessions in the server's own database.
type sessionStore struct{ svc *service.Service }

func (st sessionStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	return st.svc.Session(ctx, token)
}

func (st sessionStore) CommitCtx(ctx context.Context, token string, b []byte, expiry time.Time) error {
	_, values, err := leanCodec{}.Decode(b)
	if err != nil {
		return err
	}
	if ctx.Value(keyLoaded) != nil {
		kept, err := st.svc.KeepSession(ctx, token, b, expiry)
		if err == nil && !kept {
			err = errSignedOut
		}
		return err
	}
	uid, _ := values[keyUser].(int64)
	return st.svc.SaveSession(ctx, token, task.ID(uid), b, expiry)
}

// errSignedOut is returned for a session that was loaded by the request and has
// ended since. keyLoaded marks the context in which a loaded session is written: a
// request that is still in progress must not restore a session that has ended.
var errSignedOut = errors.New("the session has ended")

func (st sessionStore) DeleteCtx(ctx context.Context, token string) error {
	return st.svc.DropSession(ctx, token)
}

func (st sessionStore) Find(token string) ([]byte, bool, error) {
	return st.FindCtx(context.Background(), token)
}

func (st sessionStore) Commit(token string, b []byte, expiry time.Time) error {
	return st.CommitCtx(context.Background(), token, b, expiry)
}

func (st sessionStore) Delete(token string) error { return st.DeleteCtx(context.Background(), token) }

// leanCodec encodes the few values that we store; gob is ten times as
// expensive.
type leanCodec struct{}

type leanSession struct {
	Deadline int64             `json:"d"`
	Ints     map[string]int64  `json:"i,omitempty"`
	Texts    map[string]string `json:"t,omitempty"`
}

func (leanCodec) Encode(deadline time.Time, values map[string]any) ([]byte, error) {
	l := leanSession{Deadline: deadline.Unix(), Ints: map[string]int64{}, Texts: map[string]string{}}
	for k, v := range values {
		switch v := v.(type) {
		case int64:
			l.Ints[k] = v
		case string:
			l.Texts[k] = v
		}
	}
	return json.Marshal(l)
}

func (leanCodec) Decode(b []byte) (time.Time, map[string]any, error) {
	var l leanSession
	if err := json.Unmarshal(b, &l); err != nil {
		return time.Time{}, nil, err
	}
	values := make(map[string]any, len(l.Ints)+len(l.Texts))
	for k, v := range l.Ints {
		values[k] = v
	}
	for k, v := range l.Texts {
		values[k] = v
	}
	return time.Unix(l.Deadline, 0), values, nil
}

// loadSession loads the browser's session and writes it once, right before the
// answer, if it changed. scs's own middleware, wrapped by echo, would commit
// twice if a handler returns an error.
func (s *Server) loadSession(c echo.Context) error {
	r := c.Request()
	token := ""
	if cookie, err := c.Cookie(s.sessions.Cookie.Name); err == nil {
		token = cookie.Value
	}
	ctx, err := s.sessions.Load(r.Context(), token)
	if err != nil {
		return err
	}
	c.SetRequest(r.WithContext(ctx))
	loaded := s.sessions.Token(ctx) // "" if the store does not have it
	c.Response().Before(func() { s.commitSession(c, loaded) })
	uid := s.sessions.GetInt64(ctx, keyUser)
	if uid == 0 {
		return nil
	}
	now := s.svc.AwakeTime() // no activity is recorded while the server is suspended
	seen := task.Time(s.sessions.GetInt64(ctx, keySeen))
	if now.Sub(seen) > sessionIdle {
		return s.sessions.Destroy(ctx)
	}
	a, err := s.svc.UserActor(ctx, task.ID(uid), c.RealIP())
	if err != nil {
		if errorKind(err) == task.Unauthorized {
			return s.sessions.Destroy(ctx)
		}
		return err
	}
	if now.Sub(seen) > sessionTouch {
		s.sessions.Put(ctx, keySeen, int64(now))
	}
	a.Session = s.sessionHash(c)
	setActor(c, a)
	return nil
}

func (s *Server) commitSession(c echo.Context, loaded string) {
	ctx := c.Request().Context()
	if loaded != "" && s.sessions.Token(ctx) == loaded {
		ctx = context.WithValue(ctx, keyLoaded, true)
	}
	switch s.sessions.Status(ctx) {
	case scs.Modified:
		token, expiry, err := s.sessions.Commit(ctx)
		if errors.Is(err, errSignedOut) || err != nil && ctx.Err() != nil { // signed out in the meantime, or disconnected
			return
		}
		if err != nil {
			s.log.Error("failed to store the session", "error", err)
			return
		}
		s.sessions.WriteSessionCookie(ctx, c.Response(), token, expiry)
	case scs.Destroyed:
		s.sessions.WriteSessionCookie(ctx, c.Response(), "", time.Time{})
	case scs.Unmodified:
	}
}

// signIn binds the browser's session to a person, with a new token.
func (s *Server) signIn(c echo.Context, u task.User) error {
	ctx := c.Request().Context()
	if err := s.sessions.RenewToken(ctx); err != nil {
		return err
	}
	s.sessions.Put(ctx, keyUser, int64(u.ID))
	s.sessions.Put(ctx, keySeen, int64(s.svc.AwakeTime()))
	s.sessions.Put(ctx, keySince, int64(s.svc.Now()))
	s.sessions.Put(ctx, keyAddress, c.RealIP())
	s.sessions.Put(ctx, keyProgram, headerText(c.Request().UserAgent()))
	return nil
}

// userSessions lists the live sessions of the caller, most recently used first.
func (s *Server) userSessions(c echo.Context) ([]views.Session, error) {
	stored, err := s.svc.Sessions(c.Request().Context(), actorFrom(c))
	if err != nil {
		return nil, err
	}
	current, list := s.sessionHash(c), []views.Session{}
	for _, st := range stored {
		_, values, err := leanCodec{}.Decode(st.Data)
		if err != nil {
			return nil, err
		}
		v := views.Session{ID: st.Hash, Current: st.Hash == current}
		seen, _ := values[keySeen].(int64)
		since, _ := values[keySince].(int64)
		idle := s.svc.AwakeTime().Sub(task.Time(seen))
		if idle > sessionIdle {
			continue // expired, but not yet swept
		}
		v.SeenAt, v.SignedInAt = s.svc.Now().Add(-idle), task.Time(since)
		v.Address, _ = values[keyAddress].(string)
		program, _ := values[keyProgram].(string)
		v.Browser, v.System = parseBrowser(program)
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b views.Session) int { return cmp.Compare(b.SeenAt, a.SeenAt) })
	return list, nil
}

// parseBrowser returns the browser and the operating system in a User-Agent
// header, each "" if unknown.
func parseBrowser(header string) (browser, system string) {
	ua := useragent.Parse(header)
	return headerText(ua.Name), headerText(ua.OS)
}
