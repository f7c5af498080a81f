package task

import (
	"strings"
	"sync"
	"time"

	"taskyard/internal/lazyregexp"
)

var (
	zoneNames = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$`)
	zones     sync.Map // name → *time.Location, those that there are
)

// Zone finds a time zone by its name in the time zone database, such as
// Europe/Berlin. Names may come from anywhere.
func Zone(name string) (*time.Location, bool) {
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location), true
	}
	if len(name) > 64 || !zoneNames().MatchString(name) || name == "Local" {
		return nil, false
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, false
	}
	zones.Store(name, z)
	return z, true
}

// ZoneName names the time zone of a moment: CET, or UTC+03 where the zone has no
// letters.
func ZoneName(t time.Time) string {
	name, _ := t.Zone()
	if strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-") {
		return "UTC" + name
	}
	return name
}
