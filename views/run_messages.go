package views

import "taskyard/task"

// Bounds of what the page shows of messages to a run; the transcript has all
// that was delivered.
const (
	shownMessages = 5   // the last ones
	messageChars  = 300 // of each
)

// RunMessages is what people sent to a run.
type RunMessages struct {
	List   []task.RunMessage
	Closed string // why nothing can be sent now, as the rest of a sentence; "" when something can
}

// last returns the messages that are shown.
func (s *RunMessages) last() []task.RunMessage { return s.List[max(0, len(s.List)-shownMessages):] }

// takesNoMessages reports whether the run works and nothing can be sent to it.
func (m *RunModel) takesNoMessages() bool {
	return m.Run.Status == task.RunRunning && m.Messages.Closed != ""
}

// messageState is the pill of a message: its kind and text.
func (m *RunModel) messageState(s *task.RunMessage) (kind, text string) {
	switch {
	case s.Delivered():
		return "ok", "Delivered"
	case m.open():
		return "info", "Queued"
	}
	return "warn", "Not delivered"
}

func clipMessage(text string) string {
	if short := task.ClipChars(text, messageChars); short != text {
		return short + "…"
	}
	return text
}
