package model

import (
	"encoding/json"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
)

// TestRequestsOnTheWire compares the body of a complete request with testdata. The
// files were made with the client libraries of the providers.
func TestRequestsOnTheWire(t *testing.T) {
	t.Parallel()
	for api, open := range apis {
		t.Run(api, func(t *testing.T) {
			s := modeltest.New(t, modeltest.Step{Text: "Done."})
			turn(t, open(t, s), everything)
			var body any
			testkit.NoError(t, json.Unmarshal(s.Turns()[0].Body, &body))
			got, err := json.MarshalIndent(body, "", "  ")
			testkit.NoError(t, err)
			testkit.Golden(t, api+"_request.json", string(got)+"\n")
		})
	}
}

// everything is a request with every part that a request can have.
var everything = Request{
	Model: "test-model", System: "You are terse.", NoCalls: true, MaxTokens: 77,
	Tools: []Tool{
		{
			Name: "read", Description: "Read a file",
			Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`),
		},
		{Name: "now", Description: "Tell the time", Schema: json.RawMessage(`{"type":"object"}`)},
	},
	Messages: []Message{
		{Role: User, Text: "Hello <b>&</b>"},
		{
			Role: Assistant, Text: "I look.", Calls: []Call{
				{ID: "a", Name: "read", Args: json.RawMessage(`{"path":"main.go"}`)},
				{ID: "b", Name: "now"},
			},
			thoughts: []thought{{text: "hm", signature: "sig"}, {signature: "without text"}, {hidden: "opaque"}},
		},
		{Role: User, Results: []Result{{CallID: "a", Text: "package main"}, {CallID: "b", IsError: true}}},
		{Role: Assistant, Calls: []Call{{ID: "c", Name: "read", Args: json.RawMessage(`{"path": "unfin`)}}},
		{Role: User, Text: "Continue.", Results: []Result{{CallID: "c", Text: "no JSON", IsError: true}}},
	},
}
