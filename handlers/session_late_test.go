package handlers

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
)

func TestASessionThatHasEndedStaysEnded(t *testing.T) {
	t.Parallel()
	t.Run("a request that is still under way does not bring it back", func(t *testing.T) {
		y := newSite(t)
		b := y.maya()
		other := y.signIn("maya")
		y.Forward(sessionTouch + time.Minute) // the request notes when it was seen
		body, send := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, y.url+"/settings/keys", body)
		y.ok(err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", b.origin)
		req.Header.Set("Expect", "100-continue") // sent when the body is read: the session is loaded by then
		b.client.Transport = &http.Transport{ExpectContinueTimeout: time.Minute, DisableKeepAlives: true}
		answered := make(chan *seenPage)
		go func() { answered <- b.do(req) }()
		_, err = send.Write([]byte("keys=on"))
		y.ok(err)
		other.post("/settings/signout").leadsTo("/login")
		y.ok(send.Close())
		a := <-answered
		if a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s (%d) is given a cookie", a.url, a.status)
		}
		b.get("/queues").leadsTo("/login?next=%2Fqueues")
	})
	t.Run("a request that is still under way does nothing more", func(t *testing.T) {
		y := newSite(t)
		b, other := y.maya(), y.signIn("maya")
		body, send := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, y.url+"/api/tasks", body)
		y.ok(err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", b.origin)
		req.Header.Set("Expect", "100-continue")
		b.client.Transport = &http.Transport{ExpectContinueTimeout: time.Minute, DisableKeepAlives: true}
		answered := make(chan *seenPage)
		go func() { answered <- b.do(req) }()
		_, err = send.Write([]byte(fine[:1]))
		y.ok(err)
		other.post("/settings/signout").leadsTo("/login")
		_, err = send.Write([]byte(fine[1:]))
		y.ok(err)
		y.ok(send.Close())
		if a := <-answered; a.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", a.url, a.status)
		}
	})
	t.Run("a stream of it ends at its next look", func(t *testing.T) {
		y := newSite(t)
		b, other := y.maya(), y.signIn("maya")
		ctx := context.WithValue(t.Context(), keyRequestInfo, &requestInfo{})
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, y.url+"/live", http.NoBody)
		y.ok(err)
		for _, cookie := range b.client.Jar.Cookies(req.URL) {
			req.AddCookie(cookie)
		}
		c := echo.New().NewContext(req, httptest.NewRecorder())
		y.ok(y.srv.identify(c))
		if !y.srv.stillIn(c) {
			t.Error("signed in, and not let in")
		}
		other.post("/settings/signout").leadsTo("/login")
		if y.srv.stillIn(c) {
			t.Error("it continues after signing out everywhere")
		}
	})
}

// The news of the change may have come before the stream was there to hear it, or
// never, as from a server that is cut off.
func TestAStreamEndsWithTheRoleThatItWasOpenedWith(t *testing.T) {
	t.Parallel()
	y := newSite(t)
	ctx := t.Context()
	u, err := y.svc.AddUser(ctx, mayaActor, "vera", pagePassword, task.RoleAdmin)
	y.ok(err)
	_, err = y.svc.AddUser(ctx, mayaActor, "iris", pagePassword, task.RoleAdmin)
	y.ok(err)
	vera, err := y.svc.UserActor(ctx, u.ID, "")
	y.ok(err)
	made, err := y.svc.CreateToken(ctx, vera, service.NewToken{Name: "log", Scope: "admin", Own: true})
	y.ok(err)
	req := httptest.NewRequest(http.MethodGet, "/api/events", http.NoBody)
	req = req.WithContext(context.WithValue(ctx, keyRequestInfo, &requestInfo{}))
	req.Header.Set("Authorization", "Bearer "+made.Secret)
	c := echo.New().NewContext(req, httptest.NewRecorder())
	y.ok(y.srv.identify(c))
	_, leave, err := y.srv.enterStream(c)
	y.ok(err)
	leave()
	viewer := task.RoleViewer
	_, err = y.svc.UpdateUser(ctx, mayaActor, u.ID, service.UserChange{Role: &viewer})
	y.ok(err)
	if _, _, err := y.srv.enterStream(c); errorKind(err) != task.Unauthorized {
		t.Errorf("a stream is opened with the role of before: %v", err)
	}
}

// lateWriter calls first before what is written first.
type lateWriter struct {
	http.ResponseWriter
	first func()
}

func (w *lateWriter) Write(b []byte) (int, error) {
	if w.first != nil {
		w.first()
		w.first = nil
	}
	return w.ResponseWriter.Write(b)
}

// A file of all tasks may take hours to be read.
func TestAFileOfTasksEndsWithTheRightToReadIt(t *testing.T) {
	t.Parallel()
	y := newSite(t)
	ctx := t.Context()
	for range 201 { // a part has 200
		tk, err := y.svc.CreateTask(ctx, mayaActor, task.New{Title: "x", Owner: "pull"})
		y.ok(err)
		_, err = y.svc.CancelTask(ctx, mayaActor, tk.ID, "")
		y.ok(err)
	}
	u, err := y.svc.AddUser(ctx, mayaActor, "vera", pagePassword, task.RoleViewer)
	y.ok(err)
	vera, err := y.svc.UserActor(ctx, u.ID, "")
	y.ok(err)
	made, err := y.svc.CreateToken(ctx, vera, service.NewToken{Name: "file", Scope: "read", Own: true})
	y.ok(err)
	lines := func(first func()) (n int, whole bool) {
		req := httptest.NewRequest(http.MethodGet, "/history.csv", http.NoBody)
		req = req.WithContext(context.WithValue(ctx, keyRequestInfo, &requestInfo{}))
		req.Header.Set("Authorization", "Bearer "+made.Secret)
		rec := httptest.NewRecorder()
		c := echo.New().NewContext(req, &lateWriter{rec, first})
		y.ok(y.srv.identify(c))
		defer func() { n, whole = strings.Count(rec.Body.String(), "\n"), recover() == nil }()
		y.ok(y.srv.historyCSV(c))
		return n, whole
	}
	if n, whole := lines(nil); n != 202 || !whole {
		t.Errorf("%d lines, whole: %t", n, whole)
	}
	n, whole := lines(func() { y.ok(y.svc.RevokeToken(ctx, mayaActor, made.ID)) })
	if n != 201 || whole {
		t.Errorf("%d lines after the token was revoked, whole: %t", n, whole)
	}
}
