package model

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// openAI implements chat completions, as OpenAI and most others offer them.
type openAI struct{ at endpoint }

func newOpenAI(p Provider) *openAI {
	base := "https://api.openai.com/v1"
	if p.BaseURL != "" {
		base = strings.TrimRight(p.BaseURL, "/")
	}
	at := endpoint{base + "/chat/completions", map[string]string{}}
	if p.Key != "" {
		at.header["Authorization"] = "Bearer " + p.Key
	}
	return &openAI{at}
}

func (o *openAI) Turn(ctx context.Context, req Request, on func(Delta)) (Reply, error) {
	c := chat{collector: collector{onDelta: on}, at: map[int]*partCall{}}
	r, err := Reply{}, o.at.stream(ctx, newChatRequest(req), c.handleChunk)
	if err == nil {
		r, err = c.end(req)
	}
	if err != nil {
		return c.partialReply(req, c.usage), err
	}
	return r, nil
}

// chatChunk is an event of a stream.
type chatChunk struct {
	Choices []struct {
		Index int
		Delta struct {
			Content   chatText
			Refusal   string
			Reasoning string         `json:"reasoning_content"` // required back
			Thought   any            `json:"reasoning"`         // its name in Ollama, OpenRouter and vLLM: a text
			ToolCalls []chatToolCall `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		In      int `json:"prompt_tokens"`
		Out     int `json:"completion_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

// chatText is a text or a list of its parts. The reasoning models of Mistral
// send lists.
type chatText struct{ text, thought string }

// UnmarshalJSON accepts both forms.
func (t *chatText) UnmarshalJSON(b []byte) error {
	if !bytes.HasPrefix(b, []byte("[")) {
		return json.Unmarshal(b, &t.text)
	}
	var parts []struct {
		Type, Text string
		Thinking   json.RawMessage // its form differs
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		if p.Type == "text" {
			t.text += p.Text
		}
		t.thought += string(p.Thinking)
	}
	return nil
}

type chatToolCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// chat assembles a reply from the chunks of a stream.
type chat struct {
	collector
	at     map[int]*partCall // by the provider's index
	last   *partCall
	finish string // the finish_reason
	usage  Usage
}

func (c *chat) handleChunk(data []byte) error {
	c.began = true
	if string(data) == "[DONE]" {
		return errDone
	}
	var chunk chatChunk
	if err := decode(data, &chunk); err != nil {
		return err
	}
	if u := chunk.Usage; u != nil {
		in := max(u.In, 0)
		c.usage = Usage{In: in, Out: max(u.Out, 0), Cached: min(max(u.Details.Cached, 0), in)}
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		if choice.FinishReason != "" {
			c.finish = choice.FinishReason
		}
		d := choice.Delta
		thought, _ := d.Thought.(string)
		if err := c.addThought(d.Reasoning, thought+d.Content.thought); err != nil {
			return err
		}
		if err := c.say(d.Content.text + d.Refusal); err != nil {
			return err
		}
		for _, call := range d.ToolCalls {
			if err := c.call(call); err != nil {
				return err
			}
		}
	}
	return nil
}

// addThought adds a part of the model's reasoning. Only kept is sent back.
func (c *chat) addThought(kept, other string) error {
	if kept+other == "" {
		return nil
	}
	if kept != "" {
		if c.thinking == nil {
			c.thinking = []*partThought{{}}
		}
		c.thinking[0].text.WriteString(kept)
	}
	c.onDelta(Delta{Thought: true})
	return c.grow(max(len(kept), len(other)))
}

// call adds a part of a call. Some servers send no index, and some the same one
// for all calls: then a new ID begins a new call.
func (c *chat) call(t chatToolCall) error {
	p := c.last
	if t.Index != nil {
		p = c.at[*t.Index]
	}
	if p == nil || t.ID != "" && p.id != "" && t.ID != p.id {
		var err error
		if p, err = c.begin(t.ID, t.Function.Name); err != nil {
			return err
		}
	} else if p.name == "" {
		p.name = t.Function.Name
	}
	if c.last = p; t.Index != nil {
		c.at[*t.Index] = p
	}
	return c.argue(p, t.Function.Arguments)
}

// end returns the reply after the end of the stream. Without a finish reason,
// the stream was cut off.
func (c *chat) end(req Request) (Reply, error) {
	if c.finish == "" {
		return Reply{}, &Error{Kind: KindConnection, Message: "the reply broke off"}
	}
	stop := StopEnd
	switch c.finish {
	case "length":
		stop = StopLength
	case "content_filter":
		stop = StopRefusal
	}
	r := c.reply(stop, c.usage)
	if c.usage.In+c.usage.Out == 0 {
		r.Usage = estimate(req, r)
	}
	return r, nil
}

type chatRequest struct {
	Model         string        `json:"model"`
	Stream        bool          `json:"stream"`
	StreamOptions object        `json:"stream_options"`
	MaxTokens     int           `json:"max_tokens,omitempty"`
	MaxCompletion int           `json:"max_completion_tokens,omitempty"`
	Messages      []chatMessage `json:"messages"`
	Tools         []object      `json:"tools,omitempty"`
	ToolChoice    string        `json:"tool_choice,omitempty"`
}

type chatMessage struct {
	Role       string         `json:"role"`
	Content    string         `json:"content,omitempty"`
	Reasoning  string         `json:"reasoning_content,omitempty"`
	ToolCalls  []chatToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
}

func newChatRequest(req Request) chatRequest {
	out := chatRequest{Model: req.Model, Stream: true, StreamOptions: object{"include_usage": true}}
	if isReasoningModel(req.Model) {
		out.MaxCompletion = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens // the only name that all other servers support
	}
	if req.System != "" {
		out.Messages = append(out.Messages, chatMessage{Role: "system", Content: req.System})
	}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, chatMessages(m)...)
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, object{"type": "function", "function": object{
			"name": t.Name, "description": t.Description, "parameters": t.Schema,
		}})
	}
	if req.NoCalls && len(req.Tools) > 0 {
		out.ToolChoice = "none"
	}
	return out
}

// isReasoningModel reports whether a model of OpenAI accepts only the newer name of the
// limit. Other servers support the older one best.
func isReasoningModel(model string) bool {
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5", "gpt-6"}, func(p string) bool { return strings.HasPrefix(model, p) })
}

func chatMessages(m Message) (list []chatMessage) {
	for _, r := range m.Results {
		text := orPlaceholder(r.Text)
		if r.IsError {
			text = "Error: " + text
		}
		list = append(list, chatMessage{Role: "tool", ToolCallID: r.CallID, Content: text})
	}
	if m.Role == User && m.Text != "" {
		list = append(list, chatMessage{Role: "user", Content: m.Text})
	}
	if m.Role != Assistant {
		return list
	}
	a := chatMessage{Role: "assistant", Content: m.Text}
	for _, c := range m.Calls {
		f := chatFunction{toolName(c.Name), string(arguments(c.Args))}
		a.ToolCalls = append(a.ToolCalls, chatToolCall{ID: c.ID, Type: "function", Function: f})
	}
	if len(m.thoughts) > 0 && len(m.Calls) > 0 { // required back by models that reason between calls
		a.Reasoning = m.thoughts[0].text
	}
	return append(list, a)
}
