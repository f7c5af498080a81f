package modeltest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
)

// The wire formats.
const (
	Messages  = "messages"
	Chat      = "chat"
	Responses = "responses"
	Gemini    = "gemini" // generateContent of Google
)

// Request is a request of a program. API is "" if it asks for no reply, such as
// the list of models.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte

	API      string
	Model    string
	System   string
	Messages []Message
	Tools    []string
	NoCalls  bool // tools are declared, but must not be called
	Stream   bool
}

// Message is a message of the conversation, independent of the format.
type Message struct {
	Role    string
	Text    string
	Calls   []Call
	Results []Result
}

// Result is the result of a call as the program sent it.
type Result struct {
	ID, Text string
	IsError  bool
}

// Last returns the last message, or an empty one.
func (r Request) Last() Message {
	if len(r.Messages) == 0 {
		return Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

// Key returns the API key of the request.
func (r Request) Key() string {
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
		if k := r.Header.Get(name); k != "" {
			return k
		}
	}
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func read(path string, body []byte) Request {
	r := Request{Body: body}
	if model, stream, ok := geminiAt(path); ok {
		r.API, r.Model, r.Stream = Gemini, model, stream
		readGemini(&r)
		return r
	}
	switch path {
	case "/messages":
		r.API = Messages
	case "/chat/completions":
		r.API = Chat
	case "/responses":
		r.API = Responses
	default:
		return r
	}
	var in struct {
		Model        string
		Stream       bool
		System       json.RawMessage
		Instructions string
		Messages     []item
		Input        json.RawMessage
		ToolChoice   json.RawMessage `json:"tool_choice"`
		Tools        []struct {
			Name, Type string
			Function   struct{ Name string }
		}
	}
	if json.Unmarshal(body, &in) != nil {
		return r // the test sees the problem in Body
	}
	r.Model, r.Stream, r.System = in.Model, in.Stream, contentText(in.System)+in.Instructions
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, cmp.Or(t.Name, t.Function.Name, t.Type))
	}
	r.NoCalls = strings.Contains(string(in.ToolChoice), `"none"`)
	list := in.Messages
	if len(in.Input) > 0 && json.Unmarshal(in.Input, &list) != nil {
		r.Messages = append(r.Messages, Message{Role: "user", Text: contentText(in.Input)})
	}
	for _, m := range list {
		if r.API == Chat && (m.Role == "system" || m.Role == "developer") {
			r.System += contentText(m.Content)
			continue
		}
		r.Messages = append(r.Messages, m.message())
	}
	return r
}

// item is a message, block or item of any format.
type item struct {
	Type, Role string
	Content    json.RawMessage
	Text       string

	ID, Name  string
	CallID    string `json:"call_id"`
	ToolUse   string `json:"tool_use_id"`
	ToolCall  string `json:"tool_call_id"`
	Input     json.RawMessage
	Arguments string
	Output    json.RawMessage
	IsError   bool `json:"is_error"`
	ToolCalls []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func (i item) message() Message {
	m := Message{Role: i.Role}
	switch {
	case i.Type == "function_call":
		return Message{Role: "assistant", Calls: []Call{{ID: i.CallID, Name: i.Name, Args: i.Arguments}}}
	case i.Type == "function_call_output":
		return Message{Role: "user", Results: []Result{{ID: i.CallID, Text: contentText(i.Output)}}}
	case i.Role == "tool":
		return Message{Role: "user", Results: []Result{{ID: i.ToolCall, Text: contentText(i.Content)}}}
	}
	for _, c := range i.ToolCalls {
		m.Calls = append(m.Calls, Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
	}
	var blocks []item
	if json.Unmarshal(i.Content, &blocks) != nil {
		m.Text = contentText(i.Content)
		return m
	}
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			m.Calls = append(m.Calls, Call{ID: b.ID, Name: b.Name, Args: string(b.Input)})
		case "tool_result":
			m.Results = append(m.Results, Result{ID: b.ToolUse, Text: contentText(b.Content), IsError: b.IsError})
		default:
			m.Text += b.Text
		}
	}
	return m
}

// contentText returns a text, or the joined texts of a list of blocks.
func contentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []struct{ Text string }
	if json.Unmarshal(raw, &blocks) != nil {
		return ""
	}
	for _, b := range blocks {
		s += b.Text
	}
	return s
}
