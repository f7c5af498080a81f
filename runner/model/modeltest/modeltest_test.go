package modeltest_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/sashabaranov/go-openai"

	"taskyard/runner/model/modeltest"
)

// step is what every format must tell.
var step = modeltest.Step{
	Text: "I look for it.", Calls: []modeltest.Call{{ID: "a", Name: "read", Args: `{"path":"main.go"}`}},
	Usage: modeltest.Usage{In: 30, Out: 7, Cached: 20},
}

func clients(s *modeltest.Server) (*openai.Client, anthropic.Client) {
	c := openai.DefaultConfig("sk-test")
	c.BaseURL = s.URL + "/v1"
	return openai.NewClientWithConfig(c), anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("sk-test"), option.WithBaseURL(s.URL), option.WithMaxRetries(0))
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestWholeRepliesAreReadByTheCompaniesOwnClients(t *testing.T) {
	s := modeltest.New(t, modeltest.Step{Text: step.Text, Calls: step.Calls, Usage: step.Usage, Times: 3})
	o, a := clients(s)
	t.Run("chat completions", func(t *testing.T) {
		r := must[openai.ChatCompletionResponse](t)(o.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{
			Model: "m", Messages: []openai.ChatCompletionMessage{{Role: "system", Content: "Be terse."}, {Role: "user", Content: "Hi"}},
		}))
		c := r.Choices[0]
		if c.Message.Content != step.Text || c.Message.ToolCalls[0].Function.Arguments != step.Calls[0].Args || c.FinishReason != "tool_calls" || r.Usage.PromptTokensDetails.CachedTokens != 20 {
			t.Errorf("the reply is %+v", r)
		}
		q := s.Turns()[0]
		if q.System != "Be terse." || q.Last().Text != "Hi" || q.Key() != "sk-test" || q.API != modeltest.Chat {
			t.Errorf("the request is %+v", q)
		}
	})
	t.Run("messages", func(t *testing.T) {
		r := must[*anthropic.Message](t)(a.Messages.New(t.Context(), anthropic.MessageNewParams{
			Model: "m", MaxTokens: 10, System: []anthropic.TextBlockParam{{Text: "Be terse."}},
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hi"))},
		}))
		if r.Content[0].Text != step.Text || r.Content[1].ID != "a" || r.StopReason != "tool_use" || r.Usage.InputTokens != 10 || r.Usage.CacheReadInputTokens != 20 {
			t.Errorf("the reply is %s", r.RawJSON())
		}
		if q := s.Turns()[1]; q.System != "Be terse." || q.Last().Text != "Hi" || q.API != modeltest.Messages {
			t.Errorf("the request is %+v", q)
		}
	})
	t.Run("responses", func(t *testing.T) {
		r := must[openai.CreateResponseResponse](t)(o.CreateResponse(t.Context(), openai.CreateResponseRequest{Model: "m", Input: "Hi", Instructions: "Be terse."}))
		if len(r.Output) != 2 || r.Usage.InputTokens != 30 || r.Status != "completed" {
			t.Errorf("the reply is %+v", r)
		}
		if q := s.Turns()[2]; q.System != "Be terse." || q.Last().Text != "Hi" || q.API != modeltest.Responses {
			t.Errorf("the request is %+v", q)
		}
	})
}

func TestResponsesAreStreamed(t *testing.T) {
	s := modeltest.New(t, step, modeltest.Step{Text: "a beginning", Break: modeltest.BreakCut}, modeltest.Step{Text: "a beginning", Break: modeltest.BreakEnd})
	o, _ := clients(s)
	read := func(t *testing.T) (text, args string, kinds []string, err error) {
		t.Helper()
		stream, err := o.CreateResponseStream(t.Context(), openai.CreateResponseRequest{Model: "m", Input: "Hi"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = stream.Close() }()
		for {
			ev, err := stream.Recv()
			if err != nil {
				return text, args, kinds, err
			}
			kinds = append(kinds, string(ev.Type))
			switch ev.Type {
			case "response.output_text.delta":
				text += ev.Delta
			case "response.function_call_arguments.delta":
				args += ev.Delta
			}
		}
	}
	t.Run("whole", func(t *testing.T) {
		text, args, kinds, err := read(t)
		if text != step.Text || args != step.Calls[0].Args || kinds[0] != "response.created" || kinds[len(kinds)-1] != "response.completed" || !errors.Is(err, io.EOF) {
			t.Errorf("it told %q and %q in %v, %v", text, args, kinds, err)
		}
	})
	t.Run("cut off", func(t *testing.T) {
		if _, _, kinds, err := read(t); errors.Is(err, io.EOF) || strings.Contains(strings.Join(kinds, " "), "completed") {
			t.Errorf("it told %v, %v", kinds, err)
		}
	})
	t.Run("without its end", func(t *testing.T) {
		if _, _, kinds, err := read(t); !errors.Is(err, io.EOF) || strings.Contains(strings.Join(kinds, " "), "completed") {
			t.Errorf("it told %v, %v", kinds, err)
		}
	})
}

func TestWhatProgramsAskBesidesCostsNoStep(t *testing.T) {
	s := modeltest.WithTools(t, modeltest.Step{Text: "the script"})
	o, a := clients(s)
	if n := must[*anthropic.MessageTokensCount](t)(a.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{
		Model: "m", Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hi"))},
	})); n.InputTokens < 1 {
		t.Errorf("%d tokens", n.InputTokens)
	}
	if l := must[openai.ModelsList](t)(o.ListModels(t.Context())); len(l.Models) != 1 || l.Models[0].ID != "test-model" {
		t.Errorf("models are %+v", l)
	}
	if m := must[*anthropic.ModelInfo](t)(a.Models.Get(t.Context(), "test-model", anthropic.ModelGetParams{})); m.ID != "test-model" {
		t.Errorf("the model is %+v", m)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, s.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	res := must[*http.Response](t)(http.DefaultClient.Do(req))
	_ = res.Body.Close()
	chat := func(tools ...openai.Tool) string {
		return must[openai.ChatCompletionResponse](t)(o.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{
			Model: "m", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "Hi"}}, Tools: tools,
		})).Choices[0].Message.Content
	}
	if got := chat(); got != "ok" {
		t.Errorf("a side question is answered with %q", got)
	}
	if got := chat(openai.Tool{Type: "function", Function: &openai.FunctionDefinition{Name: "read", Parameters: map[string]any{"type": "object"}}}); got != "the script" {
		t.Errorf("the program is answered with %q", got)
	}
	if n, turns := len(s.Requests()), len(s.Turns()); n != 6 || turns != 2 {
		t.Errorf("%d requests, %d turns", n, turns)
	}
}
