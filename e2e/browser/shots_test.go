package browser

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestShots writes a screenshot of every page, light and dark, wide and narrow, to the
// folder SHOTS_DIR. PAGES, a regular expression, selects others, including states of a
// page without a screenshot. With SHOTS_RETAKE, only screenshots that the folder
// already has are written.
func TestShots(t *testing.T) {
	dir := os.Getenv("SHOTS_DIR")
	if dir == "" {
		t.Skip("SHOTS_DIR names no folder for the screenshots")
	}
	ok(t, os.MkdirAll(dir, 0o755))
	s := newSample(t)
	b := s.tab()
	b.expect("404")
	for _, p := range pictured(s.pages()) {
		shoot(b, p, dir)
	}
	ok(t, s.pause())
	for _, p := range pictured(s.pausedPages()) {
		shoot(b, p, dir)
	}
	reviews := newReviewSample(t).merging().discussed()
	r := reviews.tab()
	for _, p := range pictured(reviews.pages()) {
		shoot(r, p, dir)
	}
	lone := newTab(t, s.url)
	shoot(lone, shown{"login", "/login", nil}, dir)
	shoot(lone, shown{"api-outside", "/api/docs", nil}, dir)
	shoot(lone, shown{"docs-outside", "/docs", nil}, dir)
	empty := openInstance(t, nil)
	first := newTab(t, empty.url)
	shoot(first, shown{"setup", "/setup?token=" + must(empty.svc.SetupLink(ctx)), nil}, dir)
}

// acted are the states with a screenshot that need an action.
var acted = []string{
	"agent-edit-conflict", "agent-edit-problems", "approvals-reject", "bulk", "error-404", "keys", "list-picked", "new-task-errors",
	"history-more", "palette", "palette-found", "queues-menu", "queues-move", "queues-picked",
	"queues-toast", "task-fields", "task-timeline", "tokens-fresh",
}

// pictured returns the pages that have a screenshot, or those that PAGES selects.
func pictured(list []shown) []shown {
	if os.Getenv("PAGES") != "" {
		return only(list)
	}
	return slices.DeleteFunc(list, func(p shown) bool { return p.does != nil && !slices.Contains(acted, p.name) })
}

// picture returns the file for the screenshot of a page.
func (l look) picture(dir, page string) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", page, l.theme, l.width))
}

// wanted reports whether a screenshot is to be written.
func wanted(file string) bool {
	_, err := os.Stat(file)
	return err == nil || os.Getenv("SHOTS_RETAKE") == ""
}

func shoot(b *tab, p shown, dir string) {
	b.t.Helper()
	if !slices.ContainsFunc(looks, func(l look) bool { return wanted(l.picture(dir, p.name)) }) {
		return
	}
	for _, width := range []int64{1280, 390} {
		b.size(width, map[int64]int64{1280: 820, 390: 844}[width])
		p.visit(b)
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			to := look{theme, width}.picture(dir, p.name)
			if !wanted(to) {
				continue
			}
			shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			ok(b.t, err)
			ok(b.t, os.WriteFile(to, reduceColors(b.t, shot), 0o600))
		}
	}
	b.size(1280, 900)
}

// reduceColors returns a screenshot with at most 256 colors: a third of the bytes, and
// no visible difference on pages with so few colors.
func reduceColors(t testing.TB, shot []byte) []byte {
	t.Helper()
	full := must(png.Decode(bytes.NewReader(shot)))
	used, size := map[color.Color]int{}, full.Bounds()
	for y := range size.Max.Y {
		for x := range size.Max.X {
			used[full.At(x, y)]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(used), func(a, b color.Color) int {
		return cmp.Or(cmp.Compare(used[b], used[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	pal := palette(frequent)
	nearest := map[color.Color]uint8{}
	for _, c := range frequent {
		nearest[c] = uint8(pal.Index(c))
	}
	few := image.NewPaletted(size, pal)
	for y := range size.Max.Y {
		for x := range size.Max.X {
			few.SetColorIndex(x, y, nearest[full.At(x, y)])
		}
	}
	var out bytes.Buffer
	ok(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few))
	return out.Bytes()
}

// palette returns the most frequent colors, without those that are nearly equal to an
// earlier one: a rare red keeps its place.
func palette(frequent []color.Color) (pal color.Palette) {
	for _, c := range frequent {
		if len(pal) == 256 {
			break
		}
		if len(pal) == 0 || colorDistance(c, pal.Convert(c)) > 40 {
			pal = append(pal, c)
		}
	}
	return pal
}

// colorDistance returns the sum of the squared differences of two colors, of 255.
func colorDistance(a, b color.Color) (sum int) {
	r, g, bl, _ := a.RGBA()
	r2, g2, bl2, _ := b.RGBA()
	for _, d := range []int{int(r>>8) - int(r2>>8), int(g>>8) - int(g2>>8), int(bl>>8) - int(bl2>>8)} {
		sum += d * d
	}
	return sum
}
