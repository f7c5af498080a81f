// Package model speaks with language models: one small interface before the
// wire formats of the providers. A reply is streamed, bounded in memory, and
// either whole or an *Error that says what kind of failure it was.
package model

import (
	"context"
	"encoding/json"
)

// Bounds of what one reply may hold; a longer one is an Error of KindProtocol.
const (
	MaxReply = 2 << 20 // bytes of text, thoughts and arguments together
	MaxCalls = 128
)

// Model answers one turn of a conversation. It is safe for concurrent use.
type Model interface {
	// Turn sends the conversation and returns the whole reply. While it comes
	// in, on is called with its parts, from the caller's goroutine. The error
	// is an *Error, or the cause of ctx when that ended; the reply is then empty
	// but for the usage of what had come in.
	Turn(ctx context.Context, req Request, on func(Delta)) (Reply, error)
}

// Request is one turn to be answered.
type Request struct {
	Model     string
	System    string
	Messages  []Message
	Tools     []Tool
	NoCalls   bool // the tools are declared, but none may be called now
	MaxTokens int  // of the reply; 0 leaves it to the provider
}

// Role says whose message it is.
type Role string

// The roles. The results of tools are a message of the user.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one message of a conversation.
type Message struct {
	Role    Role
	Text    string
	Calls   []Call   // of the assistant
	Results []Result // of the user: one for each call of the message before

	thoughts []thought // of the assistant: given back as they came
}

// thought is what a model thought; some providers want it back, unchanged.
type thought struct{ text, signature, hidden string }

// Size returns about how many bytes the message takes.
func (m Message) Size() int {
	n := len(m.Text)
	for _, c := range m.Calls {
		n += len(c.ID) + len(c.Name) + len(c.Args)
	}
	for _, r := range m.Results {
		n += len(r.CallID) + len(r.Text)
	}
	for _, t := range m.thoughts {
		n += len(t.text) + len(t.signature) + len(t.hidden)
	}
	return n
}

// Tool is a tool that a model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of the arguments, of type object
}

// Call is a call of a tool. Args is what the model wrote: it may be no JSON, and
// Name no name of a tool.
type Call struct {
	ID   string
	Name string
	Args json.RawMessage
}

// Result is what a call brought.
type Result struct {
	CallID  string
	Text    string
	IsError bool
}

// Stop says why a reply ended.
type Stop string

// The reasons for the end of a reply.
const (
	StopEnd     Stop = "end"     // it is complete, maybe with calls
	StopLength  Stop = "length"  // cut at MaxTokens
	StopRefusal Stop = "refusal" // the provider or the model refused
)

// Usage is what one turn used.
type Usage struct {
	In        int // tokens read, those from the cache too
	Cached    int // of In: read from the provider's cache
	Stored    int // of In: written into the provider's cache
	Out       int
	Estimated bool // the provider told nothing: about four bytes a token
}

// Plus returns the sum.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		In: u.In + v.In, Cached: u.Cached + v.Cached, Stored: u.Stored + v.Stored, Out: u.Out + v.Out,
		Estimated: u.Estimated || v.Estimated,
	}
}

// Reply is a whole reply.
type Reply struct {
	Text  string
	Calls []Call
	Usage Usage
	Lost  Usage // of the tries before it, which failed
	Stop  Stop

	thoughts []thought
}

// Message returns the reply as the message that the conversation keeps.
func (r Reply) Message() Message {
	return Message{Role: Assistant, Text: r.Text, Calls: r.Calls, thoughts: r.thoughts}
}

// Delta is a part of a reply that is coming in, or the news that it comes
// again: then the text so far is void.
type Delta struct {
	Text    string
	Thought bool   // the model thinks; there is no text
	Again   *Again // set: the request is made again
}

// estimate makes the usage that a provider did not tell.
func estimate(req Request, r Reply) Usage {
	const each = 4 // bytes a token, about
	in := len(req.System)
	for _, m := range req.Messages {
		in += m.Size()
	}
	for _, t := range req.Tools {
		in += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return Usage{In: in/each + 1, Out: r.Message().Size()/each + 1, Estimated: true}
}
