package acp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"taskyard/runner/supervise"
	"taskyard/task"
)

const (
	maxChunks = 8 << 10 // bytes of text buffered until the end of their line
	maxCalls  = 10_000  // calls whose names are remembered per run
	maxName   = 200     // characters remembered of a name or ID
	maxBegun  = 20      // calls that have begun but are not reported yet
	maxTitle  = 2 << 10 // characters of a call's title, which may be its command
)

// texts joins the chunks of a text, which can be as small as a word.
type texts struct {
	typ          string // type of the resulting event
	red          *task.Redactor
	buf          strings.Builder
	message      supervise.Tail // the current message, or else the last one: the text after the last tool call
	messageEnded bool           // the next chunk begins a new message
}

// tool is a tool call. Agents describe it in several updates, but the
// transcript has one entry: with the title and input at the time of the call,
// because the first update often has neither.
type tool struct {
	id       acp.ToolCallId
	title    string
	kind     acp.ToolKind
	input    any
	reported bool // it is in the transcript
	ended    bool
}

// update handles one session/update.
func (conn *connection) update(params json.RawMessage, line []byte) {
	var n acp.SessionNotification
	if json.Unmarshal(params, &n) != nil {
		conn.Event(supervise.EventLog, "An update cannot be read.", nil, line)
		return
	}
	switch u := n.Update; {
	case u.AgentMessageChunk != nil:
		conn.chunk(supervise.EventText, u.AgentMessageChunk.Content)
		conn.turnUsage(u.AgentMessageChunk.Meta, line)
	case u.AgentThoughtChunk != nil:
		conn.chunk(supervise.EventLog, u.AgentThoughtChunk.Content)
	case u.ToolCall != nil:
		c := u.ToolCall
		conn.call(c.ToolCallId, &c.Title, &c.Kind, &c.Status, c.RawInput, c.RawOutput, c.Content, line)
	case u.ToolCallUpdate != nil:
		c := u.ToolCallUpdate
		conn.call(c.ToolCallId, c.Title, c.Kind, c.Status, c.RawInput, c.RawOutput, c.Content, line)
	case u.UsageUpdate != nil:
		conn.cost(u.UsageUpdate.Cost, line)
	}
}

// chunk appends to the current text.
func (conn *connection) chunk(typ string, c acp.ContentBlock) {
	if c.Text == nil {
		return
	}
	if conn.texts.typ != typ {
		conn.flush(false)
	}
	if conn.texts.red == nil {
		conn.texts.red = conn.Redactor()
	}
	conn.texts.typ = typ
	conn.appendText(conn.texts.red.Write([]byte(task.CleanText(c.Text.Text))))
	if conn.texts.buf.Len() > maxChunks {
		conn.flush(true)
	}
}

// appendText appends text to the current message. It redacts the text, because a
// secret may be split across chunks.
func (conn *connection) appendText(text []byte) {
	conn.texts.buf.Write(text)
	if conn.texts.typ != supervise.EventText || len(text) == 0 {
		return
	}
	if conn.texts.messageEnded {
		conn.texts.message.Reset()
		conn.texts.messageEnded = false
	}
	conn.texts.message.Limit = 4 * task.MaxSummaryRun
	conn.texts.message.Add(string(text))
}

// flush reports the buffered text; more means that it may continue.
func (conn *connection) flush(more bool) {
	if !more && conn.texts.red != nil {
		conn.appendText(conn.texts.red.Close())
	}
	text := conn.texts.buf.String()
	if text == "" {
		return
	}
	conn.texts.buf.Reset()
	partial := more && !strings.HasSuffix(text, "\n")
	text = strings.TrimSuffix(text, "\n")
	for text != "" {
		piece := task.CutText(text, supervise.MaxEvent/2)
		text = text[len(piece):]
		var data any
		if partial || text != "" {
			data = map[string]any{"partial": true}
		}
		if conn.texts.typ == supervise.EventLog {
			data = map[string]any{"reasoning": true}
		}
		conn.Event(conn.texts.typ, piece, data, []byte(piece))
	}
}

// call handles an update of a tool call. It reports the call and its result
// once each.
func (conn *connection) call(id acp.ToolCallId, title *string, kind *acp.ToolKind, status *acp.ToolCallStatus,
	in, out any, content []acp.ToolCallContent, line []byte,
) {
	conn.flush(false)
	conn.texts.messageEnded = true
	c := conn.ensureTool(id)
	c.learn(title, kind, in)
	if status == nil || *status == acp.ToolCallStatusPending {
		return
	}
	conn.reportCall(c, line)
	if c.ended || *status != acp.ToolCallStatusCompleted && *status != acp.ToolCallStatusFailed {
		return
	}
	c.ended = true
	text := contentText(content)
	if text == "" && out != nil {
		if b, err := json.Marshal(out); err == nil {
			text = string(b)
		}
	}
	conn.Event(supervise.EventToolResult, text, map[string]any{"id": id, "status": *status}, line)
}

