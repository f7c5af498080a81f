package modeltest

import (
	"encoding/json"
	"strings"
)

// geminiUsage counts as Google does: promptTokenCount includes cached tokens.
func geminiUsage(u Usage) object {
	return object{
		"promptTokenCount": u.In, "candidatesTokenCount": u.Out, "totalTokenCount": u.In + u.Out, "cachedContentTokenCount": u.Cached,
	}
}

func geminiStop(r reply) string {
	switch r.Stop {
	case "length":
		return "MAX_TOKENS"
	case "refusal":
		return "SAFETY"
	}
	return "STOP"
}

// candidate returns a reply, or a part of a streamed one. The last part has the
// finish reason and the usage.
func candidate(r reply, parts []object, last bool) object {
	c := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	o := object{"candidates": []object{c}, "modelVersion": r.model, "responseId": r.id}
	if last {
		c["finishReason"] = geminiStop(r)
		if !r.NoUsage {
			o["usageMetadata"] = geminiUsage(r.usage)
		}
	}
	return o
}

func geminiCalls(r reply) []object {
	parts := []object{}
	for _, c := range r.Calls {
		parts = append(parts, object{"functionCall": object{"id": c.ID, "name": c.Name, "args": json.RawMessage(c.Args)}})
	}
	return parts
}

func wholeGemini(r reply) object {
	parts := geminiCalls(r)
	if text := r.fullText(); text != "" {
		parts = append([]object{{"text": text}}, parts...)
	}
	return candidate(r, parts, true)
}

func streamGemini(r reply, out *sse) {
	for p := range r.pieces {
		if out.event("", candidate(r, []object{{"text": p}}, false)); out.disconnected() {
			return
		}
	}
	if r.writeHalf(func() {
		out.event("", object{"error": object{"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}})
	}) {
		return
	}
	out.event("", candidate(r, geminiCalls(r), true))
}

// geminiAt parses the model, and whether its reply is streamed, from the path
// of a request, such as /v1beta/models/test-model:streamGenerateContent.
func geminiAt(path string) (model string, stream, ok bool) {
	model, method, found := strings.Cut(strings.TrimPrefix(path, "/v1beta/models/"), ":")
	stream = method == "streamGenerateContent"
	return model, stream, found && strings.HasPrefix(path, "/v1beta/models/") && (stream || method == "generateContent")
}

// readGemini reads a request in the format of Google.
func readGemini(r *Request) {
	type content struct {
		Role  string
		Parts []struct {
			Text string
			Call *struct {
				ID, Name string
				Args     json.RawMessage
			} `json:"functionCall"`
			Response *struct {
				ID       string
				Response json.RawMessage
			} `json:"functionResponse"`
		}
	}
	var in struct {
		Contents          []content
		SystemInstruction content
		Tools             []struct {
			FunctionDeclarations []struct{ Name string }
		}
	}
	if json.Unmarshal(r.Body, &in) != nil {
		return // the test sees the problem in Body
	}
	for _, p := range in.SystemInstruction.Parts {
		r.System += p.Text
	}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			r.Tools = append(r.Tools, f.Name)
		}
	}
	for _, c := range in.Contents {
		m := Message{Role: c.Role}
		for _, p := range c.Parts {
			switch {
			case p.Call != nil:
				m.Calls = append(m.Calls, Call{ID: p.Call.ID, Name: p.Call.Name, Args: string(p.Call.Args)})
			case p.Response != nil:
				m.Results = append(m.Results, Result{ID: p.Response.ID, Text: string(p.Response.Response)})
			default:
				m.Text += p.Text
			}
		}
		r.Messages = append(r.Messages, m)
	}
}
