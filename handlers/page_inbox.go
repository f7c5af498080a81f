package handlers

import (
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

func (s *Server) inboxPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	q, err := inboxQuery(c)
	if err != nil {
		return nil, err
	}
	zone, limit := s.userZone(c), views.InboxFirst
	if q.Only != "" {
		limit = views.InboxRows
	}
	p, err := s.svc.InboxPage(c.Request().Context(), actorFrom(c),
		task.InboxQuery{Only: q.Only, After: q.After, Limit: limit}, views.HoursSince(ch.Now, zone))
	if err != nil {
		return nil, err
	}
	// The navigation's count may be outdated; this page has the current one.
	ch.Nav.Inbox = p.Totals.All()
	guide, err := s.guide(c, ch)
	return views.InboxPage(ch, views.InboxModel{
		Guide: guide,
		Inbox: p.Inbox, Query: q, Next: p.Next, Snoozed: p.Snoozed, Running: p.Running, Recent: p.Recent,
		Numbers: views.InboxNumbers{
			DayStats: p.DayStats, Zone: zone, Oldest: oldest(&p.Inbox), Waiting: p.Totals.All(),
			Running: p.Runs,
		},
	}), err
}

func inboxQuery(c echo.Context) (q views.InboxQuery, err error) {
	q.Only = task.InboxKind(c.QueryParam("only"))
	if a := c.QueryParam("after"); a != "" && q.Only != "" {
		if q.After, err = task.ParseID(a); err != nil {
			return q, task.FieldErrorf("after", "%s", err)
		}
	}
	return q, nil
}

// oldest returns since when the oldest item shown has been waiting, 0 for none.
// The first question and the first approval are the oldest of their kind.
func oldest(b *task.Inbox) (at task.Time) {
	older := func(t task.Time) {
		if t != 0 && (at == 0 || t < at) {
			at = t
		}
	}
	for _, list := range [][]task.InboxItem{b.Questions, b.Notices} {
		for i := range list {
			older(list[i].At)
		}
	}
	for _, r := range b.Approvals {
		older(r.CreatedAt)
	}
	for _, r := range b.Permissions {
		older(r.Permission.AskedAt)
	}
	return at
}

func (s *Server) acknowledgeNotice(c echo.Context, id task.ID) error {
	if _, err := s.svc.AcknowledgeNotice(formContext(c), actorFrom(c), id); err != nil {
		return withBack(c, err, views.URL.Inbox())
	}
	addFlashExtra(c, flashExtra{Undo: &views.Undo{Action: views.URL.NoticeAct(id, "restore")}})
	return s.done(c, views.URL.Inbox(), "Acknowledged")
}

func (s *Server) restoreNotice(c echo.Context, id task.ID) error {
	if _, err := s.svc.RestoreNotice(formContext(c), actorFrom(c), id); err != nil {
		return withBack(c, err, views.URL.Inbox())
	}
	return s.done(c, views.URL.Inbox(), "The notice is back in the inbox")
}

// waitForm parses which item a form of the inbox refers to.
func waitForm(c echo.Context) (kind task.InboxKind, ref task.ID, err error) {
	if ref, err = task.ParseID(c.FormValue("ref")); err != nil {
		return "", 0, task.FieldErrorf("ref", "%s", err)
	}
	return task.InboxKind(c.FormValue("kind")), ref, nil
}

func (s *Server) snooze(c echo.Context) error {
	kind, ref, err := waitForm(c)
	if err != nil {
		return err
	}
	zone := s.userZone(c)
	until, err := snoozeUntil(s.svc.Now().Std().In(zone), c.FormValue("for"))
	if err != nil {
		return err
	}
	z, err := s.svc.Snooze(formContext(c), actorFrom(c), kind, ref, task.TimeFromStd(until))
	if err != nil {
		return withBack(c, err, views.URL.Inbox())
	}
	fields := [][2]string{{"kind", string(kind)}, {"ref", ref.String()}}
	addFlashExtra(c, flashExtra{Undo: &views.Undo{Action: views.URL.Wake(), Fields: fields}})
	return s.done(c, views.URL.Inbox(), "Snoozed #%d until %s", z.TaskID, z.Until.Std().In(zone).Format("Mon 15:04"))
}

// snoozeUntil returns when a snoozed item returns: at 9:00 in the person's time
// zone, or after an hour.
func snoozeUntil(now time.Time, choice string) (time.Time, error) {
	y, m, d := now.Date()
	switch choice {
	case "hour":
		return now.Add(time.Hour), nil
	case "tomorrow":
		return time.Date(y, m, d+1, 9, 0, 0, 0, now.Location()), nil
	case "week":
		days := (8 - int(now.Weekday())) % 7 // to Monday
		if days == 0 {
			days = 7
		}
		return time.Date(y, m, d+days, 9, 0, 0, 0, now.Location()), nil
	}
	return time.Time{}, task.FieldErrorf("for", "must be hour, tomorrow or week")
}

func (s *Server) wake(c echo.Context) error {
	kind, ref, err := waitForm(c)
	if err != nil {
		return err
	}
	if err := s.svc.Wake(formContext(c), actorFrom(c), kind, ref); err != nil {
		return withBack(c, err, views.URL.Inbox())
	}
	return s.done(c, views.URL.Inbox(), "It is back in your inbox")
}
