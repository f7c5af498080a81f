package model

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// messages speaks the Messages API of Anthropic.
type messages struct{ client anthropic.Client }

func newAnthropic(p Provider) *messages {
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithoutOpenTelemetry(), option.WithMaxRetries(0), option.WithHTTPClient(newClient()),
	}
	if p.Key != "" {
		opts = append(opts, option.WithAPIKey(p.Key))
	}
	if p.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(strings.TrimSuffix(strings.TrimRight(p.BaseURL, "/"), "/v1")+"/"))
	}
	return &messages{anthropic.NewClient(opts...)}
}

func (m *messages) Turn(ctx context.Context, req Request, on func(Delta)) (Reply, error) {
	within, saw := watched(ctx)
	stream := m.client.Messages.NewStreaming(within, messageRequest(req))
	defer func() { _ = stream.Close() }()
	b := blocks{collector: collector{on: on}}
	for stream.Next() {
		if err := b.take(stream.Current()); err != nil {
			return Reply{}, err
		}
	}
	if err := stream.Err(); err != nil {
		return Reply{}, messagesError(ctx, err, saw)
	}
	return b.end(ctx, req)
}

// blocks puts a reply together from the events of a stream.
type blocks struct {
	collector
	call    *partCall    // of the block that is coming in
	thought *partThought // likewise
	usage   Usage
	stop    anthropic.StopReason
	done    bool
}

func (b *blocks) take(ev anthropic.MessageStreamEventUnion) error {
	switch ev.Type {
	case "message_start":
		u := ev.Message.Usage
		b.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
		b.usage.Out = int(max(u.OutputTokens, 0))
	case "content_block_start":
		return b.open(ev.ContentBlock)
	case "content_block_delta":
		return b.grown(ev.Delta)
	case "message_delta":
		b.stop = ev.Delta.StopReason
		u := ev.Usage
		if u.JSON.InputTokens.Valid() && u.InputTokens > 0 {
			b.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
		}
		b.usage.Out = int(max(u.OutputTokens, 0))
	case "message_stop":
		b.done = true
	}
	return nil
}

// count notes what was read; the provider leaves the cache out of its number.
func (b *blocks) count(in, cached, stored int64) {
	cached, stored = max(cached, 0), max(stored, 0)
	b.usage.In, b.usage.Cached, b.usage.Stored = int(max(in, 0)+cached+stored), int(cached), int(stored)
}

func (b *blocks) open(block anthropic.ContentBlockStartEventContentBlockUnion) (err error) {
	b.call, b.thought = nil, nil
	switch block.Type {
	case "text":
		return b.say(block.Text)
	case "tool_use":
		b.call, err = b.begin(block.ID, block.Name)
		return err
	case "thinking", "redacted_thinking":
		b.thought = &partThought{hidden: block.Data}
		b.mind = append(b.mind, b.thought)
		b.thought.text.WriteString(block.Thinking)
		b.thought.signature.WriteString(block.Signature)
		return b.grow(len(block.Data) + len(block.Thinking) + len(block.Signature))
	}
	return nil
}

func (b *blocks) grown(d anthropic.MessageStreamEventUnionDelta) error {
	switch {
	case d.Type == "text_delta":
		return b.say(d.Text)
	case d.Type == "input_json_delta" && b.call != nil:
		return b.argue(b.call, d.PartialJSON)
	case d.Type == "thinking_delta" && b.thought != nil, d.Type == "signature_delta" && b.thought != nil:
		b.thought.text.WriteString(d.Thinking)
		b.thought.signature.WriteString(d.Signature)
		b.on(Delta{Thought: true})
		return b.grow(len(d.Thinking) + len(d.Signature))
	}
	return nil
}

