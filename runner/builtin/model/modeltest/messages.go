package modeltest

import "encoding/json"

func messageUsage(u Usage) object {
	return object{
		"input_tokens": u.In - u.Cached, "cache_creation_input_tokens": 0,
		"cache_read_input_tokens": u.Cached, "output_tokens": u.Out,
	}
}

func messageStop(r reply) string {
	switch {
	case r.Stop == "length":
		return "max_tokens"
	case r.Stop != "":
		return r.Stop
	case len(r.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func wholeMessage(r reply) object {
	content := []object{}
	if text := r.fullText(); text != "" {
		content = append(content, object{"type": "text", "text": text})
	}
	for _, c := range r.Calls {
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Args)})
	}
	return object{
		"id": "msg_" + r.id, "type": "message", "role": "assistant", "model": r.model, "content": content,
		"stop_reason": messageStop(r), "stop_sequence": nil, "usage": messageUsage(r.usage),
	}
}

func streamMessage(r reply, out *sse) {
	start := r.usage
	start.Out = 1
	out.event("message_start", object{"type": "message_start", "message": object{
		"id": "msg_" + r.id, "type": "message", "role": "assistant", "model": r.model, "content": []object{},
		"stop_reason": nil, "stop_sequence": nil, "usage": messageUsage(start),
	}})
	out.event("ping", object{"type": "ping"})
	index := 0
	block := func(b object, deltas func(func(object))) {
		out.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": b})
		deltas(func(d object) {
			out.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": d})
		})
		out.event("content_block_stop", object{"type": "content_block_stop", "index": index})
		index++
	}
	if r.Text != "" || r.Flood > 0 {
		block(object{"type": "text", "text": ""}, func(delta func(object)) {
			for p := range r.pieces {
				if delta(object{"type": "text_delta", "text": p}); out.disconnected() {
					return
				}
			}
		})
	}
	if r.writeHalf(func() {
		out.event("error", object{"type": "error", "error": object{"type": "overloaded_error", "message": "Overloaded"}})
	}) {
		return
	}
	for _, c := range r.Calls {
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, func(delta func(object)) {
			delta(object{"type": "input_json_delta", "partial_json": ""})
			for _, p := range cut(c.Args) {
				delta(object{"type": "input_json_delta", "partial_json": p})
			}
		})
	}
	out.event("message_delta", object{
		"type":  "message_delta",
		"delta": object{"stop_reason": messageStop(r), "stop_sequence": nil}, "usage": messageUsage(r.usage),
	})
	out.event("message_stop", object{"type": "message_stop"})
}
