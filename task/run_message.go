package task

import "strings"

// MaxRunMessages is how many messages people may send one run, each of at most
// MaxText bytes.
const MaxRunMessages = 100

// RunMessage is what a person says to a run while it works.
type RunMessage struct {
	ID          ID     `json:"id"`
	RunID       ID     `json:"runId"`
	Author      string `json:"author"`
	Text        string `json:"text"`
	CreatedAt   Time   `json:"createdAt"`
	DeliveredAt Time   `json:"deliveredAt,omitzero" doc:"when the agent got it; absent while it is queued, and if the run ended before"`
}

// Delivered reports whether the agent got the message.
func (m *RunMessage) Delivered() bool { return m.DeliveredAt != 0 }

// Prompt is what the agent reads.
func (m *RunMessage) Prompt() string {
	return "Message from " + strings.TrimPrefix(m.Author, "user:") + ", a person who follows this run:\n\n" + m.Text
}

// TypeMessage is the type of transcript lines that people wrote.
const TypeMessage = "message"
