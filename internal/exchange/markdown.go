package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"taskyard/internal/frontmatter"
	"taskyard/internal/lazyregexp"
	"taskyard/task"
)

// names matches the fields whose values begin with an @, which YAML reserves.
var names = lazyregexp.New(`^(assignee|reporter):[ \t]*(@.*|\[.*@.*\])[ \t]*$`)

func quoteNames(lineOf string) string {
	m := names().FindStringSubmatch(lineOf)
	if m == nil {
		return lineOf
	}
	list := strings.Split(strings.Trim(m[2], "[]"), ",")
	for i, n := range list {
		list[i] = "'" + strings.ReplaceAll(strings.Trim(strings.TrimSpace(n), `"'`), "'", "''") + "'"
	}
	return m[1] + ": [" + strings.Join(list, ", ") + "]"
}

// readMatter parses the front matter of a file, and returns the text below it.
func (p *Plan) readMatter(src Source) (f *frontMatter, body string, ok bool) {
	doc := frontmatter.Split(string(src.Data))
	if doc.Front == nil || doc.Unclosed {
		p.Report.AddProblem(src.Name, "must begin with a front matter between two lines of ---")
		return nil, "", false
	}
	for i, l := range doc.Front {
		doc.Front[i] = quoteNames(l)
	}
	list, problem := frontmatter.Fields(doc.Front)
	if problem != nil {
		p.Report.AddProblem(src.Name, "has a YAML front matter that is broken (line %d): %s", doc.FrontLine-1+problem.Line, problem.Message)
		return nil, "", false
	}
	f = &frontMatter{p: p, where: src.Name, m: map[string]ast.Node{}, read: map[string]bool{}}
	for _, one := range list {
		if _, twice := f.m[one.Name]; twice {
			p.Report.AddProblem(src.Name+"."+one.Name, "appears twice in the front matter")
		}
		f.m[one.Name] = one.Value
	}
	return f, strings.Join(doc.Body, "\n"), true
}

// frontMatter are the fields of a front matter.
type frontMatter struct {
	p     *Plan
	where string
	m     map[string]ast.Node
	read  map[string]bool
}

func (f *frontMatter) text(name string) string {
	f.read[name] = true
	v := f.m[name]
	if list, is := v.(*ast.SequenceNode); is && len(list.Values) == 1 {
		v = list.Values[0]
	}
	s, ok := frontmatter.Scalar(v)
	if !ok {
		f.p.Report.AddProblem(f.where+"."+name, "must be one value")
	}
	return strings.TrimSpace(s)
}

// texts reads a list; one value counts as a list of one.
func (f *frontMatter) texts(name string) []string {
	f.read[name] = true
	values := []ast.Node{f.m[name]}
	if list, is := f.m[name].(*ast.SequenceNode); is {
		values = list.Values
	}
	var out []string
	for i, v := range values {
		s, ok := frontmatter.Scalar(v)
		if !ok {
			f.p.Report.AddProblem(fmt.Sprintf("%s.%s[%d]", f.where, name, i), "must be one value")
		}
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (f *frontMatter) time(name string) task.Time {
	s := f.text(name)
	if s == "" {
		return 0
	}
	t, err := parseTime(s)
	if err != nil {
		f.p.Report.AddProblem(f.where+"."+name, "%s", err)
	}
	return t
}

func (f *frontMatter) reportUnread() {
	for _, name := range slices.Sorted(maps.Keys(f.m)) {
		if !f.read[name] {
			f.p.Report.omit(f.where, "field "+task.Quote(name))
		}
	}
}

type section struct{ title, text string }

// marker matches the comments with which Backlog.md marks its sections.
var marker = lazyregexp.New(`(?m)^[ \t]*<!-- (SECTION:[A-Z_]+|AC|DOD|COMMENTS):(BEGIN|END) -->[ \t]*\n?`)

// splitSections splits a text at its second-level headings, outside fenced
// code.
func splitSections(body string) []section {
	list := []section{{}}
	fenced := false
	for l := range strings.Lines(body) {
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			fenced = !fenced
		}
		if title, ok := strings.CutPrefix(l, "## "); ok && !fenced {
			list = append(list, section{title: strings.TrimSpace(title)})
			continue
		}
		list[len(list)-1].text += l
	}
	for i := range list {
		list[i].text = strings.TrimSpace(marker().ReplaceAllString(list[i].text, ""))
	}
	return list
}

var checkbox = lazyregexp.New(`^\s*[-*] \[([ xX])\] (?:#\d+ )?(.+?)\s*$`)

// checklist separates the ticked and unticked lines from the others.
func checklist(s string) (steps []task.Step, other string) {
	var rest []string
	for l := range strings.SplitSeq(s, "\n") {
		if m := checkbox().FindStringSubmatch(l); m != nil {
			steps = append(steps, task.Step{Title: m[2], Done: m[1] != " "})
			continue
		}
		rest = append(rest, l)
	}
	return steps, strings.TrimSpace(strings.Join(rest, "\n"))
}

var commentBlock = lazyregexp.New(`(?s)<!-- COMMENT:BEGIN -->\n(.*?)<!-- COMMENT:END -->\n?`)

// parseComments reads the blocks of a section of comments: lines of key and
// value, a blank line, the text.
func parseComments(r *Report, where, s string) (list []task.Comment, other string) {
	for _, m := range commentBlock().FindAllStringSubmatch(s, -1) {
		c := task.Comment{Kind: task.KindComment, Author: task.System}
		head, content, ok := strings.Cut(m[1], "\n\n")
		if !ok {
			head, content = "", m[1]
		}
		for l := range strings.SplitSeq(head, "\n") {
			switch key, value, _ := strings.Cut(l, ":"); strings.TrimSpace(key) {
			case "author":
				c.Author = person(value)
			case "created":
				if t, err := parseTime(value); err == nil {
					c.CreatedAt = t
				} else if strings.TrimSpace(value) != "" {
					r.AddProblem(where+".comments", "%s", err)
				}
			}
		}
		if c.Content = strings.TrimSpace(content); c.Content != "" {
			list = append(list, c)
		}
	}
	return list, strings.TrimSpace(commentBlock().ReplaceAllString(s, ""))
}
