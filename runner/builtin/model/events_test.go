package model

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"taskyard/runner/builtin/model/modeltest"
)

func TestEventsAreReadFromAStream(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		want       []string
		err        error
	}{
		{
			"names, IDs and comments are skipped", "event: a\nid: 1\nretry: 5\n: comment\ndata: one\n\ndata: two\n\n",
			[]string{"one", "two"},
			io.EOF,
		},
		{"without the space after the colon", "data:one\n\n", []string{"one"}, io.EOF},
		{"lines that end in CR LF", "data: one\r\n\r\ndata: two\r\n\r\n", []string{"one", "two"}, io.EOF},
		{"data on two lines", "data: one\ndata: two\n\n", []string{"one\ntwo"}, io.EOF},
		{"blank lines between", "\n\n\ndata: one\n\n\n\n", []string{"one"}, io.EOF},
		{"the last event without its end", "data: one\n\ndata: two", []string{"one", "two"}, io.EOF},
		{"an empty body", "", nil, io.EOF},
		{"a line longer than the buffer", "data: " + strings.Repeat("x", 40<<10) + "\n\n", []string{strings.Repeat("x", 40<<10)}, io.EOF},
		{"an endless line", "data: " + strings.Repeat("x", maxEvent+1), nil, errTooLong},
		{"an endless comment", ":" + strings.Repeat("x", maxEvent+1), nil, errTooLong},
		{"an endless event", strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 5), nil, errTooLong},
		{"endless lines that are not fields", strings.Repeat("nonsense\n", 10_000), nil, errTooLong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bodies := map[string]io.Reader{"at once": strings.NewReader(tt.body)}
			if len(tt.body) < 1<<20 {
				bodies["byte by byte"] = iotest.OneByteReader(strings.NewReader(tt.body))
			}
			for how, body := range bodies {
				in := newEvents(body)
				var got []string
				data, err := in.next()
				for ; err == nil; data, err = in.next() {
					got = append(got, string(data))
				}
				if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) {
					t.Errorf("%s: got %d events %.100q, %v", how, len(got), got, err)
				}
			}
		})
	}
}

func TestUnknownEventsAreSkipped(t *testing.T) {
	t.Parallel()
	streams := map[string]string{
		"openai": `data: {"choices":[],"x_new":{"a":1}}` + "\n\n" +
			`data: {"choices":[{"index":1,"delta":{"content":"other"}},{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}` + "\n\n" +
			"data: [DONE]\n\ndata: never read\n\n",
		"anthropic": "event: new_event\ndata: {\"type\":\"new_event\",\"x\":[1]}\n\n" +
			`data: {"type":"content_block_start","index":0,"content_block":{"type":"new_block"}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"new_delta","text":"other"}}` + "\n\n" +
			`data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Done."}}` + "\n\n" +
			`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}` + "\n\n" +
			`data: {"type":"message_stop"}` + "\n\n",
	}
	for api, raw := range streams {
		t.Run(api, func(t *testing.T) {
			r, said := turn(t, apis[api](t, modeltest.New(t, modeltest.Step{Raw: raw})), hello)
			equal(t, "text", r.Text+"|"+said, "Done.|Done.")
		})
	}
}

func TestErrorBodiesOfProviders(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		want   string // "" for none
		kind   Kind
	}{
		{"a type and a message", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"No."}}`, "No.", KindRequest},
		{"a code that is a name", 429, `{"error":{"message":"No.","type":"x","code":"insufficient_quota"}}`, "No.", KindQuota},
		{"a code that is a status, in a stream", 0, `{"error":{"message":"No.","code":429}}`, "No.", KindRate},
		{"a message alone", 500, `{"error":"No."}`, "No.", KindServer},
		{"an object of its own", 500, `{"error":{"why":1}}`, `{"why":1}`, KindServer},
		{"a success status is ignored", 200, `{"error":{"message":"No."}}`, "No.", KindServer},
		{"null is not an error", 0, `{"error":null}`, "", ""},
		{"a text that contains the word is not an error", 0, `{"text":"\"error\""}`, "", ""},
		{"what is not JSON is not an error", 0, `"error" {`, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := providerError(tt.status, []byte(tt.body))
			if e == nil {
				equal(t, "error", "", tt.want)
				return
			}
			equal(t, "message", e.Message, tt.want)
			equal(t, "kind", e.Kind, tt.kind)
		})
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("data: {}\n\n: c\r\n\nevent: x\ndata: y")
	f.Fuzz(func(t *testing.T, body string) {
		in := newEvents(strings.NewReader(body))
		total := 0
		for {
			data, err := in.next()
			if err != nil {
				break
			}
			if total += len(data); len(data) == 0 || total > len(body) {
				t.Fatalf("%q: got %q", body, data)
			}
		}
	})
}
