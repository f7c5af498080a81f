package ui

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Segment is a piece of a text: plain, or the name of one character that a
// reader would not see or that would reorder the text around it.
type Segment struct {
	Text   string
	Marked bool
}

// VisibleText splits s into segments without hidden characters: each control,
// zero-width, bidirectional, tag and invalid character becomes a marked segment
// such as ‹U+202E›. Newline and tab stay unchanged, as do the characters that
// join and style emoji.
func VisibleText(s string) []Segment {
	var list []Segment
	plain := 0
	before := rune(-1)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		name := hiddenName(r, s[i:i+size])
		if name != "" && isPartOfText(before, r, s[i+size:]) {
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

// isPartOfText reports whether r, which does not print, belongs to printed text: as
// a Windows line ending, the style of an emoji or keycap, or the joiner between
// two emoji.
func isPartOfText(before, r rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch r {
	case '\r':
		return next == '\n'
	case emojiStyle, emojiStyle - 1:
		return isPictograph(before) || next == keycap && strings.ContainsRune("0123456789#*", before)
	case joiner:
		return (isPictograph(before) || before == emojiStyle) && isPictograph(next) || usesJoiners(before) && usesJoiners(next)
	case nonJoiner:
		return usesJoiners(before) && usesJoiners(next)
	}
	return false
}

const (
	nonJoiner  = 0x200c
	joiner     = 0x200d
	emojiStyle = 0xfe0f // 0xfe0e, before it, is the text style
	keycap     = 0x20e3
)

// isPictograph reports whether a character is a symbol that may be displayed as an
// emoji.
func isPictograph(r rune) bool {
	return unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r) && r >= 0x1f3fb || unicode.Is(unicode.Sm, r) && r >= 0x2190 && r <= 0x2b55
}

// usesJoiners reports whether a character belongs to a script that uses the two
// joiners between its letters, such as Persian and Hindi.
func usesJoiners(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari,
		unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer)
}

// hiddenName returns the visible name of a character that must be replaced, or
// "". raw is its encoding, for bytes that are not UTF-8.
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
