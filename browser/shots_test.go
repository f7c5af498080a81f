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
			shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			must(b.t, err)
			must(b.t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", p.name, theme, width)), small(b.t, shot), 0o600))
		}
	}
	b.size(1280, 900)
}

// small is a picture in its 256 most used colors: a third of the bytes, and no
// difference that an eye finds on pages of so few colors.
func small(t testing.TB, shot []byte) []byte {
	t.Helper()
	full := some[image.Image](t)(png.Decode(bytes.NewReader(shot)))
	used, size := map[color.Color]int{}, full.Bounds()
	for y := range size.Max.Y {
		for x := range size.Max.X {
			used[full.At(x, y)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(used), func(a, b color.Color) int {
		return cmp.Or(cmp.Compare(used[b], used[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	pal := color.Palette(most[:min(len(most), 256)])
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
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few))
	return out.Bytes()
}
