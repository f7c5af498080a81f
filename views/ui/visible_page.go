package ui

import (
	"bytes"
	"encoding/binary"
	"html"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"
	nethtml "golang.org/x/net/html"

	"taskyard/internal/lazyregexp"
)

// MarkHidden returns a page, or a part of one, without hidden characters: every
// character that does not print or that reorders others is replaced by its
// name, such as ‹U+202E›. No other code does that, for any text of any page.
// Values of fields stay unchanged, because they are sent back; a note after the
// field names its hidden characters. A page without such characters is returned
// unchanged.
func MarkHidden(page []byte) []byte {
	if !mayHideCharacter(page) {
		return page
	}
	m := hiddenMarker{out: bytes.NewBuffer(make([]byte, 0, len(page)+len(page)/8))}
	for z := nethtml.NewTokenizer(bytes.NewReader(page)); ; {
		kind := z.Next()
		raw := string(z.Raw())
		if kind == nethtml.ErrorToken {
			m.out.WriteString(raw)
			return m.out.Bytes()
		}
		m.token(kind, raw, z)
	}
}

// mayHideCharacter reports whether a page may contain a hidden character. It reads every
// byte of every page, and examines everything that is not plain text more
// closely.
func mayHideCharacter(page []byte) bool {
	for i := 0; ; {
		for i+8 <= len(page) && allPlainBytes(binary.LittleEndian.Uint64(page[i:])) {
			i += 8
		}
		for i < len(page) && plainByte[page[i]] {
			i++
		}
		if i == len(page) {
			return false
		}
		switch rest := page[i:]; {
		case rest[0] == '&':
			// The two escapes of quotes.
			if len(rest) > 1 && rest[1] == '#' && !bytes.HasPrefix(rest, []byte("&#34;")) && !bytes.HasPrefix(rest, []byte("&#39;")) {
				return true
			}
			i++
		case rest[0] < utf8.RuneSelf:
			return true
		default:
			r, size := utf8.DecodeRune(rest)
			if size == 1 || hidden(r) {
				return true
			}
			i += size
		}
	}
}

// allPlainBytes reports whether eight bytes are certainly all plain: each is ASCII,
// at least a space, not DEL and not '&'. For every other byte, the highest bit
// is set in one of the four words; a carry can only set more.
func allPlainBytes(w uint64) bool {
	const each, highest = 0x0101010101010101, 0x8080808080808080
	amp := w ^ '&'*each
	return (w|(w-' '*each)|(w+each)|(amp-each)&^amp)&highest == 0
}

// plainByte reports, for each byte, whether it is a character that is not
// hidden and cannot begin a character reference.
var plainByte = func() (plain [256]bool) {
	for b := range utf8.RuneSelf {
		plain[b] = b != '&' && !hidden(rune(b))
	}
	return plain
}()

// hiddenMarker rewrites a page, token by token.
type hiddenMarker struct {
	out   *bytes.Buffer
	raw   string // the element whose text is not markup, or ""
	svg   int    // depth: an image has no place for a span
	field string // hidden characters of a textarea, until it ends
}

func (m *hiddenMarker) token(kind nethtml.TokenType, raw string, z *nethtml.Tokenizer) {
	switch kind {
	case nethtml.TextToken:
		m.text(raw)
		return
	case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
		name, _ := z.TagName()
		m.start(string(name), kind == nethtml.SelfClosingTagToken, raw)
		return
	case nethtml.EndTagToken:
		name, _ := z.TagName()
		m.out.WriteString(raw)
		m.end(string(name))
		return
	}
	m.out.WriteString(raw)
}

// start writes a tag and marks those attributes that people read or hear.
func (m *hiddenMarker) start(name string, closed bool, raw string) {
	switch {
	case name == "svg" && !closed:
		m.svg++
	case name == "script", name == "style", name == "textarea", name == "title", name == "option":
		m.raw = name
	}
	if !mayHideCharacter([]byte(raw)) {
		m.out.WriteString(raw)
		return
	}
	m.out.WriteString(shownAttrs().ReplaceAllStringFunc(raw, func(attr string) string {
		at := strings.IndexByte(attr, '"') + 1
		return attr[:at] + templ.EscapeString(nameHidden(html.UnescapeString(attr[at:len(attr)-1]))) + `"`
	}))
	if v := fieldValue().FindStringSubmatch(raw); name == "input" && v != nil && !unseenField().MatchString(raw) {
		m.note(hiddenIn(html.UnescapeString(v[1])))
	}
}

var (
	// The match must not start inside a name, so that data-title is not title.
	shownAttrs = lazyregexp.New(`[\s](?:title|alt|label|placeholder|content|aria-label|aria-description|aria-valuetext|` +
		`aria-roledescription|data-text)="[^"]*"`)
	fieldValue  = lazyregexp.New(`\svalue="([^"]*)"`)
	unseenField = lazyregexp.New(`\stype="(?:hidden|checkbox|radio|submit|button)"`)
)

func (m *hiddenMarker) end(name string) {
	switch {
	case name == "svg" && m.svg > 0:
		m.svg--
	case name == m.raw:
		m.raw = ""
		m.note(m.field)
		m.field = ""
	}
}

// note writes the hidden characters of a field after it.
func (m *hiddenMarker) note(names string) {
	if names != "" {
		m.out.WriteString(`<span class="nonprint nonprint-note">Hidden characters: ` + templ.EscapeString(names) + `</span>`)
	}
}

const hiddenTag = `<span class="nonprint" title="A character that does not print">`

func (m *hiddenMarker) text(raw string) {
	switch m.raw {
	case "script", "style":
		m.out.WriteString(raw)
		return
	case "textarea":
		m.field += hiddenIn(html.UnescapeString(raw))
		m.out.WriteString(raw)
		return
	}
	for _, seg := range VisibleText(html.UnescapeString(raw)) {
		text := templ.EscapeString(seg.Text)
		if seg.Marked && m.raw == "" && m.svg == 0 {
			text = hiddenTag + text + `</span>`
		}
		m.out.WriteString(text)
	}
}

// nameHidden returns a text with its hidden characters named.
func nameHidden(s string) string {
	var b strings.Builder
	for _, seg := range VisibleText(s) {
		b.WriteString(seg.Text)
	}
	return b.String()
}

// hiddenIn lists the hidden characters of a text, each once.
func hiddenIn(s string) string {
	var names []string
	seen := map[string]bool{}
	for _, seg := range VisibleText(s) {
		if seg.Marked && !seen[seg.Text] {
			seen[seg.Text] = true
			names = append(names, seg.Text)
		}
	}
	return strings.Join(names, " ")
}
