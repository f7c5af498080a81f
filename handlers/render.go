package handlers

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

const maxPooled = 512 << 10 // bytes of a buffer that is reused

// heldHeader lists the parts of a page that the browser already has; see
// ui.Part.
const heldHeader = "Taskyard-Held"

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// render answers with a page in which hidden characters of untrusted texts are
// visible. The page is rendered completely before the first byte is sent, so
// that an error never results in half a page with status 200.
func (s *Server) render(c echo.Context, status int, page templ.Component) error {
	buf := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= maxPooled { // do not keep the memory of a huge page
			buffers.Put(buf)
		}
	}()
	buf.Reset()
	ctx := ui.WithKnownParts(c.Request().Context(), c.Request().Header.Get(heldHeader))
	if err := page.Render(ctx, buf); err != nil {
		return err
	}
	maps.Copy(c.Response().Header(), pageHeaders)
	html := ui.MarkHidden(buf.Bytes())
	if s.prefix != "" {
		html = addPrefix(html, s.prefix)
	}
	return c.HTMLBlob(status, html)
}

// chrome returns what every page shows around its own content.
func (s *Server) chrome(c echo.Context) (views.Chrome, error) {
	a := actorFrom(c)
	ctx := c.Request().Context()
	ch := s.bareChrome(c)
	if a.Role == task.RoleNone {
		return ch, nil
	}
	o, err := s.svc.Overview(ctx, a)
	if err != nil {
		return ch, err
	}
	agents, err := s.svc.Agents(a)
	if err != nil {
		return ch, err
	}
	if ch.Pauses, err = s.svc.Pauses(ctx, a); err != nil {
		return ch, err
	}
	if ch.Views, err = s.svc.SavedViews(ctx, a); err != nil {
		return ch, err
	}
	if ch.Projects, err = s.svc.ProjectKeys(ctx, a); err != nil {
		return ch, err
	}
	prefs, err := s.preferences(c)
	if err != nil {
		return ch, err
	}
	ch.Prefs = prefs
	applyPreferences(&ch, prefs)
	off, err := s.svc.Snoozed(ctx, a)
	if err != nil {
		return ch, err
	}
	ch.Nav = views.NavCounts{Inbox: max(0, o.Inbox-off.All()), Approvals: o.Approvals, Queued: o.Active, Open: o.Open}
	ch.Agents, ch.MoreAgents = navAgents(agents, o)
	if s.opt.Scheduler != nil {
		next := s.opt.Scheduler.NextTick()
		ch.Scheduler = views.SchedulerLine{On: next != 0, NextTick: next}
	}
	if ch.CanDecide {
		pending, err := s.svc.PendingDecisions(ctx, a)
		if err != nil {
			return ch, err
		}
		ch.PendingDecisions = values(pending)
	}
	// A live part that is fetched again must not consume the message for the
	// next page.
	if !isScriptRequest(c) {
		ch.Flash = s.flashed(c)
	}
	return ch, nil
}

// bareChrome is like chrome, without reading the store.
func (s *Server) bareChrome(c echo.Context) views.Chrome {
	a := actorFrom(c)
	ch := views.Chrome{
		User: strings.TrimPrefix(a.Name, "user:"), Role: a.Role, FormToken: s.formToken(c), Now: s.svc.Now(),
		Gen: s.svc.Hub().Generation(), Drawn: &s.parts, Path: c.Request().URL.RequestURI(),
		CanWrite: a.May(task.Person), CanDecide: a.May(task.Decide), CanAdmin: a.May(task.Admin),
	}
	if err := s.svc.Fault(); err != nil && a.Role != task.RoleNone {
		ch.Fault = err.Error()
	}
	if b := c.FormValue("back"); b != "" {
		ch.From = localPath(b)
	}
	ch.Plain = s.unencrypted(c)
	ch.Theme, ch.Zone = themeFromCookie(c), browserZone(c)
	return ch
}

// maxNavAgents is how many agents the navigation lists.
const maxNavAgents = 40

// navAgents returns the agents of the navigation, by ID, and how many are
// omitted: if there are too many, idle ones first.
func navAgents(agents []task.Agent, o service.Overview) (list []views.NavAgent, more int) {
	list = make([]views.NavAgent, len(agents))
	for i, a := range agents {
		l := o.Loads[a.ID]
		list[i] = views.NavAgent{
			ID: a.ID, Count: l.Queued + l.Working, Invalid: a.Status == task.AgentInvalid,
			Glyph: loadGlyph(l.Working, l.Waiting, l.Failed),
		}
	}
	if more = len(list) - maxNavAgents; more <= 0 {
		return list, 0
	}
	slices.SortStableFunc(list, func(a, b views.NavAgent) int { return navRank(a) - navRank(b) })
	list = list[:maxNavAgents]
	slices.SortFunc(list, func(a, b views.NavAgent) int { return strings.Compare(a.ID, b.ID) })
	return list, more
}

