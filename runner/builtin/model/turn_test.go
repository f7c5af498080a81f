package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
)

func TestAReplyIsStreamedAndReturned(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(...modeltest.Step) (Model, *modeltest.Server)) {
		const text = "Grüße — a reply in many pieces."
		m, s := open(modeltest.Step{Text: text, Usage: modeltest.Usage{In: 100, Out: 7, Cached: 60}})
		var parts []string
		r, err := m.Turn(t.Context(), hello, func(d Delta) { parts = append(parts, d.Text) })
		testkit.NoError(t, err)
		equal(t, "text", r.Text, text)
		equal(t, "streamed text", strings.Join(parts, ""), text)
		equal(t, "stop", r.Stop, StopEnd)
		equal(t, "usage", r.Usage, Usage{In: 100, Out: 7, Cached: 60})
		if len(parts) < 3 {
			t.Errorf("it was streamed in %d parts", len(parts))
		}
		q := s.Turns()[0]
		equal(t, "key", q.Key(), "sk-secret")
		equal(t, "model", q.Model, "test-model")
		equal(t, "streamed", q.Stream, true)
	})
}

func TestAConversationWithToolsIsSentBackUnchanged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(...modeltest.Step) (Model, *modeltest.Server)) {
		m, s := open(
			modeltest.Step{Text: "I look.", Calls: []modeltest.Call{{ID: "a", Name: "read", Args: `{"path":"main.go"}`}, {ID: "b", Name: "list"}}},
			modeltest.Step{Text: "Done."},
		)
		req := hello
		req.System = "You are terse."
		req.Tools = []Tool{{
			Name: "read", Description: "Read a file",
			Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`),
		}}
		r, _ := turn(t, m, req)
		equal(t, "calls", asJSON(t, r.Calls), `[{"ID":"a","Name":"read","Args":{"path":"main.go"}},{"ID":"b","Name":"list","Args":{}}]`)
		req.Messages = append(req.Messages, r.Message(), Message{
			Role: User, Text: "Continue.", Results: []Result{
				{CallID: "a", Text: "package main"},
				{CallID: "b", Text: "no such folder", IsError: true},
			},
		})
		req.NoCalls, req.MaxTokens = true, 77
		turn(t, m, req)
		q := s.Turns()[1]
		equal(t, "system prompt", q.System, "You are terse.")
		equal(t, "tools", strings.Join(q.Tools, " "), "read")
		equal(t, "calls forbidden", q.NoCalls, true)
		for _, part := range []string{`"required":["path"]`, `"additionalProperties":false`, `"max_tokens":77`} {
			if !strings.Contains(string(q.Body), part) {
				t.Errorf("%s is not in the request %s", part, q.Body)
			}
		}
		var results []modeltest.Result
		text := ""
		for _, x := range q.Messages {
			results = append(results, x.Results...)
			text += x.Role + ":" + x.Text + ";"
		}
		if !strings.Contains(text, "assistant:I look.") || !strings.HasSuffix(text, "Continue.;") {
			t.Errorf("got the texts %q", text)
		}
		if len(results) != 2 || results[0].Text != "package main" || !strings.HasSuffix(results[1].Text, "no such folder") {
			t.Errorf("got the results %+v", results)
		}
	})
}

func TestInvalidArgumentsDoNotBreakTheConversation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(...modeltest.Step) (Model, *modeltest.Server)) {
		m, s := open(modeltest.Step{Calls: []modeltest.Call{{ID: "a", Name: "read", Args: `{"path": "unfin`}}}, modeltest.Step{Text: "Sorry."})
		r, _ := turn(t, m, hello)
		equal(t, "arguments", string(r.Calls[0].Args), `{"path": "unfin`)
		req := hello
		req.Messages = append(req.Messages, r.Message(), Message{Role: User, Results: []Result{{CallID: "a", Text: "no JSON", IsError: true}}})
		turn(t, m, req)
		for _, x := range s.Turns()[1].Messages {
			for _, c := range x.Calls {
				if !json.Valid([]byte(c.Args)) {
					t.Errorf("the arguments were sent back as %q", c.Args)
				}
			}
		}
	})
}

// A reply that is cut at its length limit after the name of a tool has no arguments
// yet: it is not a call without arguments, which would complete a task.
func TestACallThatWasCutBeforeItsArgumentsIsNotMade(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(...modeltest.Step) (Model, *modeltest.Server)) {
		m, _ := open(modeltest.Step{Stop: "length", Calls: []modeltest.Call{
			{ID: "a", Name: "list", Args: " "},
			{ID: "b", Name: "complete_task", Args: " "},
		}})
		r, _ := turn(t, m, hello)
		equal(t, "arguments of the call before", string(r.Calls[0].Args), "{}")
		equal(t, "arguments of the call that was cut", string(r.Calls[1].Args), "")
	})
}

