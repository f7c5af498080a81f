package task

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"taskyard/internal/lazyregexp"
)

// Bounds of what a task may hold.
const (
	MaxTitle      = 200       // characters of a task title
	MaxStepTitle  = 60        // characters of a step title
	MaxText       = 64 << 10  // bytes of a description, details, comment, summary
	MaxTaskText   = 1 << 20   // bytes of a task's description and steps together
	MaxSteps      = 200       // steps a task
	MaxResources  = 100       // resources a task
	MaxResource   = 4096      // bytes of a resource's value
	MaxLabel      = 200       // characters of a resource's label
	MaxPriority   = 1_000_000 // either sign
	MaxLabels     = 20        // labels a task; each at most 32 characters
	MaxBlockers   = 100       // tasks that one task may wait for
	MaxBlocks     = 500       // open tasks that may wait for one task
	MaxNesting    = 10        // subtasks below subtasks
	MaxBatch      = 50        // tasks of one signup
	MaxReassign   = 500       // tasks of one reassign
	MaxBulk       = 1000      // tasks of one act on many
	MaxCounted    = 1000      // tasks that a filter of open tasks counts
	MaxReason     = 2000      // characters of a reason
	MaxSummaryRun = 8000      // characters of a run's result, about 2,000 tokens
)

// MaxWait is how long a call may be held until something comes.
const MaxWait = 50 * time.Second

var agentID = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,62}$`)

// ValidAgentID reports whether s can name an agent: a file name without ".md".
func ValidAgentID(s string) bool { return agentID().MatchString(s) }

// ReservedAgentID reports whether an agent of this name could not be reached:
// its pages would be those of the agents themselves.
func ReservedAgentID(s string) bool { return s == "new" || s == "reload" }

// CheckText reports text that is not UTF-8, holds NUL, or is over max bytes.
func (p *Problems) CheckText(field, s string, maxBytes int) bool {
	switch {
	case !utf8.ValidString(s):
		p.Add(field, "must be valid UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		p.Add(field, "must not contain a NUL character")
	case len(s) > maxBytes:
		p.Add(field, "must be at most %d bytes, not %d", maxBytes, len(s))
	default:
		return true
	}
	return false
}

// isBlank reports whether nobody would see anything of s: spaces, characters
// without a width, marks of direction.
func isBlank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}

// CheckLine reports a one-line text that is blank or over max characters.
func (p *Problems) CheckLine(field, s string, maxChars int) {
	if !p.CheckText(field, s, len(s)) { // its length is counted in characters
		return
	}
	switch n := utf8.RuneCountInString(s); {
	case isBlank(s):
		p.Add(field, "must not be blank")
	case n > maxChars:
		p.Add(field, "must be 1 to %d characters, not %d", maxChars, n)
	case strings.ContainsAny(s, "\r\n"):
		p.Add(field, "must be one line")
	}
}

// CheckComment reports a blank or overlong comment.
func (p *Problems) CheckComment(field, s string) {
	if p.CheckText(field, s, MaxText) && isBlank(s) {
		p.Add(field, "must not be blank")
	}
}

// CheckSteps reports every wrong step; prefix is the field's name.
func (p *Problems) CheckSteps(prefix string, steps []Step) {
	if len(steps) > MaxSteps {
		p.Add(prefix, "must be at most %d steps, not %d", MaxSteps, len(steps))
		return
	}
	for i, s := range steps {
		at := prefix + "[" + ID(i).String() + "]"
		p.CheckLine(at+".title", s.Title, MaxStepTitle)
		p.CheckText(at+".details", s.Details, MaxText)
		if s.TaskID != 0 {
			p.Add(at+".taskId", "is written only by create-subtask; leave it out")
		}
	}
}

// TextBytes returns how many bytes a task's description and steps have, which
// MaxTaskText bounds.
func TextBytes(description string, steps []Step) int {
	n := len(description)
	for _, s := range steps {
		n += len(s.Title) + len(s.Details)
	}
	return n
}

// CheckTaskText reports a task whose description and steps are over MaxTaskText.
// now and had are the bytes with and without the change (0 for a new task):
// what is over the limit from earlier may still be shortened.
func (p *Problems) CheckTaskText(field string, now, before int) {
	if now > MaxTaskText && now > before {
		p.Add(field, "makes the description and steps of the task %d bytes; together they must be at most %d (1 MiB)", now, MaxTaskText)
	}
}

// CheckResources reports every wrong resource; prefix is the field's name.
func (p *Problems) CheckResources(prefix string, rs []Resource) {
	if len(rs) > MaxResources {
		p.Add(prefix, "must be at most %d resources, not %d", MaxResources, len(rs))
		return
	}
	for i, r := range rs {
		p.CheckResource(prefix+"["+ID(i).String()+"]", r)
	}
}

// CheckResource reports what is wrong with one resource.
func (p *Problems) CheckResource(prefix string, r Resource) {
	if prefix != "" {
		prefix += "."
	}
	if r.Label != "" {
		p.CheckLine(prefix+"label", r.Label, MaxLabel)
	}
	if !p.CheckText(prefix+"value", r.Value, MaxResource) {
		return
	}
	switch r.Type {
	case "url":
		u, err := url.Parse(r.Value)
		switch {
		case err != nil:
			p.Add(prefix+"value", "is not a URL")
		case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto":
			p.Add(prefix+"value", "must be an http, https or mailto URL")
		case u.Scheme != "mailto" && u.Host == "":
			p.Add(prefix+"value", "must name a host")
		}
	case "file":
		if !path.IsAbs(r.Value) {
			p.Add(prefix+"value", "must be an absolute path")
		}
	default:
		p.Add(prefix+"type", "must be url or file")
	}
}

// CheckPriority reports a priority out of bounds.
func (p *Problems) CheckPriority(field string, n int) {
	if n < -MaxPriority || n > MaxPriority {
		p.Add(field, "must be between -%d and %d", MaxPriority, MaxPriority)
	}
}

var label = lazyregexp.New(`^[a-z0-9-]{1,32}$`)

// ValidLabel reports whether s can be a label.
func ValidLabel(s string) bool { return label().MatchString(s) }

// CheckLabels reports every wrong label, or that they are too many, and returns
// them sorted, each once.
func (p *Problems) CheckLabels(field string, list []string) []string {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	if len(sorted) > MaxLabels {
		p.Add(field, "must be at most %d labels, not %d", MaxLabels, len(sorted))
		return sorted
	}
	for i, l := range list {
		if !ValidLabel(l) {
			p.Add(field+"["+ID(i).String()+"]", "must be 1 to 32 characters of a-z, 0-9 and -")
		}
	}
	return sorted
}
