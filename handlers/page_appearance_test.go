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
	t.Run("theme, density and motion reach every page", func(t *testing.T) {
		b.post("/settings/appearance", "theme", "dark", "density", "cozy", "motion",
			"less").leadsTo("/settings/appearance").shows("Saved the appearance", `value="cozy" checked`)
		b.get("/queues").shows(`data-theme="dark"`, `data-density="cozy"`, `data-motion="less"`)
		b.post("/settings/appearance", "theme", "").leadsTo("/settings/appearance").shows(`data-theme=""`).hides("data-density", "data-motion")
	})
	t.Run("what is not one of the choices is told, and kept nowhere", func(t *testing.T) {
		b.post("/settings/appearance", "theme", "<b>").is(422).shows("must be light, dark or empty")
		b.post("/settings/appearance", "density", "9").is(422).shows("is not one of the choices")
		b.get("/queues").shows(`data-theme=""`).hides("data-density")
	})
}

func TestTimesAreToldInTheZoneOfThePerson(t *testing.T) {
	t.Parallel()
	inst := newSite(t) // it is 9:00 UTC
	b := inst.maya()
	here := "next tick " + inst.sched.next.Std().In(time.Local).Format("15:04")
	t.Run("without a word of the browser it is that of the server", func(t *testing.T) {
		b.get("/scheduler").shows(here, `10:00:00 UTC`)
	})
	t.Run("the browser's zone comes by a cookie", func(t *testing.T) {
		b.cookie("zone", "Asia/Tokyo")
		b.get("/scheduler").shows("next tick 19:00", `title="2026-03-02 19:00:00 JST (2026-03-02 10:00:00 UTC)"`)
		b.get("/settings/appearance").shows("time zone is used: Asia/Tokyo", "18:00 JST")
	})
	t.Run("the one that was chosen wins", func(t *testing.T) {
		b.post("/settings/appearance", "zone", "Europe/Berlin").leadsTo("/settings/appearance").shows(`value="Europe/Berlin"`, "10:00 CET")
		b.get("/scheduler").shows("next tick 11:00")
		inst.signIn("maya").get("/scheduler").shows("next tick 11:00") // in every browser of hers
		b.post("/settings/appearance", "zone", "").is(303)
		b.get("/scheduler").shows("next tick 19:00")
	})
	t.Run("what is no zone is told beside the field, and not believed in a cookie", func(t *testing.T) {
		for _, name := range []string{
			"Europe/Atlantis", "../../etc/passwd", "/etc/localtime",
			"Local", strings.Repeat("A", 70), "<b>", "\x00", "Europe/",
		} {
			b.post("/settings/appearance", "zone", name).is(422).shows("is not a time zone", `id="zone-err"`)
			b.cookie("zone", url.PathEscape(name))
			b.get("/scheduler").is(200).shows(here)
		}
	})
}

// cookie gives the browser a cookie as a script would.
func (b *browser) cookie(name, value string) {
	u, err := url.Parse(b.y.url)
	b.y.ok(err)
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}
