package ui

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Segment is a piece of a text: plain, or the name of one character that a
// reader would not see or that would reorder what is around it.
type Segment struct {
	Text   string
	Marked bool
}

// VisibleText splits s into segments so that nothing in it can hide: each
// control, zero-width, bidirectional, tag and invalid character becomes a
// marked segment such as ‹U+202E›. Newline and tab stay as they are, as do the
// characters that join and color an emoji.
func VisibleText(s string) []Segment {
	var list []Segment
	plain := 0
	before := rune(-1)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		name := hiddenName(r, s[i:i+size])
		if name != "" && belongs(before, r, s[i+size:]) {
			name = ""
		}
		before = r
		if name == "" {
			i += size
			continue
		}
		if i > plain {
			list = append(list, Segment{Text: s[plain:i]})
		}
		list = append(list, Segment{Text: name, Marked: true})
		i += size
		plain = i
	}
	if plain < len(s) {
		list = append(list, Segment{Text: s[plain:]})
	}
	return list
}

// belongs reports whether r, which does not print, is part of what does: the
// line end of Windows, the style of an emoji or keycap, or the joint between
// two emoji.
func belongs(before, r rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch r {
	case '\r':
		return next == '\n'
	case emojiStyle, emojiStyle - 1:
		return pictures(before) || next == keycap && strings.ContainsRune("0123456789#*", before)
	case joiner:
		return (pictures(before) || before == emojiStyle) && pictures(next) || joining(before) && joining(next)
	case nonJoiner:
		return joining(before) && joining(next)
	}
	return false
}

const (
	nonJoiner  = 0x200c
	joiner     = 0x200d
	emojiStyle = 0xfe0f // the style before it, 0xfe0e, is that of text
	keycap     = 0x20e3
)

// pictures reports whether a character is a symbol that may be drawn as an
// emoji.
func pictures(r rune) bool {
	return unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r) && r >= 0x1f3fb || unicode.Is(unicode.Sm, r) && r >= 0x2190 && r <= 0x2b55
}

// joining reports whether a character is of a script that is written with the
// two joiners between its letters, as Persian and Hindi are.
func joining(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari,
		unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer)
}

// hiddenName returns the visible name of a character that must not stay as it
// is, or "". raw is its encoding, which names a byte that is no UTF-8.
func hiddenName(r rune, raw string) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return fmt.Sprintf("‹0x%02X›", raw[0])
	case hidden(r):
		return fmt.Sprintf("‹U+%04X›", r)
	}
	return ""
}

func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f: // C0, DEL, C1
		return true
	case r < 0xad:
		return false
	}
	return !unicode.Is(unicode.Prepended_Concatenation_Mark, r) &&
		unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// HiddenCount returns how many characters of s VisibleText marks.
func HiddenCount(s string) int {
	n := 0
	for _, seg := range VisibleText(s) {
		if seg.Marked {
			n++
		}
	}
	return n
}