// Providers refuse a whole conversation because of a name that no tool can have.
func TestInvalidToolNamesDoNotBreakTheConversation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(...modeltest.Step) (Model, *modeltest.Server)) {
		for _, name := range []string{"", "functions.read", "read<|channel|>json", "lesen und prüfen", strings.Repeat("read", 100)} {
			m, s := open(modeltest.Step{Text: "Sorry."})
			req := hello
			req.Messages = append(req.Messages, Message{Role: Assistant, Calls: []Call{{ID: "a", Name: name, Args: json.RawMessage("{}")}}},
				Message{Role: User, Results: []Result{{CallID: "a", Text: "there is no such tool", IsError: true}}})
			turn(t, m, req)
			for _, x := range s.Turns()[0].Messages {
				for _, c := range x.Calls {
					if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(c.Name) {
						t.Errorf("the name %q was sent back as %q", name, c.Name)
					}
				}
			}
		}
	})
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(...modeltest.Step) (Model, *modeltest.Server)) {
		m, _ := open(modeltest.Step{Text: "half a sen", Stop: "length"}, modeltest.Step{Stop: "refusal"}, modeltest.Step{})
		r, _ := turn(t, m, hello)
		equal(t, "stop of a cut reply", r.Stop, StopLength)
		r, _ = turn(t, m, hello)
		equal(t, "stop of a refusal", r.Stop, StopRefusal)
		r, _ = turn(t, m, hello)
		equal(t, "an empty reply", r.Text+string(r.Stop), "end")
	})
}

