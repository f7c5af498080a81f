package handlers

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"taskyard/internal/testkit"
	"taskyard/task"
	"taskyard/views"
)

// askQuestion has coder ask a question on a new task.
func (s *site) askQuestion(title, text string) (*task.Task, task.ID) {
	s.t.Helper()
	tk := s.newTask(mayaActor, task.New{Owner: "coder", Title: title, NoStart: true})
	m, err := s.svc.Ask(context.Background(), asAgent("coder"), tk.ID, text, false)
	s.ok(err)
	return tk, m.ID
}

func TestSnoozeOnPages(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b, oleg := inst.maya(), inst.person("oleg", task.RoleOperator)
	tk, q := inst.askQuestion("Choose a color", "Blue or green?")
	snooze := func(pairs ...string) *webPage {
		return b.post("/inbox/snooze", append([]string{"kind", "question", "ref", q.String(), "back", "/"}, pairs...)...)
	}
	b.get("/").shows("Blue or green?", "Until tomorrow, 9:00", `name="ref" value="`+q.String()+`"`)

	t.Run("hides the entry from the person, who sees until when and can undo it", func(t *testing.T) {
		p := snooze("for", "hour").redirectsTo("/").hides("Blue or green?").shows("<title>Inbox ·", "Snoozed #"+tk.ID.String()+
			" until", "Snoozed (1)", "Choose a color", "data-undo", "returns automatically")
		b.get("/queues").shows("<title>Queues ·").hides("data-undo>")
		oleg.get("/").shows("Blue or green?", "<title>(1) Inbox").hides("Snoozed (")
		b.post("/inbox/wake", "kind", "question", "ref", q.String(), "_key",
			p.field("/inbox/wake", "_key")).redirectsTo("/").shows("Blue or green?", "back in your inbox").hides("Snoozed (")
	})
	t.Run("the entry returns automatically", func(t *testing.T) {
		snooze("for", "hour").redirectsTo("/").hides("Blue or green?")
		inst.Forward(time.Hour)
		b.get("/").shows("Blue or green?", "(1) Inbox")
	})
	t.Run("a double click has one effect", func(t *testing.T) {
		count := func() int {
			list, err := inst.svc.Events(context.Background(), mayaActor, task.EventFilter{TaskID: tk.ID, Limit: 500})
			inst.ok(err)
			return len(list)
		}
		before := count()
		snooze("for", "week", "_key", "one").is(303)
		snooze("for", "week", "_key", "one").is(303)
		if got := count() - before; got != 1 {
			t.Errorf("got %d events", got)
		}
	})
	t.Run("invalid input is refused", func(t *testing.T) {
		for _, in := range [][]string{
			{"for", "ever"},
			{"for", "hour", "kind", "mood"},
			{"for", "hour", "ref", "x"},
			{"for", "hour", "ref", "-1"},
			{},
		} {
			b.post("/inbox/snooze", append(in, "kind", "question", "ref", q.String())...).is(422)
		}
		b.post("/inbox/snooze", "kind", "question", "ref", "9999", "for", "hour").is(404).shows("no longer waiting")
		b.post("/inbox/wake", "kind", "mood", "ref", "1").is(422)
		b.post("/inbox/wake", "kind", "question", "ref", "").is(422)
		b.get("/?only=mood").is(422)
		b.get("/?only=question&after=x").is(422)
		b.post("/inbox/notices/9999/restore").is(404)
	})
	t.Run("a viewer cannot snooze", func(t *testing.T) {
		inst.person("vera", task.RoleViewer).get("/").is(200).shows("Blue or green?").hides("/inbox/snooze")
	})
	t.Run("an acknowledgment can be undone", func(t *testing.T) {
		m, err := inst.svc.Notify(context.Background(), asAgent("coder"), tk.ID, "Half of it is done.")
		inst.ok(err)
		at := "/inbox/notices/" + m.ID.String()
		b.post(at+"/acknowledge", "back", "/").redirectsTo("/").hides("Half of it is done.").shows(`action="`+at+`/restore"`, "data-undo")
		b.post(at+"/restore", "back", "/").redirectsTo("/").shows("Half of it is done.")
	})
}

func TestLongInboxesArePagedAndSmall(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	rnd := rand.New(rand.NewPCG(1, 2))
	noise := func() string {
		var s strings.Builder
		for range 600 {
			s.WriteByte(byte('a' + rnd.IntN(26)))
			s.WriteByte(" 0123456789"[rnd.IntN(11)])
		}
		return s.String()
	}
	for range 45 {
		inst.askQuestion("Question "+noise()[:100], noise())
		tk := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Note " + noise()[:100], NoStart: true})
		_, err := inst.svc.Notify(context.Background(), asAgent("coder"), tk.ID, noise())
		inst.ok(err)
	}
	b.get("/").is(200).shows("(90) Inbox", "Show all 45", "/?only=question", "/?only=notice").isSmall()
	for _, kind := range []string{"question", "notice"} {
		seen, page := 0, b.get("/?only="+kind)
		for {
			n := strings.Count(page.body, `<li class="card comment`)
			seen += n
			if n > views.InboxRows {
				t.Fatalf("got %d on a page", n)
			}
			_, rest, more := strings.Cut(page.body, `href="/?after=`)
			if !more {
				break
			}
			after, _, _ := strings.Cut(rest, "&")
			page = b.get("/?only=" + kind + "&after=" + after)
		}
		if seen != 45 {
			t.Errorf("got %d of %s on all pages", seen, kind)
		}
	}
	b.get("/?only=stuck").is(200).shows("Inbox is empty", "Show the whole inbox")
}

func TestSnoozesEndInTheMorningOfThePerson(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	testkit.NoError(t, err)
	at := func(s string) time.Time {
		when, err := time.ParseInLocation("2006-01-02 15:04", s, berlin)
		testkit.NoError(t, err)
		return when
	}
	for _, c := range []struct{ now, choice, want string }{
		{"2026-03-02 08:59", "hour", "2026-03-02 09:59"},
		{"2026-03-02 08:59", "tomorrow", "2026-03-03 09:00"}, // a Monday
		{"2026-03-02 08:59", "week", "2026-03-09 09:00"},
		{"2026-03-01 23:30", "week", "2026-03-02 09:00"},     // a Sunday
		{"2026-03-28 20:00", "tomorrow", "2026-03-29 09:00"}, // a day of 23 hours
		{"2026-10-24 20:00", "tomorrow", "2026-10-25 09:00"}, // a day of 25 hours
		{"2026-12-31 12:00", "tomorrow", "2027-01-01 09:00"},
	} {
		t.Run(c.choice+" from "+c.now, func(t *testing.T) {
			if got, err := snoozeUntil(at(c.now), c.choice); err != nil || !got.Equal(at(c.want)) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestTheZoneComesFromTheBrowser(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"Europe/Berlin": "Europe/Berlin", "Etc/GMT+5": "Etc/GMT+5", "America/Argentina/Salta": "America/Argentina/Salta", "UTC": "UTC",
		"": "Local", "Local": "Local", "../../etc/passwd": "Local", "Mars/Phobos": "Local", strings.Repeat("a", 99): "Local",
	} {
		t.Run(value, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.AddCookie(&http.Cookie{Name: "zone", Value: value})
			if got := browserZone(echo.New().NewContext(r, httptest.NewRecorder())); got.String() != want {
				t.Errorf("got %s", got)
			}
		})
	}
}
