package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestAppearance(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	t.Run("theme, density and motion apply to every page", func(t *testing.T) {
		b.post("/settings/appearance", "theme", "dark", "density", "cozy", "motion",
			"less").redirectsTo("/settings/appearance").shows("Saved the appearance", `value="cozy" checked`)
		b.get("/queues").shows(`data-theme="dark"`, `data-density="cozy"`, `data-motion="less"`)
		b.post("/settings/appearance", "theme", "").
			redirectsTo("/settings/appearance").shows(`data-theme=""`).hides("data-density", "data-motion")
	})
	t.Run("an unknown choice is reported and not stored", func(t *testing.T) {
		b.post("/settings/appearance", "theme", "<b>").is(422).shows("Must be light, dark or empty")
		b.post("/settings/appearance", "density", "9").is(422).shows("Is not one of the choices")
		b.get("/queues").shows(`data-theme=""`).hides("data-density")
	})
}

func TestPagesShowTimesInThePersonsZone(t *testing.T) {
	t.Parallel()
	inst := newSite(t) // the clock shows 9:00 UTC
	b := inst.maya()
	here := "next tick " + inst.sched.next.Std().In(time.Local).Format("15:04")
	t.Run("without a zone from the browser it is the server's", func(t *testing.T) {
		b.get("/scheduler").shows(here, `10:00:00 UTC`)
	})
	t.Run("the browser sends its zone in a cookie", func(t *testing.T) {
		b.cookie("zone", "Asia/Tokyo")
		b.get("/scheduler").shows("next tick 19:00", `title="2026-03-02 19:00:00 JST (2026-03-02 10:00:00 UTC)"`)
		b.get("/settings/appearance").shows("time zone is used: Asia/Tokyo", "18:00 JST")
	})
	t.Run("a chosen zone takes precedence", func(t *testing.T) {
		b.post("/settings/appearance", "zone", "Europe/Berlin").redirectsTo("/settings/appearance").shows(`value="Europe/Berlin"`, "10:00 CET")
		b.get("/scheduler").shows("next tick 11:00")
		inst.signIn("maya").get("/scheduler").shows("next tick 11:00") // in all of her browsers
		b.post("/settings/appearance", "zone", "").is(303)
		b.get("/scheduler").shows("next tick 19:00")
	})
	t.Run("an unknown zone is reported at its field and ignored in a cookie", func(t *testing.T) {
		for _, name := range []string{
			"Europe/Atlantis", "../../etc/passwd", "/etc/localtime",
			"Local", strings.Repeat("A", 70), "<b>", "\x00", "Europe/",
		} {
			b.post("/settings/appearance", "zone", name).is(422).shows("Is not a time zone", `id="zone-err"`)
			b.cookie("zone", url.PathEscape(name))
			b.get("/scheduler").is(200).shows(here)
		}
	})
}

// cookie sets a cookie as a script would.
func (b *browser) cookie(name, value string) {
	u, err := url.Parse(b.site.url)
	b.site.ok(err)
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}
