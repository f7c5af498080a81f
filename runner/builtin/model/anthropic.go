package model

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// messages implements the Messages API of Anthropic.
type messages struct{ at endpoint }

func newAnthropic(p Provider) *messages {
	base := "https://api.anthropic.com"
	if p.BaseURL != "" {
		base = strings.TrimSuffix(strings.TrimRight(p.BaseURL, "/"), "/v1")
	}
	at := endpoint{base + "/v1/messages", map[string]string{"Anthropic-Version": "2023-06-01"}}
	if p.Key != "" {
		at.header["X-Api-Key"] = p.Key
	}
	return &messages{at}
}

func (m *messages) Turn(ctx context.Context, req Request, on func(Delta)) (Reply, error) {
	b := blocks{collector: collector{onDelta: on}}
	r, err := Reply{}, m.at.stream(ctx, newMessagesRequest(req), b.handleEvent)
	if err == nil {
		r, err = b.end(ctx, req)
	}
	if err != nil {
		return b.partialReply(req, b.usage), err
	}
	return r, nil
}

// messagesEvent is an event of a stream. Type determines which fields it has.
type messagesEvent struct {
	Type    string
	Message struct{ Usage messagesUsage }
	Block   struct{ Type, ID, Name, Text, Thinking, Signature, Data string } `json:"content_block"`
	Delta   struct {
		Type, Text, Thinking, Signature string
		PartialJSON                     string `json:"partial_json"`
		StopReason                      string `json:"stop_reason"`
	}
	Usage messagesUsage
}

type messagesUsage struct {
	In     int `json:"input_tokens"` // without cached tokens
	Cached int `json:"cache_read_input_tokens"`
	Stored int `json:"cache_creation_input_tokens"`
	Out    int `json:"output_tokens"`
}

// blocks assembles a reply from the events of a stream.
type blocks struct {
	collector
	call    *partCall    // the call that is being received
	thought *partThought // the thought that is being received
	usage   Usage
	stop    string // the stop_reason
	done    bool
}

func (b *blocks) handleEvent(data []byte) error {
	b.began = true
	var ev messagesEvent
	if err := decode(data, &ev); err != nil {
		return err
	}
	switch ev.Type {
	case "message_start":
		b.count(ev.Message.Usage)
	case "content_block_start":
		return b.open(ev)
	case "content_block_delta":
		return b.handleDelta(ev)
	case "message_delta":
		b.stop = ev.Delta.StopReason
		if ev.Usage.In > 0 {
			b.count(ev.Usage)
		}
		b.usage.Out = max(ev.Usage.Out, 0)
	case "message_stop":
		b.done = true
		return errDone
	}
	return nil
}

func (b *blocks) count(u messagesUsage) {
	cached, stored := max(u.Cached, 0), max(u.Stored, 0)
	b.usage = Usage{In: max(u.In, 0) + cached + stored, Cached: cached, Stored: stored, Out: max(u.Out, 0)}
}

func (b *blocks) open(ev messagesEvent) (err error) {
	b.call, b.thought = nil, nil
	block := ev.Block
	switch block.Type {
	case "text":
		return b.say(block.Text)
	case "tool_use":
		b.call, err = b.begin(block.ID, block.Name)
		return err
	case "thinking", "redacted_thinking":
		b.thought = &partThought{hidden: block.Data}
		b.thinking = append(b.thinking, b.thought)
		b.thought.text.WriteString(block.Thinking)
		b.thought.signature.WriteString(block.Signature)
		return b.grow(len(block.Data) + len(block.Thinking) + len(block.Signature))
	}
	return nil
}

func (b *blocks) handleDelta(ev messagesEvent) error {
	d := ev.Delta
	switch {
	case d.Type == "text_delta":
		return b.say(d.Text)
	case d.Type == "input_json_delta" && b.call != nil:
		return b.argue(b.call, d.PartialJSON)
	case d.Type == "thinking_delta" && b.thought != nil, d.Type == "signature_delta" && b.thought != nil:
		b.thought.text.WriteString(d.Thinking)
		b.thought.signature.WriteString(d.Signature)
		b.onDelta(Delta{Thought: true})
		return b.grow(len(d.Thinking) + len(d.Signature))
	}
	return nil
}

