package views

import (
	"cmp"
	"strings"

	"github.com/a-h/templ"

	"taskyard/task"
	"taskyard/views/ui"
)

// RunLineModel is one complete line of a transcript.
type RunLineModel struct {
	Run   task.Run
	Line  task.Message
	Query string // matches are highlighted
	Cut   bool   // its end is omitted
}

// Fit truncates a line whose page would exceed a size in bytes.
func (m *RunLineModel) Fit(bytes int) {
	if n := len(m.Query); n > 0 { // each match may be highlighted
		bytes = bytes * n / (n + len("<mark></mark>"))
	}
	args := readToolCall(m.Line).Args
	short := task.ShownPrefix(m.Line.Content, bytes-task.ShownBytes(args, len(args)))
	m.Cut = len(short) < len(m.Line.Content)
	m.Line.Content = short
}

func (m *RunLineModel) title() string {
	switch m.Line.Type {
	case "prompt":
		return promptLabel(m.Line)
	case task.TypeMessage:
		return "Message of " + messageLabel(m.Line)
	case "tool_call":
		return "Call of " + cmp.Or(readToolCall(m.Line).Tool, "a tool")
	case "tool_result":
		return "Answer of a tool"
	case "error", "log", "result":
		return capitalize(m.Line.Type)
	}
	return "What the agent said"
}

// stream returns attributes for scripts: where the transcript continues, if its
// end is shown.
func (m *RunModel) stream() templ.Attributes {
	if m.Part.Later {
		return nil
	}
	return templ.Attributes{
		"data-stream": URL.TranscriptStream(m.Run.ID, m.Query.Kind),
		"data-after":  m.lastID().String(), "data-live": TopicRun(m.Run.ID),
	}
}

// callAttrs returns attributes that tell scripts which call an item is, or
// answers, because its result may arrive later.
func (e entry) callAttrs() templ.Attributes {
	id := callID(e.Msg.Message)
	switch {
	case e.Msg.Type == "tool_call" && e.Result == nil:
		return templ.Attributes{"data-call": id}
	case e.Msg.Type == "tool_result":
		return templ.Attributes{"data-answers": id}
	}
	return nil
}

func termIf(yes bool) string {
	if yes {
		return "term"
	}
	return ""
}

// cutNotice describes what is omitted from a text.
func cutNotice(p excerptText) string {
	switch {
	case p.Before && p.After:
		return "Its start and its end are left out here."
	case p.Before:
		return "Its start is left out here."
	}
	return "The rest is left out here."
}

// fullLengthText returns the length of the whole text.
func fullLengthText(l *task.TranscriptLine, text string) string {
	if l.Cut() && strings.HasPrefix(text, l.Content) {
		return ui.Count(l.Size, "character", "characters")
	}
	return lengthText(text)
}
