package task

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CleanText makes text that may be stored: invalid UTF-8 and NUL are replaced.
func CleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// CutText returns at most most bytes of s, without half a character at the
// end.
func CutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// ClipText cuts s to at most most bytes at the border of a character, and marks the cut
// with an ellipsis.
func ClipText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return CutText(s, limit-len("…")) + "…"
}

// ClipChars cuts s to at most most characters, and marks the cut with an
// ellipsis.
func ClipChars(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// Quote shows foreign text inside a message: in quotes, and cut to one short
// line.
func Quote(s string) string { return strconv.Quote(ClipChars(s, 60)) }

// ByteSize writes a size for people: 512 B, 4.2 MiB.
func ByteSize(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n)/1024, 0
	for f >= 1024 && unit < 3 {
		f /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %s", f, []string{"KiB", "MiB", "GiB", "TiB"}[unit])
}
