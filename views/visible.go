package views

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Segment is a piece of a text: plain, or the name of one character that a
// reader would not see or that would reorder what stands around it.
type Segment struct {
	Text   string
	Marked bool
}

// VisibleText parts s into segments so that nothing in it can hide: each
// control, zero-width, bidirectional, tag and invalid character becomes a
// marked segment such as ‹U+202E›. Newline and tab stay as they are.
func VisibleText(s string) []Segment {
	var list []Segment
	plain := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		name := hiddenName(r, s[i:i+size])
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
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	case r == 0x00ad, r == 0x034f, r == 0x061c, r == 0x115f, r == 0x1160, r == 0x180e, r == 0x3164, r == 0xfeff, r == 0xffa0:
		return true // soft hyphen, joiners, marks and fillers that print nothing
	case r == 0x2028 || r == 0x2029 || r >= 0x2060 && r <= 0x2065 || r >= 0x206a && r <= 0x206f:
		return true
	case r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff: // annotations, tags, variation selectors
		return true
	}
	return false
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

// wordCount says how long a text is, in words.
func wordCount(s string) string {
	return Count(len(strings.Fields(s)), "word", "words")
}
