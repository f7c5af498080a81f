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

// TestShots writes a picture of every page, light and dark, wide and narrow,
// into the folder SHOTS_DIR. PAGES, a regular expression, asks for others: also
// for states of a page that have none. With SHOTS_RETAKE only pictures that the
// folder already has are written.
func TestShots(t *testing.T) {
	dir := os.Getenv("SHOTS_DIR")
	if dir == "" {
		t.Skip("SHOTS_DIR names no folder for the pictures")
	}
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

// acted are the states with a picture that somebody must bring about.
var acted = []string{
	"agent-edit-conflict", "agent-edit-problems", "approvals-reject", "bulk", "error-404", "keys", "list-picked", "new-task-errors",
	"history-more", "palette", "palette-found", "queues-menu", "queues-move", "queues-picked",
	"queues-toast", "task-fields", "task-timeline", "tokens-fresh",
}

// pictured leaves the pages that have a picture, or those that PAGES names.
func pictured(list []shown) []shown {
	if os.Getenv("PAGES") != "" {
		return only(list)
	}
	return slices.DeleteFunc(list, func(p shown) bool { return p.does != nil && !slices.Contains(acted, p.name) })
}

// picture is the file for the picture of a page.
func (l look) picture(dir, page string) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", page, l.theme, l.width))
}

// wanted reports whether a picture is to be written.
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
			ok(b.t, os.WriteFile(to, small(b.t, shot), 0o600))
		}
	}
	b.size(1280, 900)
}

// small is a picture in at most 256 colors: a third of the bytes, and no
// difference that an eye finds on pages of so few colors.
func small(t testing.TB, shot []byte) []byte {
	t.Helper()
	full := must(png.Decode(bytes.NewReader(shot)))
	used, size := map[color.Color]int{}, full.Bounds()
	for y := range size.Max.Y {
		for x := range size.Max.X {
			used[full.At(x, y)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(used), func(a, b color.Color) int {
		return cmp.Or(cmp.Compare(used[b], used[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	pal := palette(most)
	nearest := map[color.Color]uint8{}
	for _, c := range most {
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

// palette is the most used of the colors, without those that one before is
// nearly equal to: a red that is rare has its place.
func palette(most []color.Color) (pal color.Palette) {
	for _, c := range most {
		if len(pal) == 256 {
			break
		}
		if len(pal) == 0 || apart(c, pal.Convert(c)) > 40 {
			pal = append(pal, c)
		}
	}
	return pal
}

// apart is the sum of the squares of the differences of two colors, of 255.
func apart(a, b color.Color) (sum int) {
	r, g, bl, _ := a.RGBA()
	r2, g2, bl2, _ := b.RGBA()
	for _, d := range []int{int(r>>8) - int(r2>>8), int(g>>8) - int(g2>>8), int(bl>>8) - int(bl2>>8)} {
		sum += d * d
	}
	return sum
}
