package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sashabaranov/go-openai"
)

// openAI speaks chat completions, as OpenAI and most others offer them.
type openAI struct{ client *openai.Client }

func newOpenAI(p Provider) *openAI {
	c := openai.DefaultConfig(p.Key)
	if p.BaseURL != "" {
		c.BaseURL = strings.TrimRight(p.BaseURL, "/")
	}
	c.HTTPClient = newClient()
	return &openAI{openai.NewClientWithConfig(c)}
}

func (o *openAI) Turn(ctx context.Context, req Request, on func(Delta)) (Reply, error) {
	within, saw := watched(ctx)
	stream, err := o.client.CreateChatCompletionStream(within, chatRequest(req))
	if err != nil {
		return Reply{}, openAIError(ctx, err, saw)
	}
	defer func() { _ = stream.Close() }()
	c := chat{collector: collector{on: on}, at: map[int]*partCall{}}
	for {
		part, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return c.end(req)
		case err != nil:
			return Reply{}, openAIError(ctx, err, saw)
		}
		if err := c.take(part); err != nil {
			return Reply{}, err
		}
	}
}

// chat puts a reply together from the chunks of a stream.
type chat struct {
	collector
	at     map[int]*partCall // by the provider's index
	last   *partCall
	finish openai.FinishReason
	usage  *openai.Usage
}

func (c *chat) take(part openai.ChatCompletionStreamResponse) error {
	if part.Usage != nil {
		c.usage = part.Usage
	}
	for _, choice := range part.Choices {
		if choice.Index != 0 {
			continue
		}
		if choice.FinishReason != "" {
			c.finish = choice.FinishReason
		}
		d := choice.Delta
		if d.ReasoningContent != "" {
			if err := c.think(d.ReasoningContent); err != nil {
				return err
			}
		}
		if err := c.say(d.Content + d.Refusal); err != nil {
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

func (c *chat) think(text string) error {
	if c.mind == nil {
		c.mind = []*partThought{{}}
	}
	c.mind[0].text.WriteString(text)
	c.on(Delta{Thought: true})
	return c.grow(len(text))
}

// call takes a part of a call. Some servers give no index, and some the same
// to all calls: then a new id begins a new call.
func (c *chat) call(t openai.ToolCall) error {
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

// end is the reply when the stream has ended; one that has not said why broke
// off.
func (c *chat) end(req Request) (Reply, error) {
	if c.finish == "" {
		e := senseless("the reply broke off")
		e.Kind = KindConnection
		return Reply{}, e
	}
	stop := StopEnd
	switch c.finish {
	case openai.FinishReasonLength:
		stop = StopLength
	case openai.FinishReasonContentFilter:
		stop = StopRefusal
	}
	r := c.reply(stop, Usage{})
	r.Usage = estimate(req, r)
	if u := c.usage; u != nil && u.PromptTokens+u.CompletionTokens > 0 {
		r.Usage = Usage{In: max(u.PromptTokens, 0), Out: max(u.CompletionTokens, 0)}
		if u.PromptTokensDetails != nil {
			r.Usage.Cached = min(max(u.PromptTokensDetails.CachedTokens, 0), r.Usage.In)
		}
	}
	return r, nil
}

func chatRequest(req Request) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{Model: req.Model, Stream: true, StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
	if reasons(req.Model) {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		//lint:ignore SA1019 the one name that all other servers know
		out.MaxTokens = req.MaxTokens
	}
	if req.System != "" {
		out.Messages = append(out.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: req.System})
	}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, chatMessages(m)...)
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.Schema,
		}})
	}
	if req.NoCalls && len(req.Tools) > 0 {
		out.ToolChoice = "none"
	}
	return out
}

// reasons reports whether a model of OpenAI's takes the newer name of the limit
// alone; other servers know the older one best.
func reasons(model string) bool {
	for _, p := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, p) {
			return true
		}
	}
	return false
}

func chatMessages(m Message) (list []openai.ChatCompletionMessage) {
	for _, r := range m.Results {
		text := r.Text
		if text == "" {
			text = "(nothing)"
		}
		if r.IsError {
			text = "Error: " + text
		}
		list = append(list, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: r.CallID, Content: text})
	}
	if m.Role == User && m.Text != "" {
		list = append(list, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: m.Text})
	}
	if m.Role != Assistant {
		return list
	}
	a := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: m.Text}
	for _, c := range m.Calls {
		a.ToolCalls = append(a.ToolCalls, openai.ToolCall{ID: c.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: c.Name, Arguments: string(object(c.Args))}})
	}
	if len(m.thoughts) > 0 && len(m.Calls) > 0 { // wanted back by those that think between calls
		a.ReasoningContent = m.thoughts[0].text
	}
	return append(list, a)
}

// openAIError turns what the library says into an Error.
func openAIError(ctx context.Context, err error, saw *seen) error {
	var api *openai.APIError
	var raw *openai.RequestError
	var e *Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &api):
		status := api.HTTPStatusCode
		if code, ok := api.Code.(int); ok && status == 0 && code >= 400 && code < 600 {
			status = code
		}
		e = failure(status, api.Type+" "+fmt.Sprint(api.Code), api.Message)
	case errors.As(err, &raw):
		e = failure(raw.HTTPStatusCode, "", string(raw.Body))
	case saw.status == 0 && !isTransport(err):
		e = failure(0, "library", err.Error()) // refused before it was sent
	case isSenseless(err):
		e = senseless("%v", err)
	default:
		return broken(ctx, err.Error())
	}
	e.After = saw.after
	return e
}
