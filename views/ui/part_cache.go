package ui

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/a-h/templ"
)

// PartCache caches parts that many people view, until anything changes: for a
// board that 200 people watch, each column is rendered once per change. nil
// caches nothing.
type PartCache struct {
	mu    sync.Mutex
	state PartState
	kept  map[any]drawnPart
}

// PartState is the state that parts depend on. Some content changes without a
// write, so a state also expires.
type PartState struct {
	Gen    uint64 // changes of the instance so far
	Second int64
}

// maxKept bounds the number of cached parts; a column takes up to 80 kB.
const maxKept = 100

// Part is like ui.Part, but renders the part again only if the state has
// expired, or if key differs, which must determine what the part shows.
func (c *PartCache) Part(now PartState, key any, tag, id string, attrs templ.Attributes) templ.Component {
	if c == nil {
		return Part(tag, id, attrs)
	}
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		head := partHead(tag, id)
		p, ok := c.find(now, key)
		if !ok {
			var b bytes.Buffer
			if err := drawPart(ctx, &b, attrs); err != nil {
				return err
			}
			p = drawnPart{partVersion(head, b.Bytes()), b.Bytes()}
			c.keep(now, key, p)
		}
		return writePart(ctx, w, tag, head, p)
	})
}

func (c *PartCache) find(now PartState, key any) (p drawnPart, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now == c.state {
		p, ok = c.kept[key]
	}
	return p, ok
}

func (c *PartCache) keep(now PartState, key any, p drawnPart) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Gen < c.state.Gen {
		return
	}
	if now != c.state || c.kept == nil || len(c.kept) >= maxKept {
		c.state, c.kept = now, map[any]drawnPart{}
	}
	c.kept[key] = p
}
