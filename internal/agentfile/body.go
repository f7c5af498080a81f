package agentfile

import (
	"slices"
	"strings"
	"unicode"

	"taskyard/internal/frontmatter"
	"taskyard/task"
)

// body parses what follows the front matter: sections, or the prompt.
func (p *parser) body(doc frontmatter.Document) {
	o := scan(doc.Body, doc.BodyLine)
	hasTools := p.seen["tools"] > 0
	if p.front && o.find(secPrompt) == nil && (p.seen["description"] > 0 || hasTools || !o.known()) {
		p.a.Prompt = trimBlank(doc.Body)
		if p.a.Prompt == "" {
			p.fatal(doc.BodyLine-1, "Write the agent's instructions below the closing ---", "the prompt is missing")
		}
		return
	}
	p.headings = true
	p.checkSections(o)
	if name := strings.Join(strings.Fields(o.title), " "); name != "" && p.seen["name"] == 0 {
		p.a.Name = name
	}
	if s := o.find(secDescription); s != nil && p.a.Description == "" {
		p.a.Description = s.text()
		p.seen["description"] = s.line
	}
	if s := o.find(secTools); s != nil && !hasTools {
		p.seen["tools"] = s.line
		p.tools(s.line, p.bullets(s))
	}
	p.prompt(o)
}

func (p *parser) prompt(o outline) {
	s := o.find(secPrompt)
	if s == nil {
		p.fatal(1, "Add a section `## System Prompt` at the end, with the agent's instructions",
			"the prompt is missing: there is no section `## System Prompt`")
		return
	}
	if p.a.Prompt = s.text(); p.a.Prompt == "" {
		p.fatal(s.line, "Write the agent's instructions below the heading", "the prompt is empty")
	}
	if p.front && o.intro > 0 {
		p.warn(o.intro, "Move it below `## System Prompt`, or remove that heading so that the whole body is the prompt",
			"this text is above the first section and is not part of the prompt")
	}
	p.explainMissing(s)
}

// explainMissing explains why a section whose heading level is too low is missing.
func (p *parser) explainMissing(prompt *section) {
	for i, l := range scan(texts(prompt.lines), prompt.line+1).sections {
		name := key(l.name)
		missing := name == secDescription && p.a.Description == "" || name == secTools && p.seen["tools"] == 0
		if i < 200 && missing {
			p.warn(l.line, "Move this section above `## System Prompt`",
				"%s belongs to the system prompt, which reaches to the end of the file", task.Quote("## "+l.name))
		}
	}
}

func texts(lines []line) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.text
	}
	return out
}

// checkSections reports duplicate and unknown sections.
func (p *parser) checkSections(o outline) {
	first := map[string]int{}
	for _, s := range o.sections {
		name := key(s.name)
		switch {
		case !slices.Contains(sectionNames, name):
			p.warn(s.line, sectionHint(name), "the section %s is unknown and is ignored", task.Quote("## "+s.name))
		case first[name] != 0:
			p.fatal(s.line, "Merge the two sections into one",
				"the section %s appears twice, first on line %d", task.Quote("## "+s.name), first[name])
		default:
			first[name] = s.line
		}
	}
}

func sectionHint(name string) string {
	if near := task.Nearest(name, sectionNames); near != "" {
		return "Did you mean `## " + titleCase(near) + "`?"
	}
	if k := normalKey(name); slices.Contains(knownKeys(), k) {
		return "Write `" + k + ": …` between two lines of --- at the top of the file"
	}
	return "Known sections are Description, Allowed Tools and System Prompt; further headings belong below System Prompt"
}

func titleCase(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = string(unicode.ToUpper(rune(w[0]))) + w[1:]
	}
	return strings.Join(words, " ")
}

// bullets parses the items of the tools section: one per bullet, or
// comma-separated names on plain lines.
func (p *parser) bullets(s *section) []listEntry {
	var entries []listEntry
	for _, l := range s.lines {
		text := strings.TrimSpace(l.text)
		if text == "" {
			continue
		}
		if l.fenced {
			p.warn(l.number, "Write the tools as a list, without a code fence", "this line is in a code fence and grants no tool")
			continue
		}
		if b, ok := bullet(text); ok {
			entries = append(entries, listEntry{strings.Trim(b, "`*_ "), l.number})
			continue
		}
		parts := splitList(text)
		if slices.ContainsFunc(parts, func(s string) bool { return strings.ContainsAny(s, " \t") && !strings.HasSuffix(s, ")") }) {
			p.warn(l.number, "Write one tool per line: `- read`", "this line is not a list item and grants no tool")
			continue
		}
		for _, part := range parts {
			entries = append(entries, listEntry{strings.Trim(part, "`*_ "), l.number})
		}
	}
	return slices.DeleteFunc(entries, func(entry listEntry) bool { return entry.text == "" })
}

// bullet returns the text after a list marker (-, *, + or "1.").
func bullet(s string) (string, bool) {
	if rest := strings.TrimLeft(s, "0123456789"); rest != s && rest != "" && (rest[0] == '.' || rest[0] == ')') {
		return strings.TrimSpace(rest[1:]), true
	}
	if strings.ContainsRune("-*+", rune(s[0])) && (len(s) == 1 || s[1] == ' ' || s[1] == '\t') {
		return strings.TrimSpace(s[1:]), true
	}
	return "", false
}
