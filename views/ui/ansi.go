package ui

import (
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"
)

// ansiStyle is the terminal style of characters, as far as it is supported
// here.
type ansiStyle struct {
	fg, bg                        int // 0 for none, otherwise 1 plus the color number, 0 to 15; bright ones look the same
	bold, faint, italic, under, x bool
}

func (s ansiStyle) class() string {
	var list []string
	if s.fg > 0 && s.bg == 0 {
		list = append(list, "fg-"+strconv.Itoa((s.fg-1)%8))
	}
	if s.bg > 0 { // a fixed text color keeps text on it readable
		list = append(list, "bg-"+strconv.Itoa((s.bg-1)%8))
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{s.bold, "term-bold"}, {s.faint, "term-faint"}, {s.italic, "term-italic"}, {s.under, "term-underline"}, {s.x, "term-strike"}} {
		if f.on {
			list = append(list, f.name)
		}
	}
	return strings.Join(list, " ")
}

// writeANSI writes an untrusted text with its colors. Only colors are
// interpreted: sequences that would move the cursor, hide or overwrite text are
// shown literally, and an overwritten line becomes a separate line, so that no
// text is lost.
func writeANSI(w io.Writer, s string, text func(io.Writer, string) error) error {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	var style ansiStyle
	for s != "" {
		at := strings.Index(s, "\x1b[")
		if at < 0 {
			return writeStyled(w, style, s, text)
		}
		codes, rest, ok := cutSGR(s[at+2:])
		if !ok { // another sequence: shown literally
			at += 2
			if err := writeStyled(w, style, s[:at], text); err != nil {
				return err
			}
			s = s[at:]
			continue
		}
		if err := writeStyled(w, style, s[:at], text); err != nil {
			return err
		}
		style = style.apply(codes)
		s = rest
	}
	return nil
}

func writeStyled(w io.Writer, style ansiStyle, s string, text func(io.Writer, string) error) error {
	class := style.class()
	if s == "" || class == "" {
		return text(w, s)
	}
	if _, err := io.WriteString(w, `<span class="`+templ.EscapeString(class)+`">`); err != nil {
		return err
	}
	if err := text(w, s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "</span>")
	return err
}

// cutSGR parses the numbers of a color sequence. Erasing the rest of a line,
// which programs often send with it, has no effect here and returns no numbers.
func cutSGR(s string) (codes []int, rest string, ok bool) {
	end := strings.IndexFunc(s[:min(len(s), 64)], func(r rune) bool { return (r < '0' || r > '9') && r != ';' && r != ':' })
	if end < 0 || s[end] != 'm' && s[end] != 'K' {
		return nil, s, false
	}
	if s[end] == 'K' {
		return nil, s[end+1:], true
	}
	for part := range strings.FieldsFuncSeq(s[:end]+";", func(r rune) bool { return r == ';' || r == ':' }) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, s, false
		}
		codes = append(codes, n)
	}
	if len(codes) == 0 {
		codes = []int{0}
	}
	return codes, s[end+1:], true
}

func (s ansiStyle) apply(codes []int) ansiStyle {
	for i := 0; i < len(codes); i++ {
		switch c := codes[i]; {
		case c == 0:
			s = ansiStyle{}
		case c == 1:
			s.bold = true
		case c == 2:
			s.faint = true
		case c == 3:
			s.italic = true
		case c == 4:
			s.under = true
		case c == 9:
			s.x = true
		case c == 22:
			s.bold, s.faint = false, false
		case c == 23:
			s.italic = false
		case c == 24:
			s.under = false
		case c == 29:
			s.x = false
		case c >= 30 && c <= 37:
			s.fg = c - 29
		case c == 39:
			s.fg = 0
		case c >= 40 && c <= 47:
			s.bg = c - 39
		case c == 49:
			s.bg = 0
		case c >= 90 && c <= 97:
			s.fg = c - 81
		case c >= 100 && c <= 107:
			s.bg = c - 91
		case c == 38 || c == 48:
			color, used := extended(codes[i+1:])
			if i += used; color >= 0 {
				if c == 38 {
					s.fg = color + 1
				} else {
					s.bg = color + 1
				}
			}
		}
	}
	return s
}

// extended converts a 256-color or 24-bit color to the nearest of the sixteen,
// and returns how many numbers it used; -1 for none.
func extended(codes []int) (color, used int) {
	switch {
	case len(codes) >= 2 && codes[0] == 5:
		n := codes[1]
		switch {
		case n < 16:
			return n, 2
		case n < 232:
			n -= 16
			return nearest(n/36*51, n/6%6*51, n%6*51), 2
		case n < 256:
			v := (n-232)*10 + 8
			return nearest(v, v, v), 2
		}
		return -1, 2
	case len(codes) >= 4 && codes[0] == 2:
		return nearest(codes[1], codes[2], codes[3]), 4
	}
	return -1, len(codes)
}

// nearest returns the closest of the sixteen colors to a 24-bit color.
func nearest(r, g, b int) int {
	most, best := max(r, g, b), min(r, g, b)
	if most-best < 40 { // a grey
		switch {
		case most < 60:
			return 0
		case most < 140:
			return 8
		case most < 220:
			return 7
		}
		return 15
	}
	half := (most + best) / 2
	n := 0
	for i, v := range []int{r, g, b} {
		if v > half {
			n |= 1 << i
		}
	}
	if most > 200 {
		n += 8
	}
	return n
}
