package handlers

import (
	"bufio"
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/service"
	"taskyard/task"
)

// stream is an open event stream, read in the background.
type stream struct {
	t     *testing.T
	lines chan string
	close context.CancelFunc
}

// follow opens a stream, and fails the test if the response is not a stream.
func (s *site) follow(t *testing.T, caller, path string, headers ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req := s.request(caller, "GET", path, "", append(headers, "Accept", "text/event-stream")...).WithContext(ctx)
	res, err := s.http.Do(req)
	s.ok(err)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("X-Request-Id") == "" {
		t.Fatalf("not a stream: %d %v", res.StatusCode, res.Header)
	}
	st := &stream{t, make(chan string, 100), cancel}
	go func() {
		defer close(st.lines)
		defer res.Body.Close()
		for sc := bufio.NewScanner(res.Body); sc.Scan(); {
			st.lines <- sc.Text()
		}
	}()
	t.Cleanup(cancel)
	return st
}

// next returns the next line with a prefix.
func (st *stream) next(prefix string) string {
	st.t.Helper()
	late := time.After(10 * time.Second)
	for {
		select {
		case l, open := <-st.lines:
			if !open {
				st.t.Fatalf("the stream ended before %q", prefix)
			}
			if rest, ok := strings.CutPrefix(l, prefix); ok {
				return rest
			}
		case <-late:
			st.t.Fatalf("no line %q arrived", prefix)
		}
	}
}

func TestEventsAreReadInPagesOrAsAStream(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.host.Token("admin") // its creation is an event too
	s.create("pull", "")
	type page struct {
		Events []task.Event
		Next   string
	}
	all := decode[page](s.do("admin", "GET", "/api/events?limit=500", "").want(200))
	first := decode[page](s.do("admin", "GET", "/api/events?limit=2&after=0", "").want(200))
	if len(first.Events) != 2 || first.Next != first.Events[1].ID.String() || all.Next != "" {
		t.Errorf("got %+v", first)
	}
	last := all.Events[len(all.Events)-1]
	if last.Kind != task.EvTaskCreated || last.Actor != "user:operator" || last.TaskID != 1 {
		t.Errorf("got %+v", last)
	}
	t.Run("without a position the stream begins now", func(t *testing.T) {
		st := s.follow(t, "admin", "/api/events")
		st.next("retry:")
		if id := st.next("id: "); id != last.ID.String() {
			t.Errorf("got start after %s", id)
		}
		s.do("operator", "PATCH", "/api/tasks/1", `{"title":"now"}`).want(200)
		if id := st.next("id: "); id != (last.ID + 1).String() {
			t.Errorf("got id %s", id)
		}
		if kind := st.next("event: "); kind != task.EvTaskUpdated {
			t.Errorf("got event %s", kind)
		}
		if data := st.next("data: "); !strings.Contains(data, `"taskId":"1"`) {
			t.Errorf("got data %s", data)
		}
	})
	t.Run("the stream continues after Last-Event-ID, which takes precedence over after", func(t *testing.T) {
		before := last.ID - 1
		for _, st := range []*stream{
			s.follow(t, "admin", "/api/events?after="+before.String()),
			s.follow(t, "admin", "/api/events?after=1", "Last-Event-ID", before.String()),
		} {
			if id := st.next("id: "); id != before.String() {
				t.Errorf("got start after %s", id)
			}
			if id := st.next("id: "); id != last.ID.String() {
				t.Errorf("got id %s", id)
			}
		}
		all := s.follow(t, "admin", "/api/events?after=0")
		all.next("id: 0")
		if id := all.next("id: "); id != "1" {
			t.Errorf("got id %s", id)
		}
	})
	t.Run("a position beyond the end, as after a restore, is refused with the position to continue at", func(t *testing.T) {
		s.host.Token("viewer") // its creation is an event too
		end, err := s.svc.LastEvent(t.Context())
		s.ok(err)
		s.do("viewer", "GET", "/api/events?after="+end.String(), "").want(200)
		p := s.do("viewer", "GET", "/api/events?after="+(end+1).String(), "").field(task.CodeInvalidField, "after")
		if !strings.HasSuffix(p.Detail, "continue after "+end.String()) {
			t.Error(p.Detail)
		}
	})
	t.Run("an invalid position is refused", func(t *testing.T) {
		s.do("viewer", "GET", "/api/events?after=x", "", "Accept", "text/event-stream").field(task.CodeInvalidField, "after")
		s.do("viewer", "GET", "/api/events", "", "Accept", "text/event-stream", "Last-Event-ID", "-1").field(task.CodeInvalidField, "after")
		s.do("viewer", "GET", "/api/events?after=-1", "").field(task.CodeInvalidField, "after")
	})
	t.Run("without a token there is no stream", func(t *testing.T) {
		s.do("nobody", "GET", "/api/events", "", "Accept", "text/event-stream").problem(401, task.CodeUnauthorized)
	})
}

