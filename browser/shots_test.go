package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestShots writes a picture of every page, light and dark, wide and narrow,
// into the folder SHOTS_DIR.
func TestShots(t *testing.T) {
	dir := os.Getenv("SHOTS_DIR")
	if dir == "" {
		t.Skip("SHOTS_DIR names no folder for the pictures")
	}
	s := newSample(t)
	b := s.tab()
	b.expect("404")
	for _, p := range only(s.pages()) {
		shoot(b, p, dir)
	}
	must(t, s.pause())
	for _, p := range only(s.pausedPages()) {
		shoot(b, p, dir)
	}
	lone := newTab(t, s.url)
	shoot(lone, shown{"login", "/login", nil}, dir)
	shoot(lone, shown{"api-outside", "/api/docs", nil}, dir)
	empty := openYard(t, nil)
	first := newTab(t, empty.url)
	shoot(first, shown{"setup", "/setup?token=" + some[string](t)(empty.svc.SetupLink(ctx)), nil}, dir)
}

func shoot(b *tab, p shown, dir string) {
	b.t.Helper()
	for _, width := range []int64{1280, 390} {
		b.size(width, map[int64]int64{1280: 820, 390: 844}[width])
		p.visit(b)
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			must(b.t, err)
			must(b.t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", p.name, theme, width)), png, 0o600))
		}
	}
	b.size(1280, 900)
}
