package task

import (
	"encoding/json"
	"strings"
)

// MessageKind says what a message in a thread is.
type MessageKind string

// The kinds of messages.
const (
	KindComment  MessageKind = "comment"
	KindHandoff  MessageKind = "handoff"  // written by move
	KindNotice   MessageKind = "notice"   // an agent's message to people
	KindQuestion MessageKind = "question" // an agent asks people
	KindAnswer   MessageKind = "answer"   // a person answers
	KindSystem   MessageKind = "system"   // Taskyard itself
	KindRun      MessageKind = "run"      // a line of a run's transcript
)

// Speaker is the speaker of a transcript line.
type Speaker string

// The speakers of a transcript.
const (
	SpeakerSystem    Speaker = "system"
	SpeakerUser      Speaker = "user"
	SpeakerAssistant Speaker = "assistant"
	SpeakerTool      Speaker = "tool"
)

// MessageStopped is the type of a notice that a run was stopped with everything.
const MessageStopped = "stopped"

// Message is one entry of a task's thread.
type Message struct {
	ID         ID              `json:"id"`
	TaskID     ID              `json:"taskId"`
	RunID      ID              `json:"runId,omitzero"`
	Kind       MessageKind     `json:"kind" doc:"comment, handoff (of move), notice, question, answer, system, or run: a line of a transcript"`
	Role       Speaker         `json:"role,omitempty"`
	Type       string          `json:"type,omitempty" doc:"for transcript lines: prompt, message, text, tool_call, tool_result, usage, log, error, result; imported for an imported comment; stopped for a notice about a run that stop-everything canceled"`
	Author     string          `json:"author" doc:"agent id, user:NAME or system"`
	Content    string          `json:"content"`
	ContentCut int             `json:"contentCut,omitzero" doc:"bytes cut off at the end of the content, as responses are at most 1 MiB; read on at /api/runs/{id}/messages/{message}"`
	Data       json.RawMessage `json:"data,omitempty" doc:"details of a tool call or of usage"`
	CreatedAt  Time            `json:"createdAt"`
}

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
	DeliveredAt Time   `json:"deliveredAt,omitzero" doc:"when the agent received it; absent while it is queued, and if the run ended first"`
}

// Delivered reports whether the agent got the message.
func (m *RunMessage) Delivered() bool { return m.DeliveredAt != 0 }

// Prompt is what the agent reads.
func (m *RunMessage) Prompt() string {
	return "Message from " + strings.TrimPrefix(m.Author, "user:") + ", a person who follows this run:\n\n" + m.Text
}

// TypeMessage is the type of transcript lines that people wrote.
const TypeMessage = "message"

// LastingMessages returns the indexes of the messages that an end of the thread keeps,
// however many comments of agents follow: the newest answer, question, hand-over
// and comment of a person. The newest comes first.
func LastingMessages(list []Comment) []int {
	var kept []int
	seen := map[MessageKind]bool{}
	for i := len(list) - 1; i >= 0; i-- {
		c := list[i]
		lasting := c.Kind == KindAnswer || c.Kind == KindQuestion || c.Kind == KindHandoff ||
			c.Kind == KindComment && !c.Imported && IsUserName(c.Author)
		if lasting && !seen[c.Kind] {
			seen[c.Kind] = true
			kept = append(kept, i)
		}
	}
	return kept
}
