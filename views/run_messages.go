package views

import "taskyard/task"

// Bounds of what the page shows of messages to a run; the transcript has all
// that was delivered.
const (
	shownSaid = 5   // the last ones
	saidChars = 300 // of each
)

// RunSaid is what people say to a run.
type RunSaid struct {
	Messages []task.RunMessage
	Closed   string // why nothing can be sent now, as the rest of a sentence; "" when something can
}

// last returns the messages that are shown.
func (s *RunSaid) last() []task.RunMessage { return s.Messages[max(0, len(s.Messages)-shownSaid):] }

// deaf reports whether a run works that can be told nothing.
func (m *RunModel) deaf() bool { return m.Run.Status == task.RunRunning && m.Said.Closed != "" }

// saidState is the pill of a message: its kind and text.
func (m *RunModel) saidState(s *task.RunMessage) (kind, text string) {
	switch {
	case s.Delivered():
		return "ok", "Delivered"
	case m.open():
		return "info", "Queued"
	}
	return "warn", "Not delivered"
}

func clipSaid(text string) string {
	if short := task.ClipChars(text, saidChars); short != text {
		return short + "…"
	}
	return text
}
