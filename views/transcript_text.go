package views

import (
	"time"
	"unicode/utf8"

	"taskyard/task"
	"taskyard/views/ui"
)

// TranscriptView is how a part of a transcript is shown.
type TranscriptView struct {
	Query string         // matches are highlighted
	At    task.ID        // the requested line
	Zone  *time.Location // of the reader; nil: UTC
}

// Bounds of the initially displayed part of one text.
const (
	cutChars = 2000
	cutLines = 60
	cutAhead = 200 // characters before the first match
)

// excerptText is the initially displayed part of a text.
type excerptText struct {
	Text          string
	Before, After bool // text is omitted there
}

// shownPart truncates a text, to its start or around its first match.
func shownPart(s, query string) excerptText {
	p := excerptText{Text: s}
	if at := ui.FoldIndex(s, query); query != "" && at > cutChars-cutAhead {
		from := at - cutAhead
		for !utf8.RuneStart(s[from]) {
			from--
		}
		p.Text, p.Before = s[from:], true
	}
	lines, chars := 0, 0
	for i, r := range p.Text {
		if chars == cutChars || lines == cutLines {
			p.Text, p.After = p.Text[:i], true
			break
		}
		chars++
		if r == '\n' {
			lines++
		}
	}
	return p
}
