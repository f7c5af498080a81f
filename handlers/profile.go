package handlers

import (
	"net/http/pprof"
	runtimepprof "runtime/pprof"
	"strconv"

	"github.com/labstack/echo/v4"

	"taskyard/task"
)

// profilePath is the path of Go's profiles.
const profilePath = "/debug/pprof/:name"

const maxProfile = 60 // seconds

// goProfile sends one of Go's profiles, such as heap or goroutine, or, for the
// name profile, that of the CPU during ?seconds= (1 to maxProfile, default 30).
// They contain function names, but no data. Errors: invalid seconds, another
// profile is being taken.
func (s *Server) goProfile(c echo.Context) error {
	name := c.Param("name")
	if name != "profile" && runtimepprof.Lookup(name) == nil {
		return echo.ErrNotFound
	}
	if text := c.QueryParam("seconds"); text != "" {
		if n, err := strconv.Atoi(text); err != nil || n < 1 || n > maxProfile {
			return task.FieldErrorf("seconds", "must be 1 to %d", maxProfile)
		}
	}
	if !s.profiling.TryLock() {
		e := task.Errorf(task.TooMany, task.CodeRateLimited, "A profile is being taken: try again when it has ended")
		e.Retry = maxProfile
		return e
	}
	defer s.profiling.Unlock()
	if name == "profile" {
		pprof.Profile(c.Response(), c.Request())
	} else {
		pprof.Handler(name).ServeHTTP(c.Response(), c.Request())
	}
	return nil
}
