package handlers

import (
	"encoding/json"

	"github.com/labstack/echo/v4"

	"taskyard/views"
)

const keyMore = "flash-more"

// more is what the next page says besides its sentence.
type more struct {
	Undo    *views.Undo
	Skipped []string
}

// flashMore keeps it for the next page, where flash keeps the sentence.
func (s *Server) flashMore(c echo.Context, m more) {
	if m.Undo == nil && len(m.Skipped) == 0 || s.sessions.GetInt64(c.Request().Context(), keyUser) == 0 {
		return
	}
	b, err := json.Marshal(m)
	if err != nil {
		s.log.Error("failed to store the flash message", "error", err) // plain texts: cannot be
		return
	}
	s.sessions.Put(c.Request().Context(), keyMore, string(b))
	c.Set(keyMore, true)
}

// dropMore forgets what an earlier act had to say and no page has shown.
func (s *Server) dropMore(c echo.Context) {
	if ctx := c.Request().Context(); c.Get(keyMore) == nil && s.sessions.Exists(ctx, keyMore) {
		s.sessions.Remove(ctx, keyMore)
	}
}

// undoable offers to take the act back by a form to action; pairs are its
// fields. What happened meanwhile is refused by the act itself.
func (s *Server) undoable(c echo.Context, action string, pairs ...string) {
	u := &views.Undo{Action: action, Fields: [][2]string{{"undo", "1"}}}
	for i := 0; i+1 < len(pairs); i += 2 {
		u.Fields = append(u.Fields, [2]string{pairs[i], pairs[i+1]})
	}
	s.flashMore(c, more{Undo: u})
}

// flashed returns what was kept for this page.
func (s *Server) flashed(c echo.Context) views.Flash {
	f := views.Flash{Text: s.takeFlash(c)}
	ctx := c.Request().Context()
	if f.Text == "" || !s.sessions.Exists(ctx, keyMore) {
		return f
	}
	var m more
	if json.Unmarshal([]byte(s.sessions.PopString(ctx, keyMore)), &m) == nil {
		f.Undo, f.Skipped = m.Undo, m.Skipped
	}
	return f
}
