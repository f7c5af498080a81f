package ui

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/maphash"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// maxKnownParts bounds how many parts of a page a browser may report as held.
const maxKnownParts = 1000

type knownPartsKey struct{}

var partSeed = maphash.MakeSeed()

// WithKnownParts returns a context for rendering a page of which the browser already
// has some parts: versions separated by spaces, as Part writes them to
// data-part.
func WithKnownParts(ctx context.Context, versions string) context.Context {
	list := strings.Fields(versions)
	if len(list) == 0 || len(list) > maxKnownParts {
		return ctx
	}
	known := make(map[string]bool, len(list))
	for _, v := range list {
		known[v] = true
	}
	return context.WithValue(ctx, knownPartsKey{}, known)
}

// IsUpdate reports whether the browser already has the page and requests updates.
func IsUpdate(ctx context.Context) bool { return ctx.Value(knownPartsKey{}) != nil }

// Part is an element that is sent only once: when a live part refetches the
// page, it contains an empty element with data-same instead, if the browser has
// the current version. The element has its version in data-part, which covers
// its ID, attributes and children, but not relative times, which the browser
// updates. A part with a form is new each time, because of the form's key.
func Part(tag, id string, attrs templ.Attributes) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		b := templ.GetBuffer()
		defer templ.ReleaseBuffer(b)
		if err := drawPart(ctx, b, attrs); err != nil {
			return err
		}
		head := partHead(tag, id)
		return writePart(ctx, w, tag, head, drawnPart{partVersion(head, b.Bytes()), b.Bytes()})
	})
}

// drawnPart is a rendered part from its attributes to its end tag.
type drawnPart struct {
	version string
	rest    []byte
}

func partHead(tag, id string) string {
	return "<" + tag + ` id="` + templ.EscapeString(id) + `" data-`
}

func drawPart(ctx context.Context, b *bytes.Buffer, attrs templ.Attributes) error {
	if err := templ.RenderAttributes(ctx, b, attrs); err != nil {
		return err
	}
	b.WriteByte('>')
	return templ.GetChildren(ctx).Render(templ.ClearChildren(ctx), b)
}

func writePart(ctx context.Context, w io.Writer, tag, head string, p drawnPart) error {
	if known, _ := ctx.Value(knownPartsKey{}).(map[string]bool); known[p.version] {
		_, err := io.WriteString(w, head+"same></"+tag+">")
		return err
	}
	if _, err := io.WriteString(w, head+`part="`+p.version+`"`); err != nil {
		return err
	}
	if _, err := w.Write(p.rest); err != nil {
		return err
	}
	_, err := io.WriteString(w, "</"+tag+">")
	return err
}

// partVersion returns 8 characters that identify the content of a part.
func partVersion(head string, rest []byte) string {
	var h maphash.Hash
	h.SetSeed(partSeed)
	_, _ = h.WriteString(head)
	for {
		i := bytes.Index(rest, []byte(` data-rel="`))
		if i < 0 {
			break
		}
		text := i + bytes.IndexByte(rest[i:], '>') + 1
		_, _ = h.Write(rest[:text])
		_, rest, _ = bytes.Cut(rest[text:], []byte("</time>"))
	}
	_, _ = h.Write(rest)
	var sum [8]byte
	binary.LittleEndian.PutUint64(sum[:], h.Sum64())
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}