// end returns the reply after the end of the stream. Without the final event,
// the stream was cut off.
func (b *blocks) end(ctx context.Context, req Request) (Reply, error) {
	if !b.done || b.stop == "" {
		return Reply{}, connectionError(ctx, "the reply broke off")
	}
	stop := StopEnd
	switch b.stop {
	case "max_tokens":
		stop = StopLength
	case "refusal":
		stop = StopRefusal
	case "model_context_window_exceeded":
		return Reply{}, &Error{Kind: KindContext}
	}
	r := b.reply(stop, b.usage)
	if b.usage.In+b.usage.Out == 0 {
		r.Usage = estimate(req, r)
	}
	return r, nil
}

const anthropicMax = 8192 // default limit of a reply, in tokens

type messagesRequest struct {
	Model      string            `json:"model"`
	MaxTokens  int               `json:"max_tokens"`
	Stream     bool              `json:"stream"`
	System     []object          `json:"system,omitempty"`
	Messages   []messagesMessage `json:"messages"`
	Tools      []object          `json:"tools,omitempty"`
	ToolChoice object            `json:"tool_choice,omitempty"`
}

type messagesMessage struct {
	Role    Role     `json:"role"`
	Content []object `json:"content"`
}

// object is a JSON object in a request.
type object map[string]any

func newMessagesRequest(req Request) messagesRequest {
	out := messagesRequest{Model: req.Model, MaxTokens: anthropicMax, Stream: true}
	if req.MaxTokens > 0 {
		out.MaxTokens = req.MaxTokens
	}
	cache := object{"type": "ephemeral"}
	if req.System != "" {
		out.System = []object{{"type": "text", "text": req.System, "cache_control": cache}}
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, object{"name": t.Name, "description": t.Description, "input_schema": t.Schema})
	}
	if req.NoCalls && len(req.Tools) > 0 {
		out.ToolChoice = object{"type": "none"}
	}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, messagesMessage{m.Role, contentBlocks(m)})
	}
	// The next turn reads the conversation so far from the cache.
	if n := len(out.Messages); n > 0 {
		content := out.Messages[n-1].Content
		if k := len(content); k > 0 && !isThought(content[k-1]) {
			content[k-1]["cache_control"] = cache
		}
	}
	return out
}

func contentBlocks(m Message) (list []object) {
	for _, t := range m.thoughts {
		switch {
		case t.hidden != "":
			list = append(list, object{"type": "redacted_thinking", "data": t.hidden})
		case t.signature != "":
			list = append(list, object{"type": "thinking", "thinking": t.text, "signature": t.signature})
		}
	}
	for _, r := range m.Results {
		text := []object{{"type": "text", "text": orPlaceholder(r.Text)}}
		list = append(list, object{"type": "tool_result", "tool_use_id": r.CallID, "content": text, "is_error": r.IsError})
	}
	if m.Text != "" {
		list = append(list, object{"type": "text", "text": m.Text})
	}
	for _, c := range m.Calls {
		list = append(list, object{"type": "tool_use", "id": c.ID, "name": toolName(c.Name), "input": arguments(c.Args)})
	}
	return list
}

// isThought reports whether a block is one that cannot carry a cache marker.
func isThought(block object) bool {
	return block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

// orPlaceholder returns the text of a result, or a placeholder for an empty one,
// which providers reject.
func orPlaceholder(text string) string {
	return cmp.Or(text, "(nothing)")
}

// arguments returns the arguments in a form that the conversation may hold.
// Providers reject arguments that are not a JSON object.
func arguments(args json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(args, &m) != nil || m == nil {
		b, err := json.Marshal(map[string]string{"malformed": string(args)})
		if err != nil {
			return json.RawMessage("{}")
		}
		return b
	}
	return args
}

const maxToolName = 64 // characters

// toolName returns the name of a call in a form that the conversation may hold.
// Models call tools that do not exist, with names that providers reject.
func toolName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, name)
	return cmp.Or(name[:min(len(name), maxToolName)], "_")
}
