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
	t.Run("a request in progress does not restore the session", func(t *testing.T) {
		inst := newSite(t)
		b := inst.maya()
		other := inst.signIn("maya")
		inst.Forward(sessionTouch + time.Minute) // the request updates the time of last use
		body, send := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, inst.url+"/settings/keys", body)
		inst.ok(err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", b.origin)
		req.Header.Set("Expect", "100-continue") // sent when the body is read, after the session was loaded
		b.client.Transport = &http.Transport{ExpectContinueTimeout: time.Minute, DisableKeepAlives: true}
		answered := make(chan *webPage)
		go func() { answered <- b.do(req) }()
		_, err = send.Write([]byte("keys=on"))
		inst.ok(err)
		other.post("/settings/signout").redirectsTo("/login")
		inst.ok(send.Close())
		a := <-answered
		if a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s (%d) got a cookie", a.url, a.status)
		}
		b.get("/queues").redirectsTo("/login?next=%2Fqueues")
	})
	t.Run("a request in progress does nothing more", func(t *testing.T) {
		inst := newSite(t)
		b, other := inst.maya(), inst.signIn("maya")
		body, send := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, inst.url+"/api/tasks", body)
		inst.ok(err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", b.origin)
		req.Header.Set("Expect", "100-continue")
		b.client.Transport = &http.Transport{ExpectContinueTimeout: time.Minute, DisableKeepAlives: true}
		answered := make(chan *webPage)
		go func() { answered <- b.do(req) }()
		_, err = send.Write([]byte(fine[:1]))
		inst.ok(err)
		other.post("/settings/signout").redirectsTo("/login")
		_, err = send.Write([]byte(fine[1:]))
		inst.ok(err)
		inst.ok(send.Close())
		if a := <-answered; a.status != http.StatusUnauthorized {
			t.Errorf("%s: got %d", a.url, a.status)
		}
	})
	t.Run("a stream of the session ends at its next check", func(t *testing.T) {
		inst := newSite(t)
		b, other := inst.maya(), inst.signIn("maya")
		ctx := context.WithValue(t.Context(), keyRequestInfo, &requestInfo{})
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, inst.url+"/live", http.NoBody)
		inst.ok(err)
		for _, cookie := range b.client.Jar.Cookies(req.URL) {
			req.AddCookie(cookie)
		}
		c := echo.New().NewContext(req, httptest.NewRecorder())
		inst.ok(inst.srv.identify(c))
		if !inst.srv.isStillSignedIn(c) {
			t.Error("signed in, but refused")
		}
		other.post("/settings/signout").redirectsTo("/login")
		if inst.srv.isStillSignedIn(c) {
			t.Error("the stream continues after signing out everywhere")
		}
	})
}

// The news of the change may have arrived before the stream listened for it, or never,
// as from a disconnected server.
func TestAStreamEndsWhenTheRoleChanges(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	ctx := t.Context()
	u, err := inst.svc.AddUser(ctx, mayaActor, "vera", pagePassword, task.RoleAdmin)
	inst.ok(err)
	_, err = inst.svc.AddUser(ctx, mayaActor, "iris", pagePassword, task.RoleAdmin)
	inst.ok(err)
	vera, err := inst.svc.UserActor(ctx, u.ID, "")
	inst.ok(err)
	made, err := inst.svc.CreateToken(ctx, vera, service.NewToken{Name: "log", Scope: "admin", Own: true})
	inst.ok(err)
	req := httptest.NewRequest(http.MethodGet, "/api/events", http.NoBody)
	req = req.WithContext(context.WithValue(ctx, keyRequestInfo, &requestInfo{}))
	req.Header.Set("Authorization", "Bearer "+made.Secret)
	c := echo.New().NewContext(req, httptest.NewRecorder())
	inst.ok(inst.srv.identify(c))
	_, leave, err := inst.srv.enterStream(c)
	inst.ok(err)
	leave()
	viewer := task.RoleViewer
	_, err = inst.svc.UpdateUser(ctx, mayaActor, u.ID, service.UserChange{Role: &viewer})
	inst.ok(err)
	if _, _, err := inst.srv.enterStream(c); errorKind(err) != task.Unauthorized {
		t.Errorf("a stream was opened with the previous role: %v", err)
	}
}

// lateWriter calls first before the first write.
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

// Reading a file of all tasks may take hours.
func TestATaskExportEndsWhenTheTokenIsRevoked(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	ctx := t.Context()
	for range 201 { // a part has 200 tasks
		tk, err := inst.svc.CreateTask(ctx, mayaActor, task.New{Title: "x", Owner: "pull"})
		inst.ok(err)
		_, err = inst.svc.CancelTask(ctx, mayaActor, tk.ID, "")
		inst.ok(err)
	}
	u, err := inst.svc.AddUser(ctx, mayaActor, "vera", pagePassword, task.RoleViewer)
	inst.ok(err)
	vera, err := inst.svc.UserActor(ctx, u.ID, "")
	inst.ok(err)
	made, err := inst.svc.CreateToken(ctx, vera, service.NewToken{Name: "file", Scope: "read", Own: true})
	inst.ok(err)
	lines := func(first func()) (n int, complete bool) {
		req := httptest.NewRequest(http.MethodGet, "/history.csv", http.NoBody)
		req = req.WithContext(context.WithValue(ctx, keyRequestInfo, &requestInfo{}))
		req.Header.Set("Authorization", "Bearer "+made.Secret)
		rec := httptest.NewRecorder()
		c := echo.New().NewContext(req, &lateWriter{rec, first})
		inst.ok(inst.srv.identify(c))
		defer func() { n, complete = strings.Count(rec.Body.String(), "\n"), recover() == nil }()
		inst.ok(inst.srv.historyCSV(c))
		return n, complete
	}
	if n, complete := lines(nil); n != 202 || !complete {
		t.Errorf("got %d lines, complete %t", n, complete)
	}
	n, complete := lines(func() { inst.ok(inst.svc.RevokeToken(ctx, mayaActor, made.ID)) })
	if n != 201 || complete {
		t.Errorf("after the token was revoked: got %d lines, complete %t", n, complete)
	}
}
