package handlers

import (
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// How this browser shows pages is kept in cookies of these names. Scripts
// write the theme, and as tz the zone of the browser.
const (
	cookieTheme   = "theme"
	cookieDensity = "density"
	cookieZone    = "zone"
	cookieKeys    = "keys"
	cookieMotion  = "motion"
	cookieBrowser = "tz"
)

// lookValues are what each cookie may hold besides nothing.
var lookValues = map[string][]string{
	cookieTheme: {"light", "dark"}, cookieDensity: {"cozy"}, cookieKeys: {"off"}, cookieMotion: {"less"},
}

// lookCookie returns a cookie's value where it is one that counts, else "".
func lookCookie(c echo.Context, name string) string {
	k, err := c.Cookie(name)
	if err != nil {
		return ""
	}
	for _, v := range lookValues[name] {
		if k.Value == v {
			return v
		}
	}
	if (name == cookieZone || name == cookieBrowser) && zoneOf(k.Value) != nil {
		return k.Value
	}
	return ""
}

// look is how this browser shows pages, and the time zone of its times.
func look(c echo.Context) (views.Look, *time.Location) {
	l := views.Look{
		Density: lookCookie(c, cookieDensity), Keys: lookCookie(c, cookieKeys), Motion: lookCookie(c, cookieMotion),
		Zone: lookCookie(c, cookieZone), Browser: lookCookie(c, cookieBrowser),
	}
	if l.Zone != "" {
		return l, zoneOf(l.Zone)
	}
	return l, zoneOf(l.Browser)
}

var (
	zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$`)
	zones    sync.Map // name → *time.Location, those that exist
)

// zoneOf finds a time zone by its name, or nil. Names come from browsers.
func zoneOf(name string) *time.Location {
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location)
	}
	if len(name) > 64 || !zoneName.MatchString(name) || name == "Local" {
		return nil
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	zones.Store(name, z)
	return z
}

func (s *Server) appearancePage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	f := views.AppearanceForm{Theme: ch.Theme, Density: ch.Look.Density, Zone: ch.Look.Zone, Keys: ch.Look.Keys, Motion: ch.Look.Motion}
	return views.AppearancePage(ch, views.AppearanceModel{Form: f}), nil
}

// setAppearance keeps the choices in cookies.
func (s *Server) setAppearance(c echo.Context) error {
	f := views.AppearanceForm{Theme: c.FormValue("theme"), Density: c.FormValue("density"), Zone: c.FormValue("zone"), Keys: c.FormValue("keys"), Motion: c.FormValue("motion")}
	chosen := map[string]string{cookieTheme: f.Theme, cookieDensity: f.Density, cookieZone: f.Zone, cookieKeys: f.Keys, cookieMotion: f.Motion}
	if err := checkLook(chosen); err != nil {
		e, ok := refusal(err)
		if !ok {
			return err
		}
		return s.again(c, e, views.URL.Settings("appearance"), func(ch views.Chrome) (templ.Component, error) {
			return views.AppearancePage(ch, views.AppearanceModel{Form: f, Errors: views.ErrorsOf(e)}), nil
		})
	}
	for name, v := range chosen {
		k := &http.Cookie{Name: name, Value: v, Path: "/", MaxAge: int((365 * 24 * time.Hour).Seconds()), SameSite: http.SameSiteLaxMode, Secure: s.secure()}
		if v == "" {
			k.MaxAge = -1
		}
		c.SetCookie(k)
	}
	return s.done(c, views.URL.Settings("appearance"), "Saved the appearance")
}

// checkLook refuses what no cookie may hold.
func checkLook(chosen map[string]string) error {
	var p task.Problems
	for name, v := range chosen {
		known := v == "" || name == cookieZone && zoneOf(v) != nil
		for _, w := range lookValues[name] {
			known = known || v == w
		}
		switch {
		case known:
		case name == cookieZone:
			p.Add(name, "is no time zone: write a name such as Europe/Berlin, or leave it empty")
		default:
			p.Add(name, "is none of the choices")
		}
	}
	return p.Err()
}
