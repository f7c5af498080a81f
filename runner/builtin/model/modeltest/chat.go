package modeltest

func chatUsage(u Usage) object {
	return object{
		"prompt_tokens": u.In, "completion_tokens": u.Out, "total_tokens": u.In + u.Out,
		"prompt_tokens_details": object{"cached_tokens": u.Cached},
	}
}

func chatStop(r reply) string {
	switch {
	case r.Stop == "refusal":
		return "content_filter"
	case r.Stop != "":
		return r.Stop
	case len(r.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func wholeChat(r reply) object {
	message := object{"role": "assistant", "content": r.fullText()}
	var calls []object
	for _, c := range r.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Args}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	o := object{
		"id": "chatcmpl-" + r.id, "object": "chat.completion", "created": now(), "model": r.model,
		"choices": []object{{"index": 0, "message": message, "finish_reason": chatStop(r)}},
	}
	if !r.NoUsage {
		o["usage"] = chatUsage(r.usage)
	}
	return o
}

func streamChat(r reply, out *sse) {
	chunk := func(delta object, finish any) {
		out.event("", object{
			"id": "chatcmpl-" + r.id, "object": "chat.completion.chunk", "created": now(), "model": r.model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	out.raw(": keep-alive\n\n") // some servers send comments
	for p := range r.pieces {
		if chunk(object{"content": p}, nil); out.disconnected() {
			return
		}
	}
	if r.writeHalf(func() {
		out.event("", object{"error": object{"message": "Overloaded", "type": "overloaded_error", "code": 503}})
	}) {
		return
	}
	for i, c := range r.Calls {
		call := func(o object) { chunk(object{"tool_calls": []object{o}}, nil) }
		call(object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}})
		for _, p := range cut(c.Args) {
			call(object{"index": i, "function": object{"arguments": p}})
		}
	}
	chunk(object{}, chatStop(r))
	if !r.NoUsage {
		out.event("", object{
			"id": "chatcmpl-" + r.id, "object": "chat.completion.chunk", "created": now(), "model": r.model,
			"choices": []object{}, "usage": chatUsage(r.usage),
		})
	}
	out.event("", "[DONE]")
}