// ensureTool returns a call by ID and adds it if it is new.
func (conn *connection) ensureTool(id acp.ToolCallId) *tool {
	key := acp.ToolCallId(task.ClipChars(string(id), maxName))
	c := conn.tools[key]
	if c == nil {
		if len(conn.tools) >= maxCalls {
			clear(conn.tools)
		}
		if len(conn.calls) >= maxBegun {
			conn.reportCall(conn.calls[0], nil)
		}
		c = &tool{id: key}
		conn.tools[key] = c
		conn.calls = append(conn.calls, c)
	}
	return c
}

// learn merges an update into a call; nil and empty values change nothing.
func (c *tool) learn(title *string, kind *acp.ToolKind, input any) {
	if title != nil && *title != "" {
		c.title = task.ClipChars(*title, maxTitle)
	}
	if kind != nil {
		c.kind = acp.ToolKind(task.ClipChars(string(*kind), maxName))
	}
	if m, ok := input.(map[string]any); input != nil && (!ok || len(m) > 0) && !c.reported {
		c.input = input
	}
}

// reportCall reports a call, after those that began before it.
func (conn *connection) reportCall(c *tool, line []byte) {
	if c.reported {
		return
	}
	for i, other := range conn.calls {
		other.reported = true
		conn.Event(supervise.EventToolCall, other.title, map[string]any{"id": other.id, "kind": other.kind, "input": other.input}, line)
		other.input = nil
		if other == c {
			conn.calls = slices.Delete(conn.calls, 0, i+1)
			return
		}
	}
}

// reportPendingCalls reports the calls that were begun but never executed.
func (conn *connection) reportPendingCalls() {
	if n := len(conn.calls); n > 0 {
		conn.reportCall(conn.calls[n-1], nil)
	}
}

// contentText returns the text in the content of a call.
func contentText(content []acp.ToolCallContent) string {
	var parts []string
	for _, c := range content {
		switch {
		case c.Content != nil && c.Content.Content.Text != nil:
			parts = append(parts, c.Content.Content.Text.Text)
		case c.Diff != nil:
			parts = append(parts, "changed "+c.Diff.Path)
		}
	}
	return strings.Join(parts, "\n")
}

// turnUsage adds the tokens of one model turn. Qwen Code reports them next to
// the text of an update.
func (conn *connection) turnUsage(meta map[string]any, line []byte) {
	u, ok := meta["usage"].(map[string]any)
	if !ok {
		return
	}
	conn.counted = true
	conn.tokens(u["inputTokens"], u["outputTokens"], line)
}

// endUsage adds the tokens of the whole prompt, unless they were counted per
// turn.
func (conn *connection) endUsage(r *acp.PromptResponse, line []byte) {
	quota, _ := r.Meta["quota"].(map[string]any) // of Gemini CLI
	count, ok := quota["token_count"].(map[string]any)
	switch {
	case conn.counted:
	case ok:
		conn.tokens(count["input_tokens"], count["output_tokens"], line)
	case r.Usage != nil && conn.agent == "OpenCode":
		conn.Event(supervise.EventLog, fmt.Sprintf("%s reports the tokens of its last turn only: %d in, %d out.",
			conn.agent, r.Usage.InputTokens, r.Usage.OutputTokens), nil, line)
	case r.Usage != nil:
		conn.tokens(float64(r.Usage.InputTokens), float64(r.Usage.OutputTokens), line)
	}
}

// tokens reports token counts, which are JSON numbers.
func (conn *connection) tokens(in, out any, line []byte) {
	i, _ := in.(float64)
	o, _ := out.(float64)
	conn.Event(supervise.EventUsage, "", map[string]any{"tokensIn": int64(max(0, i)), "tokensOut": int64(max(0, o))}, line)
}

// cost adds the cost of the session since the last update.
func (conn *connection) cost(c *acp.Cost, line []byte) {
	if c == nil || c.Currency != "USD" || c.Amount <= conn.spent {
		return
	}
	conn.Event(supervise.EventUsage, "", map[string]any{"costUsd": c.Amount - conn.spent}, line)
	conn.spent = c.Amount
}
