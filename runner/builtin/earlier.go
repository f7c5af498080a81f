package builtin

import (
	"cmp"
	"encoding/json"
	"strings"

	"taskyard/runner/builtin/model"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// noResult replaces the result of a call that was not recorded.
const noResult = "[no result: the run ended meanwhile]"

// restoreHistory puts the conversation of earlier runs before the prompt, verbatim as
// far as the transcript has it, so that it hits the provider's cache.
func (s *modelLoop) restoreHistory(list []task.Exchange) {
	for _, e := range list {
		s.addText(s.Clean(e.Prompt))
		p := replay{s: s}
		for _, l := range e.Lines {
			p.line(l)
		}
		p.end()
	}
	s.restored = len(s.history)
}

// addText adds text to the next message for the model.
func (s *modelLoop) addText(text string) {
	if n := len(s.history); n > 0 && s.history[n-1].Role == model.User { // not sent yet
		last := &s.history[n-1]
		last.Text = strings.TrimPrefix(last.Text+"\n\n"+text, "\n\n")
		s.size += len(text)
		return
	}
	s.remember(model.Message{Role: model.User, Text: text})
}

// dropHistory removes the earlier conversation again.
func (s *modelLoop) dropHistory() {
	s.history, s.size, s.restored = nil, 0, 0
	s.addText(s.Spec.Plan.Prompt)
}

// replay converts the lines of a transcript to messages.
type replay struct {
	s         *modelLoop
	reply     model.Message
	results   []model.Result
	usageSeen bool // the usage of the reply was reported: its calls follow
}

func (p *replay) line(l task.Message) {
	var d struct {
		ID    string          `json:"id"`
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
		Error bool            `json:"error"`
	}
	_ = json.Unmarshal(l.Data, &d) // a text has none
	text := p.s.Clean(l.Content)
	switch l.Type {
	case supervise.EventText:
		if p.usageSeen {
			p.end()
		}
		p.reply.Text = strings.TrimPrefix(p.reply.Text+"\n"+text, "\n")
	case supervise.EventUsage:
		if p.usageSeen {
			p.end()
		}
		p.usageSeen = true
	case supervise.EventToolCall:
		args := cmp.Or(string(p.s.CleanJSON(d.Input)), "{}")
		p.reply.Calls = append(p.reply.Calls, model.Call{ID: d.ID, Name: d.Tool, Args: json.RawMessage(args)})
	case supervise.EventToolResult:
		n := len(p.results)
		if n == len(p.reply.Calls) {
			break
		}
		if id := p.reply.Calls[n].ID; shortID(id) == shortID(d.ID) {
			p.results = append(p.results, model.Result{CallID: id, Text: text, IsError: d.Error})
		}
	case task.TypeMessage:
		p.end()
		p.s.addText((&task.RunMessage{Author: l.Author, Text: text}).Prompt())
	}
}

// end adds the reply and the results of its calls to the conversation.
func (p *replay) end() {
	s, reply := p.s, p.reply
	reply.Role = model.Assistant
	for _, c := range reply.Calls[len(p.results):] {
		p.results = append(p.results, model.Result{CallID: c.ID, Text: noResult, IsError: true})
	}
	if reply.Size() > 0 {
		if s.history[len(s.history)-1].Role == model.Assistant { // a truncated reply
			s.addText(continuePrompt)
		}
		s.remember(reply)
	}
	if len(p.results) > 0 {
		s.remember(model.Message{Role: model.User, Results: p.results})
	}
	*p = replay{s: s}
}
