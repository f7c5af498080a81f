// Package ui contains what all pages use: icons, glyphs, fields, and the
// formatting of numbers and times. It knows no page.
package ui

import (
	"sync"

	"github.com/a-h/templ"

	"taskyard/static"
)

// icons caches each icon's markup: a board renders hundreds of a dozen icons.
// Names come only from our own pages, so it stays small.
var icons sync.Map // "class name" → templ.Component

// Icon renders an icon of icons.svg at 16 px, hidden from screen readers.
func Icon(name string) templ.Component { return icon("icon", name) }

// IconSmall renders an icon at 14 px.
func IconSmall(name string) templ.Component { return icon("icon icon-sm", name) }

// IconLarge renders an icon at 20 px.
func IconLarge(name string) templ.Component { return icon("icon icon-lg", name) }

func icon(class, name string) templ.Component {
	key := class + " " + name
	if c, ok := icons.Load(key); ok {
		return c.(templ.Component)
	}
	c := templ.Raw(`<svg class="` + class + `" aria-hidden="true"><use href="` +
		templ.EscapeString(static.URL("icons.svg")+"#i-"+name) + `"></use></svg>`)
	icons.Store(key, c)
	return c
}
