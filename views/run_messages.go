package views

import "taskyard/task"

// Bounds of the displayed messages to a run; the transcript has all delivered
// ones.
const (
	shownMessages = 5   // the last ones
	messageChars  = 300 // of each
)

// RunMessages is what people sent to a run.
type RunMessages struct {
	List   []task.RunMessage
	Closed string // why nothing can be sent now, as the rest of a sentence; "": sending is possible
}

// last returns the displayed messages.
func (s *RunMessages) last() []task.RunMessage { return s.List[max(0, len(s.List)-shownMessages):] }

// refusesMessages reports whether the run is working but accepts no messages.
func (m *RunModel) refusesMessages() bool {
	return m.Run.Status == task.RunRunning && m.Messages.Closed != ""
}

// messageState returns the pill of a message: its kind and text.
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