// navRank ranks agents by how much there is to see.
func navRank(a views.NavAgent) int {
	switch {
	case a.Glyph != ui.GlyphIdle || a.Invalid:
		return 0
	case a.Count > 0:
		return 1
	}
	return 2
}

func loadGlyph(working, waiting, failed int) ui.Glyph {
	switch {
	case waiting > 0:
		return ui.GlyphWait
	case failed > 0:
		return ui.GlyphFail
	case working > 0:
		return ui.GlyphWork
	}
	return ui.GlyphIdle
}

// isScriptRequest reports whether a script requests a part of a page, rather than the
// browser a whole page.
func isScriptRequest(c echo.Context) bool { return c.Request().Header.Get("HX-Request") != "" }

// page returns the handler of a full page, which fn renders within chrome.
func (s *Server) page(fn func(c echo.Context, ch views.Chrome) (templ.Component, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		ch, err := s.chrome(c)
		if err != nil {
			return err
		}
		p, err := fn(c, ch)
		if err != nil {
			return err
		}
		return s.render(c, http.StatusOK, p)
	}
}

// pageWithID is like page, for a path with an ID.
func (s *Server) pageWithID(fn func(c echo.Context, ch views.Chrome, id task.ID) (templ.Component, error)) echo.HandlerFunc {
	return s.page(func(c echo.Context, ch views.Chrome) (templ.Component, error) {
		id, err := idParam(c, "id")
		if err != nil {
			return nil, err
		}
		return fn(c, ch, id)
	})
}

// withID returns the handler of a path with an ID.
func withID(fn func(c echo.Context, id task.ID) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := idParam(c, "id")
		if err != nil {
			return err
		}
		return fn(c, id)
	}
}

func (s *Server) errorPage(c echo.Context, p *Problem) {
	ch := s.bareChrome(c)
	m := views.ErrorModel{
		Status: p.Status, Title: p.Title, Message: problemMessage(p), RequestID: p.RequestID,
		Retry: p.retry, Code: task.Code(p.Code), May: s.allowedRoles(c, p), Unsaved: unsavedTextFor(c, p),
	}
	if m.Back, _ = c.Get("back").(string); m.Back == "" {
		m.Back = ch.From
	}
	if r := c.Request(); r.Method == http.MethodGet && p.Status == http.StatusUnprocessableEntity && m.Back == "" && r.URL.RawQuery != "" {
		m.Back, m.Address = r.URL.Path, true
	}
	if r := c.Request(); r.Method == http.MethodGet && (p.Status >= 500 || p.Status == http.StatusTooManyRequests) {
		m.Again = r.URL.RequestURI()
	}
	if err := s.render(c, p.Status, views.ErrorPage(ch, m)); err != nil && c.Request().Context().Err() == nil { // otherwise a disconnect
		s.log.Error("error page failed", "error", err)
	}
}

// problemMessage returns the message of a problem on a page without its field.
func problemMessage(p *Problem) string {
	if len(p.Errors) != 1 || p.Detail != task.JoinFields(p.Errors, p.More) {
		return p.Detail
	}
	field, message := p.Errors[0].Field, p.Errors[0].Message
	if message == "" || unicode.IsUpper([]rune(message)[0]) {
		return message
	}
	return field + " " + message
}

// allowedRoles returns the roles that may do what this caller may not, nil if the
// role is not the reason.
func (s *Server) allowedRoles(c echo.Context, p *Problem) []task.Role {
	need, known := s.perms[c.Request().Method+" "+c.Path()]
	if p.Status != http.StatusForbidden || !known || actorFrom(c).May(need) {
		return nil
	}
	var list []task.Role
	for _, r := range task.PeopleRoles {
		if r.May(need) {
			list = append(list, r)
		}
	}
	return list
}

// idParam parses an ID in the path. It returns CodeNotFound if it is invalid.
func idParam(c echo.Context, name string) (task.ID, error) {
	id, err := task.ParseID(c.Param(name))
	if err != nil {
		return 0, task.Errorf(task.NotFound, task.CodeNotFound, "Not found: %s", err)
	}
	return id, nil
}
