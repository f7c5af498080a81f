package ui

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/a-h/templ"
)

// PartCache keeps parts that many people look at, until anything changes: of a
// board that 200 people watch, each column is drawn once per change. nil keeps
// nothing.
type PartCache struct {
	mu    sync.Mutex
	state PartState
	kept  map[any]drawnPart
}

// PartState is what parts are drawn from. Some things happen without a change,
// so it also passes with time.
type PartState struct {
	Gen    uint64 // changes of the instance so far
	Second int64
}

// maxKept is how many parts are kept at most; a column takes up to 80 kB.
const maxKept = 100

// Part is ui.Part, which draws the part again only where the state has passed,
// or where something else in the key differs: all that the part shows.
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
