package modeltest

import "fmt"

func responseUsage(u Usage) object {
	return object{
		"input_tokens": u.In, "input_tokens_details": object{"cached_tokens": u.Cached},
		"output_tokens": u.Out, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": u.In + u.Out,
	}
}

// response returns the envelope of a reply in the given status.
func response(r reply, status string, output []object) object {
	o := object{
		"id": "resp_" + r.id, "object": "response", "created_at": now(), "status": status, "model": r.model, "output": output,
		"error": nil, "incomplete_details": nil, "usage": nil, "parallel_tool_calls": true, "tool_choice": "auto", "tools": []object{},
	}
	if status != "in_progress" && !r.NoUsage {
		o["usage"] = responseUsage(r.usage)
	}
	switch {
	case status == "incomplete" && r.Stop == "length":
		o["incomplete_details"] = object{"reason": "max_output_tokens"}
	case status == "incomplete":
		o["incomplete_details"] = object{"reason": "content_filter"}
	}
	return o
}

func responseStatus(r reply) string {
	if r.Stop != "" {
		return "incomplete"
	}
	return "completed"
}

func messageItem(r reply, text, status string) object {
	content := []object{}
	if status == "completed" {
		content = append(content, textPart(text))
	}
	return object{"id": "msg_" + r.id, "type": "message", "role": "assistant", "status": status, "content": content}
}

func textPart(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}}
}

func callItem(r reply, i int, args, status string) object {
	item := object{
		"id": fmt.Sprintf("fc_%s_%d", r.id, i), "type": "function_call", "call_id": r.Calls[i].ID, "name": r.Calls[i].Name,
		"arguments": args, "status": status,
	}
	if space := r.Calls[i].Namespace; space != "" {
		item["namespace"] = space
	}
	return item
}

func wholeResponse(r reply) object {
	return response(r, responseStatus(r), outputItems(r, r.fullText()))
}

func outputItems(r reply, text string) []object {
	output := []object{}
	if text != "" {
		output = append(output, messageItem(r, text, "completed"))
	}
	for i, c := range r.Calls {
		output = append(output, callItem(r, i, c.Args, "completed"))
	}
	return output
}

func streamResponse(r reply, out *sse) {
	number, index := 0, 0
	send := func(name string, o object) {
		o["type"], o["sequence_number"] = name, number
		number++
		out.event(name, o)
	}
	send("response.created", object{"response": response(r, "in_progress", []object{})})
	send("response.in_progress", object{"response": response(r, "in_progress", []object{})})
	text := ""
	if r.Text != "" || r.Flood > 0 {
		at := func(o object) object {
			o["item_id"], o["output_index"], o["content_index"] = "msg_"+r.id, 0, 0
			return o
		}
		send("response.output_item.added", object{"output_index": 0, "item": messageItem(r, "", "in_progress")})
		send("response.content_part.added", at(object{"part": textPart("")}))
		for p := range r.pieces {
			if send("response.output_text.delta", at(object{"delta": p})); out.disconnected() {
				return
			}
		}
		text = r.fullText()
		if r.Break == "" {
			send("response.output_text.done", at(object{"text": text}))
			send("response.content_part.done", at(object{"part": textPart(text)}))
			send("response.output_item.done", object{"output_index": 0, "item": messageItem(r, text, "completed")})
		}
		index++
	}
	if r.writeHalf(func() {
		o := response(r, "failed", []object{})
		o["error"] = object{"code": "server_is_overloaded", "message": "Overloaded"}
		send("response.failed", object{"response": o})
	}) {
		return
	}
	for i, c := range r.Calls {
		item := object{"item_id": fmt.Sprintf("fc_%s_%d", r.id, i), "output_index": index}
		with := func(key, value string) object {
			return object{"item_id": item["item_id"], "output_index": index, key: value}
		}
		send("response.output_item.added", object{"output_index": index, "item": callItem(r, i, "", "in_progress")})
		for _, p := range cut(c.Args) {
			send("response.function_call_arguments.delta", with("delta", p))
		}
		send("response.function_call_arguments.done", with("arguments", c.Args))
		send("response.output_item.done", object{"output_index": index, "item": callItem(r, i, c.Args, "completed")})
		index++
	}
	send("response."+responseStatus(r), object{"response": response(r, responseStatus(r), outputItems(r, text))})
}
