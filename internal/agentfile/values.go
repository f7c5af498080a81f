package agentfile

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"taskyard/internal/frontmatter"
	"taskyard/task"
)

// Bounds of the limits in a definition.
const (
	maxNumber   = 1_000_000_000
	maxDuration = 7 * 24 * time.Hour
)

// text returns a scalar, or reports that the value is not one.
func (p *parser) text(f field) (string, bool) {
	s, ok := frontmatter.Scalar(f.node)
	if !ok {
		p.fatal(f.line, "Write one value after the colon, without anchors or tags", "%s must be text", f.name)
	}
	return strings.TrimSpace(s), ok
}

// word returns a single-line scalar.
func (p *parser) word(f field) (string, bool) {
	s, ok := p.text(f)
	if ok && strings.ContainsAny(s, "\r\n") {
		p.fatal(f.line, "Write the value on one line", "%s must be one line", f.name)
		return "", false
	}
	return s, ok
}

// list parses a YAML list, or comma-separated text.
func (p *parser) list(f field) ([]listEntry, bool) {
	seq, isSeq := f.node.(*ast.SequenceNode)
	if !isSeq {
		s, ok := frontmatter.Scalar(f.node)
		if !ok {
			p.fatal(f.line, "Write a list, or names with commas between them", "%s must be a list", f.name)
			return nil, false
		}
		var entries []listEntry
		for _, part := range splitList(s) {
			entries = append(entries, listEntry{part, f.line})
		}
		return entries, true
	}
	var entries []listEntry
	for _, n := range seq.Values {
		s, ok := frontmatter.Scalar(n)
		if !ok {
			p.fatal(f.at(n), "Write plain names in the list", "%s must be a list of plain names", f.name)
			return nil, false
		}
		if s = strings.TrimSpace(s); s != "" {
			entries = append(entries, listEntry{s, f.at(n)})
		}
	}
	return entries, true
}

const numberHint = "Write a positive number, or leave the key out for the default"

func (p *parser) number(f field, into *int) {
	s, ok := p.word(f)
	if !ok {
		return
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	switch {
	case err != nil:
		p.fatal(f.line, numberHint, "%s must be a whole number, not %s", f.name, task.Quote(s))
	case n < 1 || n > maxNumber:
		p.fatal(f.line, numberHint, "%s must be between 1 and %d, not %d", f.name, maxNumber, n)
	default:
		*into = int(n)
	}
}

func (p *parser) flag(f field, name string, into *bool) {
	s, _ := p.word(f)
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		*into = true
	case "false", "no", "off", "":
	default:
		p.fatal(f.line, "Write true or false", "%s must be true or false, not %s", name, task.Quote(s))
	}
}

func (p *parser) cost(f field, into *float64) {
	s, ok := p.word(f)
	if !ok {
		return
	}
	c, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || math.IsNaN(c) || math.IsInf(c, 0):
		p.fatal(f.line, numberHint, "%s must be an amount in US dollars, not %s", f.name, task.Quote(s))
	case c <= 0 || c > maxNumber:
		p.fatal(f.line, numberHint, "%s must be a positive amount in US dollars, not %s", f.name, task.Quote(s))
	default:
		*into = c
	}
}

func (p *parser) duration(f field, into *time.Duration) { p.durationWithin(f, into, maxDuration) }

func (p *parser) durationWithin(f field, into *time.Duration, limit time.Duration) {
	s, ok := p.word(f)
	if !ok {
		return
	}
	d, err := time.ParseDuration(s)
	if n, notNumber := strconv.ParseInt(s, 10, 32); notNumber == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	const hint = "Write whole seconds such as 300, or a duration such as 300s, 5m or 1h30m"
	switch {
	case err != nil:
		p.fatal(f.line, hint, "%s must be a duration, not %s", f.name, task.Quote(s))
	case d < time.Second || d > limit || d%time.Second != 0:
		p.fatal(f.line, hint, "%s must be whole seconds between 1s and %.0fh, not %s", f.name, limit.Hours(), task.Quote(s))
	default:
		*into = d
	}
}
