package task

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// TranscriptKinds narrow a transcript to what is said, to tool calls, to logs,
// or to errors and failed calls.
var TranscriptKinds = []string{"said", "tools", "logs", "errors"}

// TranscriptCut is how many characters of a line a page gets at first.
const TranscriptCut = 8192

// TranscriptQuery asks for a part of a run's transcript: the newest lines,
// those before a line, or those around one.
type TranscriptQuery struct {
	Kind   string // of TranscriptKinds; "" for all
	Text   string // lines of any kind that hold it are hits; the part is around the newest, or around At
	Before ID
	At     ID
}

// Check returns an error if the kind does not exist.
func (q TranscriptQuery) Check() error {
	if q.Kind != "" && !slices.Contains(TranscriptKinds, q.Kind) {
		return FieldErrorf("type", "must be said, tools, logs or errors")
	}
	return nil
}

// TranscriptPart is a part of a run's transcript, oldest line first. Contents
// are cut to TranscriptCut characters.
type TranscriptPart struct {
	Lines   []TranscriptLine
	Earlier bool // there are lines before
	Later   bool // there are lines after

	Hits       int // lines that hold the text, at most MaxTranscriptHits
	Hit        int // 1-based: the one that the part is around, 0 for none
	HitID      ID
	Prev, Next ID // hits before and after it

	Session string // of the program that ran, as it told it
	Version string
	Turns   int // usage reports so far

	FirstError *ErrorExcerpt // of a failed run, or nil
}

// MaxTranscriptHits bounds what a search counts.
const MaxTranscriptHits = 10_000

// TranscriptLine is a message, whose content may be only its beginning.
type TranscriptLine struct {
	Message
	Size int `json:"-"` // characters of the whole content
}

// Cut reports whether the content is only the beginning.
func (l *TranscriptLine) Cut() bool { return l.Size > TranscriptCut }

// markBytes is about how many bytes a page needs to spell out a character that
// cannot be seen, or to change a color.
const markBytes = 80

// ShownBytes returns about how many bytes the first characters of a text have
// on a page at most.
func ShownBytes(s string, characters int) (bytes int) {
	for _, r := range s {
		if characters == 0 {
			break
		}
		characters--
		bytes += shownBytes(r)
	}
	return bytes
}

// ShownPrefix returns the beginning of a text that takes at most about the
// given number of bytes on a page.
func ShownPrefix(s string, bytes int) string {
	for i, r := range s {
		if bytes -= shownBytes(r); bytes < 0 {
			return s[:i]
		}
	}
	return s
}

func shownBytes(r rune) int {
	switch {
	case r == '<', r == '>', r == '&', r == '"', r == '\'':
		return 5
	case r == '\n', r == '\t', r >= ' ' && r < 0x7f:
		return 1
	case !unicode.IsPrint(r), r == utf8.RuneError, unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return markBytes
	}
	return utf8.RuneLen(r)
}
