package modeltest_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
)

// step is a reply that every format must deliver.
var step = modeltest.Step{
	Text: "I look for it.", Calls: []modeltest.Call{{ID: "a", Name: "read", Args: `{"path":"main.go"}`}},
	Usage: modeltest.Usage{In: 30, Out: 7, Cached: 20},
}

// ask sends a request and returns the body of the response, which is JSON or an
// event stream.
func ask(t *testing.T, s *modeltest.Server, method, path, body string) io.ReadCloser {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	testkit.NoError(t, err)
	req.Header.Set("Authorization", "Bearer sk-test")
	res, err := http.DefaultClient.Do(req)
	testkit.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s", method, path, res.Status)
	}
	return res.Body
}

// read sends a request and decodes the response.
func read[T any](t *testing.T, s *modeltest.Server, method, path, body string) (v T) {
	t.Helper()
	testkit.NoError(t, json.NewDecoder(ask(t, s, method, path, body)).Decode(&v))
	return v
}

type chatReply struct {
	Choices []struct {
		Message struct {
			Content   string
			ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage struct {
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

// TestWholeReplies reads replies that are not streamed, as in the API references of
// the providers.
func TestWholeReplies(t *testing.T) {
	t.Parallel()
	s := modeltest.New(t, modeltest.Step{Text: step.Text, Calls: step.Calls, Usage: step.Usage, Times: 4})
	t.Run("chat completions", func(t *testing.T) {
		r := read[chatReply](t, s, "POST", "/v1/chat/completions",
			`{"model":"m","messages":[{"role":"system","content":"Be terse."},{"role":"user","content":"Hi"}]}`)
		c := r.Choices[0]
		if c.Message.Content != step.Text || c.Message.ToolCalls[0].Function.Arguments != step.Calls[0].Args ||
			c.FinishReason != "tool_calls" || r.Usage.Details.Cached != 20 {
			t.Errorf("got the reply %+v", r)
		}
		q := s.Turns()[0]
		if q.System != "Be terse." || q.Last().Text != "Hi" || q.Key() != "sk-test" || q.API != modeltest.Chat {
			t.Errorf("got the request %+v", q)
		}
	})
	t.Run("messages", func(t *testing.T) {
		r := read[struct {
			Content []struct{ ID, Text string }
			Stop    string `json:"stop_reason"`
			Usage   struct {
				In     int `json:"input_tokens"`
				Cached int `json:"cache_read_input_tokens"`
			}
		}](t, s, "POST", "/v1/messages",
			`{"model":"m","max_tokens":10,"system":[{"type":"text","text":"Be terse."}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}`)
		if r.Content[0].Text != step.Text || r.Content[1].ID != "a" || r.Stop != "tool_use" || r.Usage.In != 10 || r.Usage.Cached != 20 {
			t.Errorf("got the reply %+v", r)
		}
		if q := s.Turns()[1]; q.System != "Be terse." || q.Last().Text != "Hi" || q.API != modeltest.Messages {
			t.Errorf("got the request %+v", q)
		}
	})
	t.Run("gemini", func(t *testing.T) {
		r := read[struct {
			Candidates []struct {
				Content struct {
					Parts []struct {
						Text string
						Call struct{ Args struct{ Path string } } `json:"functionCall"`
					}
				}
			}
			Usage struct {
				Prompt int `json:"promptTokenCount"`
			} `json:"usageMetadata"`
		}](t, s, "POST", "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"user",`+
			`"parts":[{"functionResponse":{"id":"a","response":{"output":"x"}}}]}],"systemInstruction":{"parts":[{"text":"Be terse."}]},`+
			`"tools":[{"functionDeclarations":[{"name":"read"}]}]}`)
		parts := r.Candidates[0].Content.Parts
		if len(parts) != 2 || parts[0].Text != step.Text || parts[1].Call.Args.Path != "main.go" || r.Usage.Prompt != 30 {
			t.Errorf("got the reply %+v", r)
		}
		q := s.Turns()[2]
		if q.System != "Be terse." || q.Model != "m" || q.Messages[0].Text != "Hi" || q.Tools[0] != "read" ||
			q.Last().Results[0].Text != `{"output":"x"}` || q.API != modeltest.Gemini {
			t.Errorf("got the request %+v", q)
		}
	})
	t.Run("responses", func(t *testing.T) {
		r := read[struct {
			Output []struct{ Type string }
			Usage  struct {
				In int `json:"input_tokens"`
			}
			Status string
		}](t, s, "POST", "/v1/responses", `{"model":"m","input":"Hi","instructions":"Be terse."}`)
		if len(r.Output) != 2 || r.Usage.In != 30 || r.Status != "completed" {
			t.Errorf("got the reply %+v", r)
		}
		if q := s.Turns()[3]; q.System != "Be terse." || q.Last().Text != "Hi" || q.API != modeltest.Responses {
			t.Errorf("got the request %+v", q)
		}
	})
}

func TestResponsesAreStreamed(t *testing.T) {
	t.Parallel()
	s := modeltest.New(t, step, modeltest.Step{Text: "a beginning", Break: modeltest.BreakCut},
		modeltest.Step{Text: "a beginning", Break: modeltest.BreakEnd})
	read := func(t *testing.T) (text, args string, kinds []string, err error) {
		t.Helper()
		lines := bufio.NewScanner(ask(t, s, "POST", "/v1/responses", `{"model":"m","input":"Hi","stream":true}`))
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var ev struct{ Type, Delta string }
			testkit.NoError(t, json.Unmarshal([]byte(data), &ev))
			kinds = append(kinds, ev.Type)
			switch ev.Type {
			case "response.output_text.delta":
				text += ev.Delta
			case "response.function_call_arguments.delta":
				args += ev.Delta
			}
		}
		return text, args, kinds, lines.Err()
	}
	t.Run("whole", func(t *testing.T) {
		text, args, kinds, err := read(t)
		if text != step.Text || args != step.Calls[0].Args || kinds[0] != "response.created" ||
			kinds[len(kinds)-1] != "response.completed" || err != nil {
			t.Errorf("got text %q and arguments %q in %v, %v", text, args, kinds, err)
		}
	})
	t.Run("cut off", func(t *testing.T) {
		if _, _, kinds, err := read(t); err == nil || strings.Contains(strings.Join(kinds, " "), "completed") {
			t.Errorf("got %v, %v", kinds, err)
		}
	})
	t.Run("without its end", func(t *testing.T) {
		if _, _, kinds, err := read(t); err != nil || strings.Contains(strings.Join(kinds, " "), "completed") {
			t.Errorf("got %v, %v", kinds, err)
		}
	})
}

func TestSideRequestsUseUpNoStep(t *testing.T) {
	t.Parallel()
	s := modeltest.WithTools(t, modeltest.Step{Text: "the script"})
	const hi = `"model":"m","messages":[{"role":"user","content":"Hi"}]`
	if n := read[struct {
		In int `json:"input_tokens"`
	}](t, s, "POST", "/v1/messages/count_tokens", "{"+hi+"}"); n.In < 1 {
		t.Errorf("got %d tokens", n.In)
	}
	type model struct{ ID string }
	if l := read[struct{ Data []model }](t, s, "GET", "/v1/models", ""); len(l.Data) != 1 || l.Data[0].ID != "test-model" {
		t.Errorf("got models %+v", l)
	}
	if m := read[model](t, s, "GET", "/v1/models/test-model", ""); m.ID != "test-model" {
		t.Errorf("got the model %+v", m)
	}
	ask(t, s, "HEAD", "/", "")
	chat := func(tools string) string {
		return read[chatReply](t, s, "POST", "/v1/chat/completions", "{"+hi+tools+"}").Choices[0].Message.Content
	}
	if got := chat(""); got != "ok" {
		t.Errorf("a side request got %q", got)
	}
	if got := chat(`,"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]`); got != "the script" {
		t.Errorf("the program got %q", got)
	}
	if n, turns := len(s.Requests()), len(s.Turns()); n != 6 || turns != 2 {
		t.Errorf("got %d requests, %d turns", n, turns)
	}
}
