package handlers

import (
	"time"

	"github.com/labstack/echo/v4"

	"taskyard/task"
)

// userZone returns the time zone of the caller: the one that they chose, or
// else that of their browser, or else that of the server.
func (s *Server) userZone(c echo.Context) *time.Location {
	if p, err := s.preferences(c); err == nil { // store errors are reported elsewhere
		if z, ok := task.Zone(p[task.PrefZone]); ok {
			return z
		}
	}
	return browserZone(c)
}

// browserZone returns the time zone in the browser's cookie, or else that of
// the server.
func browserZone(c echo.Context) *time.Location {
	if z, ok := task.Zone(cookieZone(c)); ok {
		return z
	}
	return time.Local
}

// cookieZone returns the name of the time zone in the browser's cookie, "" if
// there is none or it does not exist.
func cookieZone(c echo.Context) string {
	cookie, err := c.Cookie("zone")
	if err != nil {
		return ""
	}
	if _, ok := task.Zone(cookie.Value); !ok {
		return ""
	}
	return cookie.Value
}
