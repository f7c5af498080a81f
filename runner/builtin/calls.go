package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"taskyard/runner/builtin/model"
	"taskyard/runner/builtin/tools"
	"taskyard/runner/supervise"
	"taskyard/task"
)

const maxResult = 256 << 10 // bytes of a result that a model receives

// callAll executes the calls of a reply, one after another, and adds their
// results to the conversation.
func (s *modelLoop) callAll(ctx context.Context, calls []model.Call) *supervise.Outcome {
	m := model.Message{Role: model.User}
	for _, c := range calls {
		if ctx.Err() != nil {
			return new(s.Cut(ctx))
		}
		s.reportCall(c)
		begin := time.Now()
		var a tools.Result
		s.During(func() { a = s.call(ctx, c) })
		a.Text = s.Clean(a.Text)
		s.reportResult(c, a)
		s.changed(a.Files)
		m.Results = append(m.Results, model.Result{CallID: c.ID, Text: cutResult(a.Text), IsError: a.IsError})
		// Waiting for another run, or watching it, is not a loop.
		waited := following[c.Name] || c.Name == "task" && time.Since(begin) >= time.Second
		if !waited && s.repeats.tooOften(c, a.Text) {
			return new(supervise.Failed(task.PhaseError, fmt.Sprintf("It went round in circles: the same call of %s brought "+
				"the same result %d times in %d calls", task.CutText(c.Name, 100), maxSame, lastCalls)))
		}
	}
	if ctx.Err() != nil {
		return new(s.Cut(ctx))
	}
	s.remember(m)
	return nil
}

// call executes one call. A panic in a tool becomes an error result.
func (s *modelLoop) call(ctx context.Context, c model.Call) (a tools.Result) {
	defer func() {
		if p := recover(); p != nil {
			s.trouble = fmt.Errorf("tool %s panicked: %v\n%s", c.Name, p, debug.Stack())
			a = tools.Result{Text: "the tool failed with an internal error; try another way", IsError: true}
		}
	}()
	a, done := s.tools.call(ctx, c)
	if done != nil && done.ID == s.Spec.TaskID && done.Status == task.Done {
		s.summary = &done.Summary
	}
	return a
}

func cutResult(text string) string {
	if len(text) <= maxResult {
		return text
	}
	return task.CutText(text, maxResult) + fmt.Sprintf("\n[cut: these are %d of %d bytes; ask for less at a time]", maxResult, len(text))
}

// reportCall reports a call before it is executed.
func (s *modelLoop) reportCall(c model.Call) {
	input := s.CleanJSON(c.Args)
	if !json.Valid(input) {
		input = s.data(s.Clean(string(c.Args)))
	}
	name := task.CleanText(task.CutText(c.Name, 200))
	raw := s.data(map[string]any{"id": c.ID, "tool": name, "input": input})
	data := raw
	if len(data) > supervise.MaxEvent/2 {
		var where struct {
			Path string `json:"path"`
		}
		_ = json.Unmarshal(input, &where) // an input without a path has none
		data = s.data(map[string]any{
			"id": shortID(c.ID), "tool": name,
			"input": map[string]any{"path": task.CutText(where.Path, 4000), "cut": true, "bytes": len(input)},
		})
	}
	s.Event(supervise.EventToolCall, name, data, raw)
}

// reportResult reports the result of a call.
func (s *modelLoop) reportResult(c model.Call, a tools.Result) {
	d := map[string]any{"id": shortID(c.ID), "tool": task.CleanText(task.CutText(c.Name, 200))}
	if a.IsError {
		d["error"] = true
	}
	if a.Denied {
		d["refused"] = true
	}
	if n := len(a.Files); n > 0 {
		d["files"] = a.Files[:min(n, 20)]
	}
	s.Event(supervise.EventToolResult, a.Text, d, []byte(a.Text))
}

// shortID returns the beginning of a call ID.
func shortID(id string) string { return task.CutText(id, 200) }

// A run ends when the same call with the same result is this frequent among the
// last calls.
const (
	maxSame   = 6
	lastCalls = 10
)

// repeats remembers the last calls and their results.
type repeats struct {
	last [lastCalls][sha256.Size]byte
	next int
}

// tooOften records a call and reports whether it has been repeated too often.
func (r *repeats) tooOften(c model.Call, result string) bool {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q", c.Name, canonical(c.Args), result)
	sum := [sha256.Size]byte(h.Sum(nil))
	r.last[r.next%lastCalls] = sum
	r.next++
	same := 0
	for i := range min(r.next, lastCalls) {
		if r.last[i] == sum {
			same++
		}
	}
	return same >= maxSame
}

// canonical rewrites arguments so that key order and white space do not matter.
func canonical(args json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return args
	}
	b, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return b
}
