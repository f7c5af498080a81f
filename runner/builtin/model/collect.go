package model

import (
	"encoding/json"
	"fmt"
	"strings"
)

// collector assembles a reply from its parts.
type collector struct {
	onDelta  func(Delta)
	text     strings.Builder
	calls    []*partCall
	thinking []*partThought
	size     int
	began    bool // an event was received
}

type partCall struct {
	id, name string
	args     strings.Builder
}

type partThought struct {
	text, signature strings.Builder
	hidden          string
}

func (c *collector) grow(n int) error {
	if c.size += n; c.size > MaxReply {
		return protocolError("the reply is longer than %d bytes", MaxReply)
	}
	return nil
}

func (c *collector) say(text string) error {
	if text == "" {
		return nil
	}
	c.text.WriteString(text)
	c.onDelta(Delta{Text: text})
	return c.grow(len(text))
}

// begin adds a call.
func (c *collector) begin(id, name string) (*partCall, error) {
	if len(c.calls) == MaxCalls {
		return nil, protocolError("the reply has more than %d calls", MaxCalls)
	}
	p := &partCall{id: id, name: name}
	c.calls = append(c.calls, p)
	return p, c.grow(len(id) + len(name))
}

// argue appends to the arguments of a call. They count as progress, although
// they are not text.
func (c *collector) argue(p *partCall, args string) error {
	p.args.WriteString(args)
	c.onDelta(Delta{})
	return c.grow(len(args))
}

// partialReply returns the usage of a reply that was cut off: what the provider
// reported, plus an estimate of the rest. A reply that had not begun costs
// nothing.
func (c *collector) partialReply(req Request, reported Usage) Reply {
	if !c.began {
		return Reply{}
	}
	u := estimate(req, c.reply(StopLength, reported))
	if reported.In > 0 {
		u.In, u.Cached, u.Stored = reported.In, reported.Cached, reported.Stored
	}
	u.Out = max(u.Out, reported.Out)
	return Reply{Usage: u}
}

// reply returns what was received. Calls without an ID get one. Missing
// arguments become an empty object, except for the last call of a truncated
// reply.
func (c *collector) reply(stop Stop, u Usage) Reply {
	r := Reply{Text: c.text.String(), Stop: stop, Usage: u}
	for i, p := range c.calls {
		if p.id == "" {
			p.id = fmt.Sprintf("call_%d", i+1)
		}
		args := strings.TrimSpace(p.args.String())
		if args == "" && (stop != StopLength || i < len(c.calls)-1) {
			args = "{}"
		}
		r.Calls = append(r.Calls, Call{ID: p.id, Name: p.name, Args: json.RawMessage(args)})
	}
	for _, t := range c.thinking {
		r.thoughts = append(r.thoughts, thought{t.text.String(), t.signature.String(), t.hidden})
	}
	return r
}