// Each server has its own name for the reasoning of a model. Reasoning is progress,
// and some servers require reasoning_content to be sent back.
func TestReasoningIsReadUnderEachName(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]bool{"reasoning": false, "reasoning_content": true, `x":"","reasoning":"so","reasoning_content`: true} {
		chunk := `data: {"choices":[{"index":0,"delta":{"content":"","` + name + `":"so"}}]}` + "\n\n"
		call := `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]},` +
			`"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
		m := apis["openai"](t, modeltest.New(t, modeltest.Step{Raw: chunk + chunk + chunk + call}))
		thoughts := 0
		r, err := m.Turn(t.Context(), hello, func(d Delta) {
			if d.Thought {
				thoughts++
			}
		})
		if err != nil || thoughts != 3 {
			t.Errorf("%s: got %d thoughts, %v", name, thoughts, err)
		}
		equal(t, name+" is sent back", chatMessages(r.Message())[0].Reasoning == "sososo", back)
	}
}

func TestMissingUsageIsEstimated(t *testing.T) {
	t.Parallel()
	s := modeltest.New(t, modeltest.Step{Text: "12345678", NoUsage: true})
	r, _ := turn(t, apis["openai"](t, s), hello)
	equal(t, "usage", r.Usage, Usage{In: 2, Out: 3, Estimated: true})
}

func TestErrorsHaveAKind(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		step modeltest.Step
		want Kind
		temp bool
	}{
		{"a refused key", modeltest.Step{Status: 401}, KindAuth, false},
		{"a key without permission", modeltest.Step{Status: 403, Kind: "permission_error"}, KindAuth, false},
		{"too many requests", modeltest.Step{Status: 429, After: "7"}, KindRate, true},
		{
			"too many tokens at a time, in the words of Bedrock",
			modeltest.Step{Status: 429, Kind: "throttling_error", Message: "Too many tokens, please wait before trying again."},
			KindRate, true,
		},
		{"an empty account", modeltest.Step{Status: 429, Kind: "insufficient_quota"}, KindQuota, false},
		{"an overloaded provider", modeltest.Step{Status: 529}, KindOverload, true},
		{"an unavailable provider", modeltest.Step{Status: 503}, KindOverload, true},
		{"a provider that failed", modeltest.Step{Status: 500}, KindServer, true},
		{"a conflict", modeltest.Step{Status: 409}, KindServer, true},
		{"a request that took too long", modeltest.Step{Status: 408}, KindServer, true},
		{"an unknown model", modeltest.Step{Status: 404, Kind: "not_found_error", Message: "no such model"}, KindRequest, false},
		{"a long conversation, by its code", modeltest.Step{Status: 400, Kind: "context_length_exceeded"}, KindContext, false},
		{
			"a long conversation, in words",
			modeltest.Step{Status: 400, Message: "prompt is too long: 210000 tokens > 200000 maximum"},
			KindContext, false,
		},
		{"a request that is too large", modeltest.Step{Status: 413}, KindContext, false},
		{"a connection that is cut", modeltest.Step{Text: "a beginning", Break: modeltest.BreakCut}, KindConnection, true},
		{"a stream without its end", modeltest.Step{Text: "a beginning", Break: modeltest.BreakEnd}, KindConnection, true},
		{"an error within the stream", modeltest.Step{Text: "a beginning", Break: modeltest.BreakError}, KindOverload, true},
		{"a stream that is not JSON", modeltest.Step{Raw: "event: message_start\ndata: {nonsense\n\n"}, KindProtocol, false},
		{"an endless reply", modeltest.Step{Flood: MaxReply + 1}, KindProtocol, false},
		{"an endless line", modeltest.Step{Raw: "event: x\ndata: " + strings.Repeat("x", maxEvent+1)}, KindProtocol, false},
		{
			"endless lines that are not events",
			modeltest.Step{Raw: strings.Repeat(strings.Repeat("x", 1000)+"\n\n", 100)},
			KindProtocol, false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, open func(...modeltest.Step) (Model, *modeltest.Server)) {
				m, s := open(tt.step)
				e := fails(t, m, hello, tt.want)
				equal(t, "temporary", e.Temporary(), tt.temp)
				equal(t, "requests", len(s.Turns()), 1)
				if strings.Contains(e.Error(), "sk-secret") {
					t.Errorf("the error reveals the key: %v", e)
				}
				if tt.step.After != "" && e.After.Seconds() != 7 {
					t.Errorf("got a retry after %v", e.After)
				}
			})
		})
	}
}

// Providers charge for what they read and wrote for a reply that broke off.
func TestRepliesThatBrokeOffHaveAUsage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(...modeltest.Step) (Model, *modeltest.Server)) {
		said := strings.Repeat("word ", 100)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, how := range []modeltest.Break{modeltest.BreakCut, modeltest.BreakEnd, modeltest.BreakError, "canceled"} {
			m, _ := open(modeltest.Step{Text: said, Break: how, Usage: modeltest.Usage{In: 3, Out: 5}})
			r, err := m.Turn(ctx, hello, func(d Delta) {
				if how == "canceled" {
					cancel()
				}
			})
			if u := r.Usage; err == nil || u.In < 2 || u.In > 3 || u.Out < 2 || u.Out > 127 || !u.Estimated {
				t.Errorf("%s: got usage %+v, error %v", how, u, err)
			}
		}
		m, _ := open(modeltest.Step{Status: 529})
		r, _ := m.Turn(t.Context(), hello, func(Delta) {})
		equal(t, "usage of a reply that did not begin", r.Usage, Usage{})
	})
}

func TestServersWithoutTheAPI(t *testing.T) {
	t.Parallel()
	for name, newModel := range apis {
		t.Run(name, func(t *testing.T) {
			reach := func(h http.HandlerFunc) Model {
				srv := httptest.NewServer(h)
				t.Cleanup(srv.Close)
				return newModel(t, &modeltest.Server{URL: srv.URL})
			}
			t.Run("there is no listener", func(t *testing.T) {
				srv := httptest.NewServer(http.NotFoundHandler())
				srv.Close()
				fails(t, newModel(t, &modeltest.Server{URL: srv.URL}), hello, KindConnection)
			})
			t.Run("a redirect does not get the key", func(t *testing.T) {
				other := modeltest.New(t, modeltest.Step{Text: "here"})
				m := reach(func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
				})
				e := fails(t, m, hello, KindProtocol)
				equal(t, "requests to the other", len(other.Requests()), 0)
				if !strings.Contains(e.Message, "base_url") {
					t.Errorf("got the message %q", e.Message)
				}
			})
			t.Run("a web page is not a stream", func(t *testing.T) {
				m := reach(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(`{"choices":[]}`))
				})
				fails(t, m, hello, KindProtocol)
			})
		})
	}
}

func TestATurnEndsWithItsContext(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(...modeltest.Step) (Model, *modeltest.Server)) {
		stop := errors.New("somebody stopped it")
		t.Run("before the reply begins", func(t *testing.T) {
			m, _ := open(modeltest.Step{Wait: make(chan struct{})})
			ctx, cancel := context.WithCancelCause(t.Context())
			go cancel(stop)
			if _, err := m.Turn(ctx, hello, func(Delta) {}); !errors.Is(err, stop) {
				t.Errorf("got error %v", err)
			}
		})
		t.Run("during the reply", func(t *testing.T) {
			m, _ := open(modeltest.Step{Flood: MaxReply})
			ctx, cancel := context.WithCancelCause(t.Context())
			if _, err := m.Turn(ctx, hello, func(Delta) { cancel(stop) }); !errors.Is(err, stop) {
				t.Errorf("got error %v", err)
			}
		})
	})
}

// Mistral's reasoning models answer with lists of parts.
func TestATextMayComeInParts(t *testing.T) {
	t.Parallel()
	chunk := func(delta, more string) string {
		return `data: {"choices":[{"index":0,"delta":{` + delta + `}` + more + `}]}` + "\n\n"
	}
	m := apis["openai"](t, modeltest.New(t, modeltest.Step{
		Raw: chunk(`"role":"assistant","content":null`, "") +
			chunk(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm. "}]}]`, "") +
			chunk(`"content":[{"type":"text","text":"All "},{"type":"reference","reference_ids":[1]},{"type":"text","text":"is "}]`, "") +
			chunk(`"content":"well."`, `,"finish_reason":"stop"`) + "data: [DONE]\n\n",
	}))
	thought := false
	r, err := m.Turn(t.Context(), hello, func(d Delta) { thought = thought || d.Thought })
	testkit.NoError(t, err)
	equal(t, "text", r.Text, "All is well.")
	equal(t, "thinking is progress", thought, true)
}
