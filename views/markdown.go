package views

import (
	"bytes"
	"crypto/sha256"
	"html"
	"regexp"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// maxHTML bounds the HTML of a text, in bytes; longer ones are shown as plain
// text.
const maxHTML = 1 << 20

var (
	markdown  = sync.OnceValue(newMarkdown)
	sanitizer = sync.OnceValue(newSanitizer)
	rendered  htmlCache
)

// RenderMarkdown renders GitHub Flavored Markdown as safe HTML. Raw HTML is
// shown as text, images become links, #123 and @agent become links to the task
// and the agent. A text whose HTML would be too large is shown as plain text.
func RenderMarkdown(src string) string {
	key := sha256.Sum256([]byte(src))
	if out, ok := rendered.get(key); ok {
		return out
	}
	out := render(src)
	rendered.put(key, out)
	return out
}

func render(src string) string {
	if !withinBounds(src) {
		return plainText(src)
	}
	var buf bytes.Buffer
	if err := markdown().Convert([]byte(src), &buf); err != nil || buf.Len() > maxHTML {
		return plainText(src)
	}
	out := sanitizer().SanitizeBytes(buf.Bytes())
	if len(out) > maxHTML {
		return plainText(src)
	}
	return string(out)
}

func plainText(src string) string {
	return `<p class="plain">` + html.EscapeString(src) + `</p>`
}

func newMarkdown() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			extension.Linkify, extension.Strikethrough, extension.TaskList,
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
		),
		goldmark.WithParserOptions(
			parser.WithInlineParsers(util.Prioritized(refParser{}, 900)),
			parser.WithASTTransformers(util.Prioritized(ownDirection{}, 900)),
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(quietRenderer{}, 1))),
	)
}

func newSanitizer() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li",
		"table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("title").OnElements("a")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(ref|mention)$`)).OnElements("a")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^md-heading$`)).OnElements("p")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[\w+-]{1,40}$`)).OnElements("code")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|right|center)$`)).OnElements("th", "td")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("dir").Matching(regexp.MustCompile(`^auto$`)).OnElements("ul", "ol", "blockquote")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnFullyQualifiedLinks(true)
	p.RequireNoReferrerOnFullyQualifiedLinks(true)
	return p
}

// cacheBytes bounds each of the two halves of the cache.
const cacheBytes = 4 << 20

// htmlCache caches rendered texts in two generations: when the young one is
// full, it becomes the old one, and unused texts are dropped.
type htmlCache struct {
	mu         sync.Mutex
	young, old map[[32]byte]string
	size       int // bytes in young
}

func (c *htmlCache) get(key [32]byte) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if out, ok := c.young[key]; ok {
		return out, true
	}
	out, ok := c.old[key]
	if ok {
		c.add(key, out)
	}
	return out, ok
}

func (c *htmlCache) put(key [32]byte, out string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, out)
}

func (c *htmlCache) add(key [32]byte, out string) {
	if c.young == nil || c.size > cacheBytes {
		c.old, c.young, c.size = c.young, map[[32]byte]string{}, 0
	}
	c.young[key] = out
	c.size += len(out) + len(key)
}
