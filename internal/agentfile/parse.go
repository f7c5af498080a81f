// Package agentfile parses and checks agent definitions, which are Markdown
// files, and watches the folder that contains them.
//
// A definition uses one of two equivalent notations: headings (`##
// Description`, `## Allowed Tools`, `## System Prompt`) or YAML front matter
// whose body is the prompt. If both define something, the front matter takes
// precedence.
package agentfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"taskyard/internal/frontmatter"
	"taskyard/task"
)

// Bounds of a definition file.
const (
	MaxFile    = 256 << 10 // bytes of a file
	maxUnknown = 50        // unknown tools reported per file
)

// RunnerNone is the runner of an agent that Taskyard never starts.
const RunnerNone = "none"

// Options describes the configured runners.
type Options struct {
	Runners       map[string]task.RunnerKind           // kind of each configured runner, by name
	AnyRunner     bool                                 // unconfigured names are only a warning, because the configuration is unknown
	DefaultRunner string                               // for definitions without a runner; "": "builtin"
	Models        func(runner string) []string         // the models of a runner, nil if any will do; may be nil
	PullOnly      func(runner string) string           // why this runner cannot start anything, or ""; may be nil
	Workspace     func(runner, workspace string) error // why its runs may not work there, or nil; may be nil
}

func (o Options) defaultRunner() string {
	return cmp.Or(o.DefaultRunner, "builtin")
}

// parser collects the problems of one file.
type parser struct {
	a          task.Agent
	opt        Options
	front      bool           // the file begins with front matter
	headings   bool           // the body consists of sections
	seen       map[string]int // front matter key to its line
	disallowed []string
}

// Parse parses and checks the text of a definition file. It never fails:
// Problems lists the problems, and Status is the verdict. The text is kept
// unchanged, except that invalid UTF-8 and NUL are replaced.
func Parse(id, text string, opt Options) task.Agent {
	p := &parser{opt: opt, seen: map[string]int{}}
	p.a = task.Agent{
		ID: id, Name: id, Text: text, Hash: textHash(text),
		Tools: []string{}, Capabilities: []string{task.CapabilityTasks}, Problems: []task.Problem{},
		Runner: opt.defaultRunner(), MaxParallel: 1,
	}
	p.a.FileHash = p.a.Hash
	if !task.ValidAgentID(id) {
		p.fatal(1, "Name the file with 1 to 63 of a-z, 0-9 and -, beginning with a letter or digit",
			"%s cannot be the id of an agent", task.Quote(id))
	}
	if task.ReservedAgentID(id) {
		p.fatal(1, "Give the file another name", "%s cannot be the id of an agent: the name is that of a page", task.Quote(id))
	}
	if p.checkBytes(text) {
		p.read(text)
	}
	return p.verdict()
}

func (p *parser) read(text string) {
	doc := frontmatter.Split(text)
	p.front = doc.Front != nil
	if doc.Unclosed {
		p.fatal(doc.FrontLine-1, "Close the front matter with a line of three dashes: ---", "the YAML front matter is not closed")
		return
	}
	if !p.frontMatter(doc) {
		return
	}
	p.body(doc)
	p.finish()
}

// checkBytes reports whether the text can be parsed at all.
func (p *parser) checkBytes(text string) bool {
	if len(text) > MaxFile {
		p.fatal(1, "Shorten the prompt, or let it name files that the agent reads", "the file is larger than %d KiB", MaxFile>>10)
		p.a.Text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
		return false
	}
	nul, invalid := strings.IndexByte(text, 0), invalidUTF8(text)
	if nul >= 0 {
		p.fatal(lineAt(text, nul), "Remove the character; the file may be binary or UTF-16", "the file contains a NUL character")
	}
	if invalid >= 0 {
		p.fatal(lineAt(text, invalid), "Save the file as UTF-8", "the file is not UTF-8")
	}
	if nul < 0 && invalid < 0 {
		return true
	}
	p.a.Text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
	return false
}

func invalidUTF8(s string) int {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], string(r)) {
			return i
		}
	}
	return -1
}

func lineAt(s string, offset int) int { return 1 + strings.Count(s[:offset], "\n") }

func (p *parser) fatal(line int, hint, format string, args ...any) {
	p.add(task.Problem{Line: line, Fatal: true, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (p *parser) warn(line int, hint, format string, args ...any) {
	p.add(task.Problem{Line: line, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (p *parser) add(pr task.Problem) {
	pr.Line = max(pr.Line, 1)
	p.a.Problems = append(p.a.Problems, pr)
}

// verdict sorts the problems by line and derives status and serving from them.
func (p *parser) verdict() task.Agent {
	a := p.a
	sortByLine(a.Problems)
	a.Status = task.AgentValid
	if len(a.Problems) > 0 {
		a.Status = task.AgentWarning
	}
	for _, pr := range a.Problems {
		if pr.Fatal {
			a.Status = task.AgentInvalid
		}
	}
	a.Problems = limitProblems(a.Problems)
	a.Serving = a.Status != task.AgentInvalid
	return a
}

func sortByLine(list []task.Problem) {
	slices.SortStableFunc(list, func(a, b task.Problem) int { return cmp.Compare(a.Line, b.Line) })
}

// limitProblems limits the problems to a readable number, fatal ones first.
func limitProblems(all []task.Problem) []task.Problem {
	if len(all) <= task.MaxProblems {
		return all
	}
	var keep []task.Problem
	for _, fatal := range []bool{true, false} {
		for _, pr := range all {
			if pr.Fatal == fatal && len(keep) < task.MaxProblems-1 {
				keep = append(keep, pr)
			}
		}
	}
	sortByLine(keep)
	return append(keep, task.Problem{
		Line: all[len(all)-1].Line, Message: fmt.Sprintf("%d more problems are not shown", len(all)-len(keep)),
		Hint: "Fix those above first",
	})
}
