package task

// Bounds of the conversation of former runs with which a run begins, in bytes;
// a token has about four.
const (
	MaxConversation = 64 << 10 // about 16,000 tokens, an eighth of a context of 128,000
	MaxOldResult    = 4000     // of each result of a tool
)

// Exchange is a run's part of a conversation: what it was asked, and its
// transcript of texts, calls of tools, their results and messages of people.
// Results are cut to MaxOldResult.
type Exchange struct {
	Prompt string
	Lines  []Message
}

// Size returns how many bytes the model reads of it, about.
func (e Exchange) Size() int {
	n := len(e.Prompt)
	for _, l := range e.Lines {
		n += len(l.Content)
		if l.Type == "tool_call" {
			n += len(l.Data)
		}
	}
	return n
}

// ConversationRoom returns how many bytes of former conversation a run may
// begin with: it reads them again at each turn, so that of a limit of tokens
// they take at most a tenth.
func (l Limits) ConversationRoom() int {
	if l.MaxTokens == 0 {
		return MaxConversation
	}
	return min(MaxConversation, l.MaxTokens/10*4)
}
