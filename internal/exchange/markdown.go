package exchange

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"taskyard/task"
)

// Bounds of a front matter: the YAML library recurses into brackets.
const (
	maxFront      = 64 << 10
	maxFrontLines = 1000
	maxOpen       = 50
)

var errFront = errors.New("must begin with a front matter between two lines of ---")

// splitFront parts the YAML at the top from the text below.
func splitFront(s string) (front, body string, err error) {
	s = strings.ReplaceAll(strings.TrimPrefix(s, "\ufeff"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(s, "---\n")
	if !ok {
		return "", "", errFront
	}
	if body, ok := strings.CutPrefix(rest, "---"); ok {
		return "", body, nil
	}
	front, body, ok = strings.Cut(rest, "\n---")
	if !ok {
		return "", "", errFront
	}
	if _, below, ok := strings.Cut(body, "\n"); ok {
		return front, below, nil
	}
	return front, "", nil
}

// names are the fields whose values begin with an @, which YAML reserves.
var names = regexp.MustCompile(`^(assignee|reporter):[ \t]*(@.*|\[.*@.*\])[ \t]*$`)

func quoteNames(lineOf string) string {
	m := names.FindStringSubmatch(lineOf)
	if m == nil {
		return lineOf
	}
	list := strings.Split(strings.Trim(m[2], "[]"), ",")
	for i, n := range list {
		list[i] = "'" + strings.ReplaceAll(strings.Trim(strings.TrimSpace(n), `"'`), "'", "''") + "'"
	}
	return m[1] + ": [" + strings.Join(list, ", ") + "]"
}

// yamlMap reads a front matter. A panic of the library becomes an error.
func yamlMap(front string) (m map[string]any, err error) {
	defer func() {
		if recover() != nil {
			m, err = nil, errors.New("has a front matter that cannot be read as YAML")
		}
	}()
	list := strings.Split(front, "\n")
	if len(front) > maxFront || len(list) > maxFrontLines {
		return nil, fmt.Errorf("has a front matter over %d KiB or %d lines", maxFront>>10, maxFrontLines)
	}
	for i, l := range list {
		inner := strings.TrimLeft(l, " ")
		marks := len(inner) - len(strings.TrimLeft(inner, "-? \t"))
		if marks > 16 || len(l)-len(inner) > 60 || strings.Count(l, "[")+strings.Count(l, "{") > maxOpen ||
			strings.ContainsAny(l, "&*") && aliased.MatchString(l) {
			return nil, fmt.Errorf("has a front matter that is nested too deeply (line %d)", i+2)
		}
		list[i] = quoteNames(l)
	}
	if err := yaml.Unmarshal([]byte(strings.Join(list, "\n")+"\n"), &m); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
		return nil, fmt.Errorf("has a front matter that is not YAML: %s", clip(first))
	}
	return m, nil
}

// aliased fits YAML's references to other values, which can grow without end.
var aliased = regexp.MustCompile(`(^|[\s\[,:-])[&*][A-Za-z0-9_]`)

// matter are the fields of a front matter.
type matter struct {
	p     *Plan
	where string
	m     map[string]any
	asked map[string]bool
}

func scalar(v any) (string, bool) {
	switch v.(type) {
	case nil:
		return "", true
	case map[string]any, []any:
		return "", false
	}
	return strings.TrimSpace(fmt.Sprint(v)), true
}

func (f *matter) text(name string) string {
	f.asked[name] = true
	v := f.m[name]
	if list, is := v.([]any); is && len(list) == 1 {
		v = list[0]
	}
	s, ok := scalar(v)
	if !ok {
		f.p.Report.Bad(f.where+"."+name, "must be one value")
	}
	return s
}

// texts reads a list; one value counts as a list of one.
func (f *matter) texts(name string) []string {
	f.asked[name] = true
	list, ok := f.m[name].([]any)
	if !ok {
		list = []any{f.m[name]}
	}
	var out []string
	for i, v := range list {
		s, ok := scalar(v)
		if !ok {
			f.p.Report.Bad(fmt.Sprintf("%s.%s[%d]", f.where, name, i), "must be one value")
		}
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (f *matter) time(name string) task.Time {
	s := f.text(name)
	if s == "" {
		return 0
	}
	t, err := parseTime(s)
	if err != nil {
		f.p.Report.Bad(f.where+"."+name, "%s", err)
	}
	return t
}

func (f *matter) rest() {
	for _, name := range slices.Sorted(maps.Keys(f.m)) {
		if !f.asked[name] {
			f.p.Report.left(f.where, "field "+clip(name))
		}
	}
}

type section struct{ title, text string }

// marker fits the comments by which Backlog.md finds its sections again.
var marker = regexp.MustCompile(`(?m)^[ \t]*<!-- (SECTION:[A-Z_]+|AC|DOD|COMMENTS):(BEGIN|END) -->[ \t]*\n?`)

// sectionsOf parts a text at its headings of the second level, outside of
// fenced code.
func sectionsOf(body string) []section {
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
		list[i].text = strings.TrimSpace(marker.ReplaceAllString(list[i].text, ""))
	}
	return list
}

var checkbox = regexp.MustCompile(`^\s*[-*] \[([ xX])\] (?:#\d+ )?(.+?)\s*$`)

// checklist parts the ticked and unticked lines from the others.
func checklist(s string) (steps []task.Step, other string) {
	var rest []string
	for _, l := range strings.Split(s, "\n") {
		if m := checkbox.FindStringSubmatch(l); m != nil {
			steps = append(steps, task.Step{Title: m[2], Done: m[1] != " "})
			continue
		}
		rest = append(rest, l)
	}
	return steps, strings.TrimSpace(strings.Join(rest, "\n"))
}

var commentBlock = regexp.MustCompile(`(?s)<!-- COMMENT:BEGIN -->\n(.*?)<!-- COMMENT:END -->\n?`)

// commentsOf reads the blocks of a section of comments: lines of key and
// value, a blank line, the text.
func commentsOf(r *Report, where, s string) (list []task.Comment, other string) {
	for _, m := range commentBlock.FindAllStringSubmatch(s, -1) {
		c := task.Comment{Kind: task.KindComment, Author: task.System}
		head, content, ok := strings.Cut(m[1], "\n\n")
		if !ok {
			head, content = "", m[1]
		}
		for _, l := range strings.Split(head, "\n") {
			switch key, value, _ := strings.Cut(l, ":"); strings.TrimSpace(key) {
			case "author":
				c.Author = person(value)
			case "created":
				if t, err := parseTime(value); err == nil {
					c.CreatedAt = t
				} else if strings.TrimSpace(value) != "" {
					r.Bad(where+".comments", "%s", err)
				}
			}
		}
		if c.Content = strings.TrimSpace(content); c.Content != "" {
			list = append(list, c)
		}
	}
	return list, strings.TrimSpace(commentBlock.ReplaceAllString(s, ""))
}
