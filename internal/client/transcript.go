package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"taskyard/task"
)

// RunLog shows what an agent said and did.
type RunLog struct {
	OneRun
	Limit int    `help:"Maximum number of lines (1 to 500; default 100)." placeholder:"N"`
	After string `help:"Continue after an earlier page." placeholder:"CURSOR"`
}

// Run prints the transcript of a run, oldest line first.
func (c *RunLog) Run(e *Env) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	type page struct {
		Messages []task.Message
		Next     string
	}
	path := params{}.num("limit", c.Limit).set("after", c.After).appendTo("/api/runs/" + id + "/messages")
	return printCall(e, "GET", path, nil, func(p *page) {
		for _, m := range p.Messages {
			text := transcriptText(&m)
			if text == "" && m.Type == "usage" {
				continue
			}
			e.say("%s %s %s", at(m.CreatedAt), printable(string(m.Role)), printable(m.Type))
			indented(e.Stdout, "  ", text)
			if m.ContentCut > 0 {
				fmt.Fprintf(e.Stderr, "line %d is truncated by %d bytes: GET /api/runs/%s/messages/%d?from=%d returns the rest\n",
					m.ID, m.ContentCut, id, m.ID, len(m.Content))
			}
		}
		e.more("--after", p.Next)
	})
}

// maxArguments bounds how many columns of a call's arguments a transcript shows.
const maxArguments = 1000

// transcriptText returns the content of a line; that of a tool call with its
// arguments, and usage as numbers if it has no text.
func transcriptText(m *task.Message) string {
	switch {
	case m.Type == "tool_call":
		var d struct{ Input, Args, Arguments json.RawMessage }
		_ = json.Unmarshal(m.Data, &d) // data that an agent wrote may be anything
		for _, raw := range []json.RawMessage{d.Input, d.Args, d.Arguments} {
			if args := compactArguments(raw); args != "" {
				return strings.TrimSpace(m.Content + " " + cut(args, maxArguments))
			}
		}
	case m.Type == "usage" && m.Content == "":
		if u := task.ReportedUsage(m.Type, m.Data); u != (task.Usage{}) {
			mark := approx(u.Estimated)
			return fmt.Sprintf("%s%d tokens in, %s%d out, %s%s", mark, u.TokensIn, mark, u.TokensOut, mark, usd(u.CostUSD))
		}
	}
	return m.Content
}

// compactArguments returns arguments on one line, or "" if there are none. They
// may be a string of JSON.
func compactArguments(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var buf bytes.Buffer
	if json.Compact(&buf, raw) != nil || buf.String() == "{}" || buf.String() == "null" {
		return ""
	}
	return buf.String()
}
