package handlers

import (
	"time"

	"github.com/labstack/echo/v4"

	"taskyard/task"
)

// userZone returns the time zone of the person who asks: the one that they chose,
// else that of their browser; without either, that of the server.
func (s *Server) userZone(c echo.Context) *time.Location {
	if p, err := s.preferences(c); err == nil { // what is wrong with the store is told elsewhere
		if z, ok := task.Zone(p[task.PrefZone]); ok {
			return z
		}
	}
	return browserZone(c)
}

// browserZone is the time zone that the browser says in a cookie, else that of
// the server.
func browserZone(c echo.Context) *time.Location {
	if z, ok := task.Zone(cookieZone(c)); ok {
		return z
	}
	return time.Local
}

// cookieZone returns the name of the time zone that the browser reports in its
// cookie, "" if it reports none or one that does not exist.
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
