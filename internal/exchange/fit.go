package exchange

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"taskyard/task"
)

// line converts a text to one line of at most limit characters. If that loses
// anything, rest is the whole text.
func line(s string, limit int) (short, rest string) {
	short = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(short) > limit {
		short = strings.TrimSpace(string([]rune(short)[:limit-1])) + "…"
		return short, s
	}
	if strings.ContainsAny(strings.TrimSpace(s), "\r\n") {
		return short, s
	}
	return short, ""
}

// prepend puts a text before another one.
func prepend(top, text string) string {
	if text == "" {
		return top
	}
	return top + "\n\n" + text
}

// fit adapts an item to the bounds if nothing is lost, and reports a problem
// otherwise.
func (p *Plan) fit(item *Item) {
	r, t := &p.Report, &item.Task
	fitLine(r, item.Where+".title", &t.Title, &t.Description, task.MaxTitle, "title", "description")
	for i := range t.Steps {
		s := &t.Steps[i]
		fitLine(r, fmt.Sprintf("%s.steps[%d].title", item.Where, i), &s.Title, &s.Details, task.MaxStepTitle, "step's title", "step's details")
	}
	var problem task.Problems
	problem.CheckLine("title", t.Title, task.MaxTitle)
	problem.CheckText("description", t.Description, task.MaxText)
	problem.CheckTaskText("steps", task.TextBytes(t.Description, t.Steps), 0)
	problem.CheckText("summary", t.Summary, task.MaxText)
	problem.CheckPriority("priority", t.Priority)
	problem.CheckSteps("steps", t.Steps)
	problem.CheckResources("resources", t.Resources)
	problem.CheckLine("channel", t.Channel, 32)
	problem.CheckLine("createdBy", t.CreatedBy, 200)
	for i, c := range t.Comments {
		problem.CheckText(fmt.Sprintf("comments[%d].content", i), c.Content, task.MaxText)
		problem.CheckLine(fmt.Sprintf("comments[%d].author", i), c.Author, 200)
	}
	if len(item.BlockedBy) > task.MaxBlockers {
		problem.Add("blockedBy", "must be at most %d tasks, not %d", task.MaxBlockers, len(item.BlockedBy))
	}
	r.problems(item.Where, &problem)
	p.fitLabels(item)
}

// problems adds the problems that checks found in a task or project.
func (r *Report) problems(where string, p *task.Problems) {
	var e *task.Error
	if errors.As(p.Err(), &e) {
		for _, f := range e.AllFields() {
			r.AddProblem(where+"."+f.Field, "%s", f.Message)
		}
		r.More += e.More
	}
}

func fitLine(r *Report, where string, short, long *string, limit int, what, rest string) {
	if !utf8.ValidString(*short) || strings.ContainsRune(*short, 0) {
		return // a problem that the checks report
	}
	if strings.TrimSpace(*short) == "" {
		return
	}
	// Do not change a line that fits.
	if utf8.RuneCountInString(*short) <= limit && !strings.ContainsAny(*short, "\r\n") {
		return
	}
	s, whole := line(*short, limit)
	*short = s
	if whole != "" {
		*long = prepend(whole, *long)
		r.Note(where, "a %s was cut to %d characters or one line; the full text is in the %s", what, limit, rest)
	}
}

// fitLabels sorts the labels. Those of other programs are converted.
func (p *Plan) fitLabels(item *Item) {
	var problem task.Problems
	if !p.Foreign() {
		item.Task.Labels = problem.CheckLabels("labels", item.Task.Labels)
		p.Report.problems(item.Where, &problem)
		return
	}
	var out []string
	for i, l := range item.Task.Labels {
		s := slug(l)
		if s != l {
			p.Report.Note(fmt.Sprintf("%s.labels[%d]", item.Where, i), "a label was rewritten in small letters, digits and dashes")
		}
		if s != "" {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > task.MaxLabels {
		for range out[task.MaxLabels:] {
			p.Report.omit(item.Where, fmt.Sprintf("labels beyond the first %d of a task", task.MaxLabels))
		}
		out = out[:task.MaxLabels]
	}
	item.Task.Labels = out
}

// slug converts any text to a label; "" if nothing is left.
func slug(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(s))
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "-")
	}
	s = strings.Trim(s, "-")
	if len(s) > maxLabel {
		s = strings.Trim(s[:maxLabel], "-")
	}
	return s
}

// attach adds a link as a resource if it is one, and reports whether it did.
func (item *Item) attach(value, label string) bool {
	kind := ""
	switch u, err := url.Parse(value); {
	case err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && len(value) <= task.MaxResource:
		kind = "url"
	case path.IsAbs(value) && len(value) <= task.MaxResource:
		kind = "file"
	}
	if kind == "" || len(item.Task.Resources) >= task.MaxResources {
		return false
	}
	item.Task.Resources = append(item.Task.Resources, task.Resource{Type: kind, Value: value, Label: label})
	return true
}

// person converts the name of a person in another program to an author.
func person(name string) string {
	s, _ := line(strings.TrimPrefix(strings.TrimSpace(name), "@"), 60)
	if s == "" {
		return task.System
	}
	return task.UserActorName(s)
}

// descriptionBuilder assembles a description: the original text, then sections, then
// everything without a field.
type descriptionBuilder struct{ parts, footer []string }

func (t *descriptionBuilder) add(s string) {
	if s = strings.TrimSpace(s); s != "" {
		t.parts = append(t.parts, s)
	}
}

func (t *descriptionBuilder) section(title, s string) bool {
	if strings.TrimSpace(s) == "" {
		return false
	}
	t.add("## " + title + "\n\n" + strings.TrimSpace(s))
	return true
}

func (t *descriptionBuilder) note(what, s string) {
	if s = strings.Join(strings.Fields(s), " "); s != "" {
		t.footer = append(t.footer, what+": "+s)
	}
}

func (t *descriptionBuilder) String() string {
	if len(t.footer) > 0 {
		return strings.Join(append(t.parts, strings.Join(t.footer, "\n")), "\n\n")
	}
	return strings.Join(t.parts, "\n\n")
}
