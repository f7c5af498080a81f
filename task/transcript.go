package task

import "slices"

// TranscriptKinds narrow a transcript to what is said, to tool calls, to logs,
// or to errors and failed calls.
var TranscriptKinds = []string{"said", "tools", "logs", "errors"}

// TranscriptCut is how many characters of a line a page gets at first.
const TranscriptCut = 8192

// TranscriptQuery asks for a part of a run's transcript: the newest lines,
// those before a line, or those around one.
type TranscriptQuery struct {
	Kind   string // of TranscriptKinds; "" for all
	Text   string // lines that hold it are hits; the part is around the newest, or around At
	Before ID
	At     ID
}

// Check refuses a kind that there is none of.
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
}

// MaxTranscriptHits bounds what a search counts.
const MaxTranscriptHits = 10_000

// TranscriptLine is a message, whose content may be its beginning alone.
type TranscriptLine struct {
	Message
	Size int `json:"-"` // characters of the whole content
}

// Cut tells whether the content is only the beginning.
func (l *TranscriptLine) Cut() bool { return l.Size > TranscriptCut }
