package agentfile

import (
	"slices"
	"strings"
)

// The sections of the heading notation, in lower case.
const (
	secDescription = "description"
	secTools       = "allowed tools"
	secPrompt      = "system prompt"
)

var sectionNames = []string{secDescription, secTools, secPrompt}

// section is a `##` heading with the lines below it.
type section struct {
	name  string // as written
	line  int    // of the heading
	lines []line
}

type line struct {
	text   string
	number int
	fenced bool // inside a code fence, or part of one
}

// outline is a body with headings.
type outline struct {
	title    string // of the first `#` heading
	intro    int    // first line of text outside every section, or 0
	sections []section
}

func (o outline) find(name string) *section {
	for i := range o.sections {
		if key(o.sections[i].name) == name {
			return &o.sections[i]
		}
	}
	return nil
}

// known reports whether any section belongs to a definition.
func (o outline) known() bool {
	return slices.ContainsFunc(sectionNames, func(name string) bool { return o.find(name) != nil })
}

// scan parses the headings of the body up to and including the system prompt,
// which extends to the end.
func scan(body []string, first int) outline {
	var o outline
	var fence string
	for i, text := range body {
		l := line{text: text, number: first + i, fenced: fence != ""}
		fence = nextFence(fence, text)
		l.fenced = l.fenced || fence != ""
		if level, title := heading(text); !l.fenced && level == 2 {
			s := section{name: title, line: l.number}
			if key(title) == secPrompt {
				for j, rest := range body[i+1:] {
					s.lines = append(s.lines, line{text: rest, number: l.number + 1 + j})
				}
				o.sections = append(o.sections, s)
				return o
			}
			o.sections = append(o.sections, s)
			continue
		} else if !l.fenced && level == 1 && o.title == "" && len(o.sections) == 0 {
			o.title = title
			continue
		}
		if n := len(o.sections); n > 0 {
			o.sections[n-1].lines = append(o.sections[n-1].lines, l)
		} else if o.intro == 0 && strings.TrimSpace(text) != "" {
			o.intro = l.number
		}
	}
	return o
}

// heading returns the level and title of an ATX heading; level 0: not a
// heading.
func heading(text string) (level int, title string) {
	s := strings.TrimLeft(text, " ")
	if len(text)-len(s) > 3 {
		return 0, ""
	}
	rest := strings.TrimLeft(s, "#")
	level = len(s) - len(rest)
	if level == 0 || level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	title = strings.TrimSpace(rest)
	if cut := strings.TrimRight(title, "#"); cut == "" || strings.HasSuffix(cut, " ") {
		title = strings.TrimSpace(cut)
	}
	return level, title
}

// nextFence returns the code fence that is open after this line, as its opening
// marks, or "".
func nextFence(open, text string) string {
	s := strings.TrimLeft(text, " ")
	if len(text)-len(s) > 3 || len(s) < 3 || s[0] != '`' && s[0] != '~' {
		return open
	}
	rest := strings.TrimLeft(s, s[:1])
	marks := s[:len(s)-len(rest)]
	switch {
	case len(marks) < 3:
		return open
	case open == "" && marks[0] == '`' && strings.Contains(rest, "`"):
		return "" // inline code, no fence
	case open == "":
		return marks
	case marks[0] == open[0] && len(marks) >= len(open) && strings.TrimSpace(rest) == "":
		return ""
	}
	return open
}

// key is a section's name as it is compared.
func key(title string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.TrimRight(title, ": ")), " "))
}

func (s *section) text() string {
	lines := make([]string, len(s.lines))
	for i, l := range s.lines {
		lines[i] = l.text
	}
	return trimBlank(lines)
}

// trimBlank joins lines and takes off blank lines at both ends; the rest stays
// to the letter.
func trimBlank(lines []string) string {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}
