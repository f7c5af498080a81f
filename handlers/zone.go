package handlers

import (
	"regexp"
	"time"

	"github.com/labstack/echo/v4"
)

var zoneNames = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$`)

// zoneOf is the time zone of the person who asks, as their browser says it in
// a cookie; without one, that of the server.
func zoneOf(c echo.Context) *time.Location {
	k, err := c.Cookie("zone")
	if err != nil || len(k.Value) > 64 || !zoneNames.MatchString(k.Value) || k.Value == "Local" {
		return time.Local
	}
	loc, err := time.LoadLocation(k.Value)
	if err != nil {
		return time.Local
	}
	return loc
}
