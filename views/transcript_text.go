package views

import (
	"time"
	"unicode/utf8"

	"taskyard/task"
	"taskyard/views/ui"
)

// TranscriptView is how a part of a transcript is shown.
type TranscriptView struct {
	Query string         // its hits are marked
	At    task.ID        // the line that is asked for
	Zone  *time.Location // of the reader; nil is UTC
}

// Bounds of what a page shows of one text at first.
const (
	cutChars = 2000
	cutLines = 60
	cutAhead = 200 // characters before the first hit
)

// shown is the part of a text that a page shows at first.
type shown struct {
	Text          string
	Before, After bool // something is left out there
}

// shownPart cuts a text, to its start or to its first hit.
func shownPart(s, query string) shown {
	p := shown{Text: s}
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
