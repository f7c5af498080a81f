package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"taskyard/runner/builtin/model"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// turn calls the model once and reports the reply as it arrives.
func (s *modelLoop) turn(ctx context.Context) (model.Reply, error) {
	out := &textEvents{s: s, red: s.Redactor()}
	r, err := s.ask(ctx, s.request(), func(d model.Delta) {
		s.progress(d)
		if d.Again != nil {
			out.end()
			s.log(fmt.Sprintf("Asked again, %d of %d, in %.1f s: %v", d.Again.Attempt, model.Tries, d.Again.Wait.Seconds(), d.Again.Err))
			return
		}
		out.add(d.Text)
	}, out.end)
	if err != nil {
		return r, err
	}
	s.turns++
	return r, nil
}

// noRoomError says that a limit leaves no room for the next turn.
type noRoomError struct{ task.TurnGrant }

func (e *noRoomError) Error() string { return e.Reason }

// ask makes a request within the remaining limits of the run and of those above
// it, and reports its usage. on is called with the parts of the reply, end once
// after them. The reply is added to the conversation.
func (s *modelLoop) ask(ctx context.Context, req model.Request, on func(model.Delta), end func()) (model.Reply, error) {
	estimate := s.maxUsage(req)
	grant, release, err := s.HoldTurn(ctx, estimate)
	if err != nil {
		return model.Reply{}, err
	}
	defer release()
	if grant.Phase != "" {
		return model.Reply{}, &noRoomError{grant}
	}
	if grant.Out < estimate.Out {
		req.MaxTokens = grant.Out
	}
	r, err := s.b.Model.Turn(ctx, req, on)
	end()
	if used := r.Usage.Plus(r.FailedUsage); err == nil || used != (model.Usage{}) {
		s.use(used)
	}
	if err != nil {
		return r, err
	}
	s.remember(r.Message())
	s.sized, s.tokens = s.size, r.Usage.In+r.Usage.Out
	return r, nil
}

// maxUsage returns the most that a request can use. Text that the model has read
// and written counts as the provider reported it; of other text, a token has at
// least two bytes: English has four per token, code three.
func (s *modelLoop) maxUsage(req model.Request) task.Turn {
	const each = 2
	fresh := s.size - s.sized
	if s.sized == 0 {
		fresh += len(req.System)
		for _, t := range req.Tools {
			fresh += len(t.Name) + len(t.Description) + len(t.Schema)
		}
	}
	turn := task.Turn{In: s.tokens + fresh/each, Out: cmp.Or(req.MaxTokens, maxReply)}
	if p, ok := s.b.Prices[s.model]; ok {
		turn.CostIn = p.cost(model.Usage{In: turn.In, Stored: turn.In})
		turn.CostOut = p.cost(model.Usage{Out: turn.Out})
	}
	return turn
}

func (s *modelLoop) request() model.Request {
	req := model.Request{Model: s.model, System: s.Spec.Plan.SystemPrompt, Messages: s.history, Tools: s.tools.offered}
	if l := s.Spec.Plan.Limits.MaxTokens; l > 0 {
		req.MaxTokens = min(maxReply, l-s.Usage.Tokens())
	}
	return req
}

// progress resets the idle timeout. Waiting at the provider's request is not
// idle time.
func (s *modelLoop) progress(d model.Delta) {
	if d.Again != nil {
		s.Progress(d.Again.Wait)
		return
	}
	s.Progress(0)
}

// use adds the usage of a turn, and reports it.
func (s *modelLoop) use(u model.Usage) {
	add := task.Usage{
		TokensIn: supervise.AddTokens(0, float64(u.In)), TokensCached: supervise.AddTokens(0, float64(u.Cached)),
		TokensOut: supervise.AddTokens(0, float64(u.Out)), Estimated: u.Estimated,
	}
	if p, ok := s.b.Prices[s.model]; ok {
		add.CostUSD = p.cost(u)
	}
	s.Usage = s.Usage.Add(add)
	s.Report(supervise.EventUsage, "", map[string]any{
		"tokensIn": add.TokensIn, "tokensCached": add.TokensCached,
		"tokensOut": add.TokensOut, "costUsd": add.CostUSD, "estimated": u.Estimated,
	})
}

// data encodes the data of an event.
func (s *modelLoop) data(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		s.trouble = err
		return nil
	}
	return b
}

const (
	textEventSize  = 8 << 10     // bytes after which an event is written
	textEventDelay = time.Second // after which whole lines are written
)

// textEvents groups the small pieces of a reply into events.
type textEvents struct {
	s     *modelLoop
	red   *task.Redactor
	buf   strings.Builder
	since time.Time // arrival of the oldest text in buf
}

func (p *textEvents) add(text string) {
	if text == "" {
		return
	}
	if p.buf.Len() == 0 {
		p.since = time.Now()
	}
	p.buf.Write(p.red.Write([]byte(text)))
	switch {
	case p.buf.Len() >= textEventSize:
		p.emit(p.buf.String(), "")
	case time.Since(p.since) >= textEventDelay:
		if at := strings.LastIndexByte(p.buf.String(), '\n'); at >= 0 {
			p.emit(p.buf.String()[:at], p.buf.String()[at+1:])
		}
	}
}

// emit writes text as an event; rest waits for the next.
func (p *textEvents) emit(text, rest string) {
	if text = task.CleanText(text); strings.TrimSpace(text) != "" {
		for len(text) > 0 {
			part := task.CutText(text, supervise.MaxEvent)
			p.s.Event(supervise.EventText, part, nil, []byte(part))
			text = text[len(part):]
		}
	}
	p.buf.Reset()
	p.buf.WriteString(rest)
	p.since = time.Now()
}

// end writes the remaining text; what follows is a new reply.
func (p *textEvents) end() {
	p.buf.Write(p.red.Close())
	p.emit(p.buf.String(), "")
	p.red.Reset()
}
