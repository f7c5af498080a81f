package handlers

import (
	"encoding/json"
	"fmt"

	"github.com/labstack/echo/v4"

	"taskyard/views"
)

// Session keys of the message for the next page, and of what that page shows
// with it.
const (
	keyFlash = "flash"
	keyMore  = "flash-more"
)

// flashExtra is what the next page shows in addition to its message.
type flashExtra struct {
	Undo    *views.Undo
	Skipped []string
}

// addFlashExtra adds m to the flash of this request.
func addFlashExtra(c echo.Context, m flashExtra) { c.Set(keyMore, m) }

// undoable offers to undo the action with a form that posts to action; pairs
// are its fields. If things have changed in the meantime, the undo fails.
func undoable(c echo.Context, action string, pairs ...string) {
	u := &views.Undo{Action: action, Fields: [][2]string{{"undo", "1"}}}
	for i := 0; i+1 < len(pairs); i += 2 {
		u.Fields = append(u.Fields, [2]string{pairs[i], pairs[i+1]})
	}
	addFlashExtra(c, flashExtra{Undo: u})
}

// flash stores a message for the next page. Scripts that fetch parts of a page
// show the change itself.
func (s *Server) flash(c echo.Context, format string, args ...any) {
	ctx := c.Request().Context()
	if format == "" || isScriptRequest(c) || s.sessions.GetInt64(ctx, keyUser) == 0 {
		return
	}
	s.sessions.Put(ctx, keyFlash, fmt.Sprintf(format, args...))
	s.sessions.Remove(ctx, keyMore) // of an earlier action that no page has shown
	if m, ok := c.Get(keyMore).(flashExtra); ok && (m.Undo != nil || len(m.Skipped) > 0) {
		b, err := json.Marshal(m)
		if err != nil {
			s.log.Error("failed to store the flash message", "error", err) // impossible for plain texts
			return
		}
		s.sessions.Put(ctx, keyMore, string(b))
	}
}

// flashed removes and returns the message for this page.
func (s *Server) flashed(c echo.Context) (f views.Flash) {
	ctx := c.Request().Context()
	if !s.sessions.Exists(ctx, keyFlash) {
		return f
	}
	f.Text = s.sessions.PopString(ctx, keyFlash)
	var m flashExtra
	if json.Unmarshal([]byte(s.sessions.PopString(ctx, keyMore)), &m) == nil {
		f.Undo, f.Skipped = m.Undo, m.Skipped
	}
	return f
}
