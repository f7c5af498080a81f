package handlers

import (
	"net/http"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// themeCookie stores the theme in the browser, so that a page has it before the
// person is known. Scripts write it as well.
const themeCookie = "theme"

func themeFromCookie(c echo.Context) string {
	if cookie, err := c.Cookie(themeCookie); err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		return cookie.Value
	}
	return ""
}

const keyPrefs = "preferences"

// preferences returns those of the caller, read once per request.
func (s *Server) preferences(c echo.Context) (task.Preferences, error) {
	if p, ok := c.Get(keyPrefs).(task.Preferences); ok {
		return p, nil
	}
	p, err := s.svc.Preferences(c.Request().Context(), actorFrom(c))
	if err == nil {
		c.Set(keyPrefs, p)
	}
	return p, err
}

// applyPreferences applies a person's preferences to their pages.
func applyPreferences(ch *views.Chrome, p task.Preferences) {
	ch.KeysOff = p[task.PrefKeys] == "off"
	ch.Appearance = views.Appearance{Density: p[task.PrefDensity], Motion: p[task.PrefMotion], Zone: p[task.PrefZone]}
	if z, ok := task.Zone(p[task.PrefZone]); ok {
		ch.Zone = z
	}
}

func (s *Server) appearancePage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	f := views.AppearanceForm{Theme: ch.Theme, Density: ch.Appearance.Density, Zone: ch.Appearance.Zone, Motion: ch.Appearance.Motion}
	return views.AppearancePage(ch, views.AppearanceModel{Form: f, Browser: cookieZone(c)}), nil
}

// setAppearance stores the theme in this browser and the rest for the person.
func (s *Server) setAppearance(c echo.Context) error {
	f := views.AppearanceForm{
		Theme: c.FormValue("theme"), Density: c.FormValue("density"),
		Zone: c.FormValue("zone"), Motion: c.FormValue("motion"),
	}
	chosen := map[task.Preference]string{task.PrefDensity: f.Density, task.PrefZone: f.Zone, task.PrefMotion: f.Motion}
	if err := checkAppearance(f.Theme, chosen); err != nil {
		return s.again(c, err, views.URL.Settings("appearance"), func(ch views.Chrome, e *task.Error) (templ.Component, error) {
			return views.AppearancePage(ch, views.AppearanceModel{Form: f, Browser: cookieZone(c), Errors: ui.FieldErrorsFrom(e)}), nil
		})
	}
	for p, v := range chosen { // each is idempotent
		if err := s.svc.SetPreference(c.Request().Context(), actorFrom(c), p, v); err != nil {
			return withBack(c, err, views.URL.Settings("appearance"))
		}
	}
	cookie := &http.Cookie{
		Name: themeCookie, Value: f.Theme, Path: s.cookiePath(), MaxAge: int((365 * 24 * time.Hour).Seconds()),
		SameSite: http.SameSiteLaxMode, Secure: s.secure(),
	}
	if f.Theme == "" {
		cookie.MaxAge = -1
	}
	c.SetCookie(cookie)
	return s.done(c, views.URL.Settings("appearance"), "Saved the appearance")
}

func checkAppearance(theme string, chosen map[task.Preference]string) error {
	var p task.Problems
	if theme != "" && theme != "light" && theme != "dark" {
		p.Add(themeCookie, "must be light, dark or empty")
	}
	for name, v := range chosen {
		if name.Check(v) == nil {
			continue
		}
		if name == task.PrefZone {
			p.Add(string(name), "is not a time zone: write a name such as Europe/Berlin, or leave it empty")
		} else {
			p.Add(string(name), "is not one of the choices")
		}
	}
	return p.Err()
}
