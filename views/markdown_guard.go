package views

import "strings"

// Bounds of a text for the Markdown parser, because the output of small texts
// can be huge (a table of 16 KB becomes 71 MB).
const (
	maxSource   = 64 << 10 // bytes
	maxNesting  = 32       // nested quotes and lists
	maxBrackets = 2000     // "[", each of which may open a link
	maxCells    = 5000     // cells of all tables together
)

// withinBounds reports whether a text is within the bounds.
func withinBounds(src string) bool {
	return len(src) <= maxSource && strings.Count(src, "[") <= maxBrackets && nestingWithinBounds(src) && cells(src) <= maxCells
}

// nestingWithinBounds reports whether no line has too many nested quotes and
// lists. Indentation counts if a marker follows it, two columns per level.
func nestingWithinBounds(src string) bool {
	for line := range strings.Lines(src) {
		depth, blank := 0, 0
		for i := 0; i < len(line) && depth <= maxNesting; {
			switch n := marker(line[i:]); {
			case n > 0:
				depth += 1 + blank/2
				blank = 0
				i += n
			case line[i] == ' ':
				blank++
				i++
			case line[i] == '\t':
				blank += 4
				i++
			default:
				i = len(line)
			}
		}
		if depth > maxNesting {
			return false
		}
	}
	return true
}

// marker returns the length of the quote or list marker at the start of s, or 0.
func marker(s string) int {
	switch {
	case s[0] == '>':
		return 1
	case strings.IndexByte("-*+", s[0]) >= 0:
		if len(s) > 1 && (s[1] == ' ' || s[1] == '\t') {
			return 1
		}
		return 0
	}
	n := 0
	for n < len(s) && n < 9 && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n > 0 && n+1 < len(s) && (s[n] == '.' || s[n] == ')') && (s[n+1] == ' ' || s[n+1] == '\t') {
		return n + 1
	}
	return 0
}

// cells returns an upper bound of the parser's cells: the columns of each
// delimiter row times the lines up to the next blank one.
func cells(src string) int {
	total, columns := 0, 0
	for line := range strings.Lines(src) {
		rest := strings.Trim(line, "> \t\r\n")
		switch {
		case rest == "":
			columns = 0
		case strings.Contains(rest, "-") && strings.Trim(rest, "|:- \t*+>0123456789.)") == "":
			columns = max(columns, strings.Count(rest, "|")+1)
		}
		total += columns
	}
	return total
}
