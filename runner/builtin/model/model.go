// Package model calls language models. It has one small interface for the wire
// formats of all providers. A reply is streamed, bounded in memory, and either
// complete or an *Error with the kind of failure.
package model

import (
	"context"
	"encoding/json"
)

// Bounds of one reply. A longer one is an Error of KindProtocol.
const (
	MaxReply = 2 << 20 // bytes of text, thoughts and arguments together
	MaxCalls = 128
)

// Model answers one turn of a conversation. It is safe for concurrent use.
type Model interface {
	// Turn sends the conversation and returns the complete reply. While the
	// reply arrives, on is called with its parts, from the caller's goroutine.
	// The error is an *Error, or the cause of ctx if that ended; the reply then
	// has only the usage so far.
	Turn(ctx context.Context, req Request, on func(Delta)) (Reply, error)
}

// Request is one turn of a conversation.
type Request struct {
	Model     string
	System    string
	Messages  []Message
	Tools     []Tool
	NoCalls   bool // the tools are declared, but must not be called now
	MaxTokens int  // limit of the reply; 0: the provider's default
}

// Role is the author of a message.
type Role string

// The roles. Tool results are in messages of the user.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one message of a conversation.
type Message struct {
	Role    Role
	Text    string
	Calls   []Call   // assistant only
	Results []Result // user only: one for each call in the message before

	thoughts []thought // assistant only: returned unchanged to the provider
}

// thought is reasoning of a model. Some providers require it back, unchanged.
type thought struct{ text, signature, hidden string }

// Size returns the approximate size of the message in bytes.
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

// Call is a tool call. Args is what the model wrote: it may be invalid JSON,
// and Name may not be the name of a tool.
type Call struct {
	ID   string
	Name string
	Args json.RawMessage
}

// Result is the result of a call.
type Result struct {
	CallID  string
	Text    string
	IsError bool
}

// Stop is the reason why a reply ended.
type Stop string

// The reasons why a reply ended.
const (
	StopEnd     Stop = "end"     // complete, possibly with calls
	StopLength  Stop = "length"  // cut at MaxTokens
	StopRefusal Stop = "refusal" // the provider or the model refused
)

// Usage is the usage of one turn.
type Usage struct {
	In        int // input tokens, including cached ones
	Cached    int // part of In that was read from the provider's cache
	Stored    int // part of In that was written to the provider's cache
	Out       int
	Estimated bool // estimated at about four bytes per token, because the provider reported nothing
}

// Plus returns the sum.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		In: u.In + v.In, Cached: u.Cached + v.Cached, Stored: u.Stored + v.Stored, Out: u.Out + v.Out,
		Estimated: u.Estimated || v.Estimated,
	}
}

// Reply is a complete reply.
type Reply struct {
	Text        string
	Calls       []Call
	Usage       Usage
	FailedUsage Usage // of the failed attempts before it
	Stop        Stop

	thoughts []thought
}

// Message returns the reply as a message for the conversation.
func (r Reply) Message() Message {
	return Message{Role: Assistant, Text: r.Text, Calls: r.Calls, thoughts: r.thoughts}
}

// Delta is a part of an incoming reply, or reports a retry, which discards the
// text so far.
type Delta struct {
	Text    string
	Thought bool         // reasoning, without text
	Again   *RetryNotice // the request is being retried
}

// estimate returns the estimated usage if the provider reported none.
func estimate(req Request, r Reply) Usage {
	const each = 4 // bytes per token, approximately
	in := len(req.System)
	for _, m := range req.Messages {
		in += m.Size()
	}
	for _, t := range req.Tools {
		in += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return Usage{In: in/each + 1, Out: r.Message().Size()/each + 1, Estimated: true}
}