func TestStreamsOutliveTheReadTimeout(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o setup) {
		o.HTTP.ReadTimeout, o.HTTP.WriteTimeout = time.Second, time.Second
	})
	log, live := s.follow(t, "viewer", "/api/events"), s.follow(t, "viewer", "/live?topics=events")
	log.next("id: ")
	live.next("event: hello")
	<-time.After(1500 * time.Millisecond) // well past both timeouts
	s.create("pull", "")
	log.next("id: ")
	live.next(`data: ["events"]`)
}

// A caller who loses a right gets no more events: open streams end at once, not at
// the server's next check.
func TestStreamsEndWithTheSession(t *testing.T) {
	t.Parallel()
	viewer, disabled, password := task.RoleViewer, true, "correct horse battery staple"
	for name, c := range map[string]service.UserChange{
		"another role": {Role: &viewer}, "a disabled account": {Disabled: &disabled}, "a new password": {Password: &password},
		"signing out everywhere": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.maya()
			ben, err := s.svc.AddUser(t.Context(), mayaActor, "ben", pagePassword, task.RoleAdmin)
			s.ok(err)
			session := s.signIn("ben").session()
			live, log := s.follow(t, "nobody", "/live?topics=events", "Cookie", session), s.follow(t, "nobody", "/api/events", "Cookie", session)
			live.next("event: hello")
			log.next("retry:")
			if c == (service.UserChange{}) {
				err = s.svc.SignOutEverywhere(t.Context(), task.Actor{Name: "user:ben", Role: task.RoleAdmin, UserID: ben.ID})
			} else {
				_, err = s.svc.UpdateUser(t.Context(), mayaActor, ben.ID, c)
			}
			s.ok(err)
			for _, st := range []*stream{live, log} {
				for range st.lines { // until the stream ends
				}
			}
			s.do("nobody", "GET", "/api/events", "", "Accept", "text/event-stream", "Cookie", session).problem(401, task.CodeUnauthorized)
		})
	}
}

func TestStreamsEndWithTheHub(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	st := s.follow(t, "viewer", "/api/events")
	st.next("retry:")
	s.svc.Hub().Close()
	for range st.lines { // until the stream ends
	}
}

// A database restored from a backup, or a promoted standby, may lack the last lines
// that were read.
func TestAStreamBeyondTheEndOfTheLogContinuesAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("pull", "")
	last, err := s.svc.LastEvent(t.Context())
	s.ok(err)
	st := s.follow(t, "admin", "/api/events", "Last-Event-ID", (last + 1000).String())
	begin, err := task.ParseID(st.next("id: "))
	s.ok(err)
	if begin > last+1 { // creating the stream's token adds a line
		t.Fatalf("got start after %d, but the newest line is %d", begin, last)
	}
	s.do("operator", "PATCH", "/api/tasks/1", `{"title":"now"}`).want(200)
	if kind := st.next("event: "); kind != task.EvTaskUpdated {
		t.Errorf("got event %s", kind)
	}
}

// revokingWriter receives a stream and revokes the caller's token at its first event.
type revokingWriter struct {
	*httptest.ResponseRecorder
	revoke func()
	events int
}

func (w *revokingWriter) SetWriteDeadline(time.Time) error { return nil }

func (w *revokingWriter) Write(b []byte) (int, error) {
	if n := strings.Count(string(b), "event: "); n > 0 {
		if w.events == 0 {
			w.revoke()
		}
		w.events += n
	}
	return len(b), nil
}

// A command outside the server revokes tokens only in the database.
func TestARevokedTokenThatIsFarBehindStopsReadingTheLog(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.host.Mint("late", service.NewToken{Scope: "read"})
	s.ok(s.db.Write(t.Context(), func(tx *db.Tx) error {
		for range 1000 {
			if err := tx.AddEvent(task.Event{Actor: task.System, Kind: task.EvTaskUpdated}); err != nil {
				return err
			}
		}
		return nil
	}))
	w := &revokingWriter{ResponseRecorder: httptest.NewRecorder(), revoke: func() {
		s.ok(s.db.Write(t.Context(), func(tx *db.Tx) error { return tx.RevokeToken(id) }))
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s.srv.ServeHTTP(w, s.request("late", "GET", "/api/events?after=0", "", "Accept", "text/event-stream").WithContext(ctx))
	if w.events == 0 || w.events > 200 {
		t.Errorf("got %d events, want at most one batch", w.events)
	}
}
