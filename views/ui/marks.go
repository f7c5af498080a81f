package ui

import (
	"context"
	"strings"
	"sync"

	"github.com/a-h/templ"
)

// marks caches small marks that boards render by the hundred and that depend
// only on a number: without it, the board page takes 10 % longer.
var marks sync.Map // markKey → templ.Component

type markKey struct {
	kind string
	n    int
}

func mark(key markKey, draw func() templ.Component) templ.Component {
	if c, ok := marks.Load(key); ok {
		return c.(templ.Component)
	}
	var b strings.Builder
	if err := draw().Render(context.Background(), &b); err != nil {
		return draw() // a builder never fails
	}
	c := templ.Raw(b.String())
	marks.Store(key, c)
	return c
}

// StatusGlyph renders a state by shape and color, with a text for screen
// readers. done and total are steps; they fill the pie of GlyphWork.
func StatusGlyph(g Glyph, done, total int) templ.Component {
	if g == GlyphWork {
		return statusGlyph(g, done, total)
	}
	return mark(markKey{"glyph", int(g)}, func() templ.Component { return statusGlyph(g, 0, 0) })
}

// Priority renders a priority as bars and number.
func Priority(p int) templ.Component {
	if p < -100 || p > 100 { // there are a million others
		return priority(p)
	}
	return mark(markKey{"priority", p}, func() templ.Component { return priority(p) })
}