// end is the reply when the stream has ended; one without its last event
// broke off.
func (b *blocks) end(ctx context.Context, req Request) (Reply, error) {
	if !b.done || b.stop == "" {
		return Reply{}, broken(ctx, "the reply broke off")
	}
	stop := StopEnd
	switch b.stop {
	case anthropic.StopReasonMaxTokens:
		stop = StopLength
	case anthropic.StopReasonRefusal:
		stop = StopRefusal
	case anthropic.StopReasonModelContextWindowExceeded:
		return Reply{}, &Error{Kind: KindContext}
	}
	r := b.reply(stop, b.usage)
	if b.usage.In+b.usage.Out == 0 {
		r.Usage = estimate(req, r)
	}
	return r, nil
}

const anthropicMax = 8192 // tokens of a reply, where nothing else is asked for

func messageRequest(req Request) anthropic.MessageNewParams {
	out := anthropic.MessageNewParams{Model: anthropic.Model(req.Model), MaxTokens: anthropicMax}
	if req.MaxTokens > 0 {
		out.MaxTokens = int64(req.MaxTokens)
	}
	cache := anthropic.NewCacheControlEphemeralParam()
	if req.System != "" {
		out.System = []anthropic.TextBlockParam{{Text: req.System, CacheControl: cache}}
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: t.Name, Description: anthropic.String(t.Description), InputSchema: schemaParam(t.Schema),
		}})
	}
	if req.NoCalls && len(req.Tools) > 0 {
		out.ToolChoice = anthropic.ToolChoiceUnionParam{OfNone: &anthropic.ToolChoiceNoneParam{}}
	}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, messageParam(m))
	}
	// What was said so far is read from the cache in the next turn.
	if n := len(out.Messages); n > 0 && len(out.Messages[n-1].Content) > 0 {
		content := out.Messages[n-1].Content
		if c := content[len(content)-1].GetCacheControl(); c != nil {
			*c = cache
		}
	}
	return out
}

// schemaParam passes a schema on with all that it says.
func schemaParam(schema json.RawMessage) anthropic.ToolInputSchemaParam {
	var p anthropic.ToolInputSchemaParam
	var fields map[string]any
	if json.Unmarshal(schema, &fields) != nil {
		return p
	}
	delete(fields, "type") // always object
	p.ExtraFields = fields
	return p
}

func messageParam(m Message) anthropic.MessageParam {
	var content []anthropic.ContentBlockParamUnion
	for _, t := range m.thoughts {
		switch {
		case t.hidden != "":
			content = append(content, anthropic.NewRedactedThinkingBlock(t.hidden))
		case t.signature != "":
			content = append(content, anthropic.NewThinkingBlock(t.signature, t.text))
		}
	}
	for _, r := range m.Results {
		text := r.Text
		if text == "" {
			text = "(nothing)"
		}
		content = append(content, anthropic.NewToolResultBlock(r.CallID, text, r.IsError))
	}
	if m.Text != "" {
		content = append(content, anthropic.NewTextBlock(m.Text))
	}
	for _, c := range m.Calls {
		content = append(content, anthropic.NewToolUseBlock(c.ID, object(c.Args), c.Name))
	}
	if m.Role == Assistant {
		return anthropic.NewAssistantMessage(content...)
	}
	return anthropic.NewUserMessage(content...)
}

// messagesError turns what the library says into an Error.
func messagesError(ctx context.Context, err error, saw *seen) error {
	var api *anthropic.Error
	var e *Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &api):
		status := api.StatusCode
		if status/100 == 2 { // the reply had begun
			status = 0
		}
		e = failure(status, string(api.Type()), messageOf(api.RawJSON()))
	case saw.status == 0 && !isTransport(err):
		e = failure(0, "library", err.Error())
	case isSenseless(err):
		e = senseless("%v", err)
	default:
		return broken(ctx, err.Error())
	}
	e.After = saw.after
	return e
}

// messageOf finds the words in the body of a refusal.
func messageOf(body string) string {
	var b struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(body), &b) == nil && b.Error.Message != "" {
		return b.Error.Message
	}
	return body
}
