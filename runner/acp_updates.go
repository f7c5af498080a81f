package runner

import (
	"encoding/json"
	"strings"

	"github.com/coder/acp-go-sdk"

	"taskyard/task"
)

const (
	maxChunks = 8 << 10 // bytes of text that wait for the end of their line
	maxCalls  = 10_000  // calls of a run whose names are remembered
)

// acpTexts joins the chunks of a text, which are as small as a word.
type acpTexts struct {
	typ  string // of the event that it becomes
	red  *redactor
	buf  strings.Builder
	said tail // the present message, or the last one
	cut  bool // what comes next begins a new message
}

// last is the last message: what was said after the last tool call.
func (a *acpTexts) last() string { return string(a.said.buf) }

// acpTool is what is known of a call.
type acpTool struct {
	title string
	kind  acp.ToolKind
	over  bool
}

// update handles one session/update.
func (t *acpTalk) update(params json.RawMessage, line []byte) {
	var n acp.SessionNotification
	if json.Unmarshal(params, &n) != nil {
		t.event(EventLog, "An update cannot be read.", nil, line)
		return
	}
	switch u := n.Update; {
	case u.AgentMessageChunk != nil:
		t.chunk(EventText, u.AgentMessageChunk.Content)
	case u.AgentThoughtChunk != nil:
		t.chunk(EventLog, u.AgentThoughtChunk.Content)
	case u.ToolCall != nil:
		c := u.ToolCall
		t.call(c.ToolCallId, &c.Title, &c.Kind, &c.Status, c.RawInput, c.RawOutput, c.Content, line)
	case u.ToolCallUpdate != nil:
		c := u.ToolCallUpdate
		t.call(c.ToolCallId, c.Title, c.Kind, c.Status, c.RawInput, c.RawOutput, c.Content, line)
	case u.UsageUpdate != nil:
		t.cost(u.UsageUpdate.Cost, line)
	}
}

// chunk adds to the text that is being said.
func (t *acpTalk) chunk(typ string, c acp.ContentBlock) {
	if c.Text == nil {
		return
	}
	if t.texts.typ != typ {
		t.flush(false)
	}
	if t.texts.red == nil {
		t.texts.red = t.red.Fresh()
	}
	t.texts.typ = typ
	t.say(t.texts.red.Write([]byte(clean(c.Text.Text))))
	if t.texts.buf.Len() > maxChunks {
		t.flush(true)
	}
}

// say adds text to what is being said. It is redacted: a secret may come in
// several chunks.
func (t *acpTalk) say(text []byte) {
	t.texts.buf.Write(text)
	if t.texts.typ != EventText || len(text) == 0 {
		return
	}
	if t.texts.cut {
		t.texts.said.buf, t.texts.cut = nil, false
	}
	t.texts.said.limit = 4 * task.MaxSummaryRun
	t.texts.said.add(string(text))
}

// flush reports the text that waits; more says that it may continue.
func (t *acpTalk) flush(more bool) {
	if !more && t.texts.red != nil {
		t.say(t.texts.red.Close())
	}
	text := t.texts.buf.String()
	if text == "" {
		return
	}
	t.texts.buf.Reset()
	partial := more && !strings.HasSuffix(text, "\n")
	text = strings.TrimSuffix(text, "\n")
	for text != "" {
		piece := cutBytes(text, maxEvent/2)
		text = text[len(piece):]
		var data any
		if partial || text != "" {
			data = map[string]any{"partial": true}
		}
		if t.texts.typ == EventLog {
			data = map[string]any{"reasoning": true}
		}
		t.event(t.texts.typ, piece, data, []byte(piece))
	}
}

// call reports a tool call when it is first heard of, and its result once.
func (t *acpTalk) call(id acp.ToolCallId, title *string, kind *acp.ToolKind, status *acp.ToolCallStatus,
	in, out any, content []acp.ToolCallContent, line []byte,
) {
	t.flush(false)
	t.texts.cut = true
	name, key := "", acp.ToolCallId(cutChars(string(id), maxName))
	c := t.tools[key]
	known := c != nil
	if !known {
		if len(t.tools) >= maxCalls {
			clear(t.tools)
		}
		c = &acpTool{}
		t.tools[key] = c
	}
	if title != nil {
		name, c.title = *title, cutChars(*title, maxName)
	}
	if kind != nil {
		c.kind = acp.ToolKind(cutChars(string(*kind), maxName))
	}
	if !known {
		t.event(EventToolCall, name, map[string]any{"id": id, "kind": c.kind, "input": in}, line)
	}
	if c.over || status == nil || *status != acp.ToolCallStatusCompleted && *status != acp.ToolCallStatusFailed {
		return
	}
	c.over = true
	text := said(content)
	if text == "" && out != nil {
		if b, err := json.Marshal(out); err == nil {
			text = string(b)
		}
	}
	t.event(EventToolResult, text, map[string]any{"id": id, "status": *status}, line)
}

// said is what the content of a call says.
func said(content []acp.ToolCallContent) string {
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

// cost adds what a session cost since it last said so.
func (t *acpTalk) cost(c *acp.Cost, line []byte) {
	if c == nil || c.Currency != "USD" || c.Amount <= t.spent {
		return
	}
	t.event(EventUsage, "", map[string]any{"costUsd": c.Amount - t.spent}, line)
	t.spent = c.Amount
}
