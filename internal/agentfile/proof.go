package agentfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"taskyard/internal/frontmatter"
	"taskyard/task"
)

// setProjects sets the projects that the agent's work is limited to.
func (p *parser) setProjects(f field) {
	entries, ok := p.list(f)
	if ok && len(entries) == 0 {
		p.fatal(f.line, "Name keys of projects, such as [web, api], or leave the key out for all", "%s names no project", f.name)
	}
	for _, entry := range entries {
		switch {
		case !task.ValidProjectKey(entry.text):
			p.fatal(entry.line, "Write keys, such as web: 1 to 32 characters of a-z, 0-9 and -",
				"%s: %s cannot be the key of a project", f.name, task.Quote(entry.text))
		case !slices.Contains(p.a.Projects, entry.text):
			p.a.Projects = append(p.a.Projects, entry.text)
		}
	}
}

const checkHint = `Write each check as a list entry such as {name: test, run: "go test ./...", timeout: 10m, required: true}`

// setChecks sets the checks. Any mistake makes the definition invalid, because
// a misread check would not be enforced.
func (p *parser) setChecks(f field) {
	seq, ok := f.node.(*ast.SequenceNode)
	if !ok {
		p.fatal(f.line, checkHint, "%s must be a list of checks", f.name)
		return
	}
	if len(seq.Values) > task.MaxChecks {
		p.fatal(f.line, "Combine some of them into one command", "%s must be at most %d checks", f.name, task.MaxChecks)
		return
	}
	first := map[string]int{}
	for _, n := range seq.Values {
		c, lines, ok := p.check(f, n)
		if !ok {
			continue
		}
		at := f.at(n)
		if had := first[c.Name]; had != 0 && c.Name != "" {
			p.fatal(at, "Give it another name", "a second check is named %s, first on line %d", task.Quote(c.Name), had)
			continue
		}
		first[c.Name] = at
		var problems task.Problems
		problems.CheckChecks("checks", []task.Check{c}, true)
		p.faults(f, problems.Err(), "checks[0].", lines, at, checkHint)
		p.a.Checks = append(p.a.Checks, c)
	}
}

// check parses one check, and the line of each of its keys.
func (p *parser) check(f field, n ast.Node) (c task.Check, lines map[string]int, ok bool) {
	flag := func(into *bool) func(field) { return func(f field) { p.flag(f, f.name, into) } }
	word := func(into *string) func(field) { return func(f field) { *into, _ = p.text(f) } }
	kind := ""
	lines, ok = p.mapping(f, n, checkHint, map[string]func(field){
		"name": word(&c.Name), "kind": word(&kind), "run": word(&c.Run), "path": word(&c.Path), "glob": word(&c.Glob),
		"required": flag(&c.Required), "network": flag(&c.Network),
		"timeout": func(f field) {
			var d time.Duration
			p.durationWithin(f, &d, task.MaxCheckTime)
			c.TimeoutSeconds = int(d / time.Second)
		},
	})
	if c.Kind = task.CheckKind(kind); kind == "" {
		c.Kind = checkKind(c)
	}
	return c, lines, ok
}

// checkKind infers the kind of a check from its fields.
func checkKind(c task.Check) task.CheckKind {
	switch {
	case c.Run == "" && c.Path != "":
		return task.CheckFile
	case c.Run == "" && c.Glob != "":
		return task.CheckChanged
	}
	return task.CheckCommand
}

const reviewHint = "Write none, required, or {approvals: 2, from: [maya, reviewer], expires: 72h, standIn: oleg}"

// setReview accepts none, required, or a policy.
func (p *parser) setReview(f field) {
	if s, ok := frontmatter.Scalar(f.node); ok {
		switch strings.ToLower(strings.TrimSpace(s)) {
		case "none":
		case "required":
			p.a.Review = &task.Review{Approvals: 1}
		default:
			p.fatal(f.line, reviewHint, "the review policy %s is unknown", task.Quote(s))
		}
		return
	}
	r := task.Review{Approvals: 1}
	lines, ok := p.mapping(f, f.node, reviewHint, map[string]func(field){
		"approvals": func(f field) {
			s, _ := p.word(f)
			n, err := strconv.Atoi(s)
			if r.Approvals = n; err != nil || n < 1 {
				r.Approvals = 1
				p.fatal(f.line, "Write how many people must accept, or review: none",
					"approvals must be 1 to %d, not %s", task.MaxApprovals, task.Quote(s))
			}
		},
		"from": func(f field) {
			entries, _ := p.list(f)
			for _, entry := range entries {
				r.From = append(r.From, entry.text)
			}
		},
		"expires": func(f field) {
			var d time.Duration
			p.durationWithin(f, &d, task.MaxExpires*time.Second)
			r.ExpiresSeconds = int(d / time.Second)
		},
		normalKey("standIn"): func(f field) { r.StandIn, _ = p.word(f) },
	})
	if !ok {
		return
	}
	var problems task.Problems
	problems.CheckReview("review", r)
	p.faults(f, problems.Err(), "review.", lines, f.line, reviewHint)
	p.a.Review = &r
}

// mapping passes the value of each key in a mapping to its setter, and returns
// the line of each key. An unknown key is fatal, because a misspelled policy
// would not be enforced.
func (p *parser) mapping(f field, n ast.Node, hint string, set map[string]func(field)) (lines map[string]int, ok bool) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		p.fatal(f.at(n), hint, "%s must have keys and values", f.name)
		return nil, false
	}
	lines = map[string]int{}
	for _, v := range m.Values {
		name := v.Key.GetToken().Value
		key, line := normalKey(name), f.at(v.Key)
		switch setter := set[key]; {
		case lines[key] != 0:
			p.fatal(line, "Keep one of the two", "the key %s of %s appears twice", task.Quote(name), f.name)
		case setter == nil:
			p.fatal(line, "Known keys are "+strings.Join(slices.Sorted(maps.Keys(set)), ", "),
				"the key %s of %s is unknown", task.Quote(name), f.name)
		default:
			setter(field{key, fmt.Sprintf("%s of %s", name, f.name), line, v.Value, f.base})
		}
		lines[key] = line
	}
	return lines, true
}

// faults reports problems found by the rules of a project, each at its key, or
// at the beginning of its mapping.
func (p *parser) faults(f field, err error, prefix string, lines map[string]int, at int, hint string) {
	var found *task.Error
	if !errors.As(err, &found) {
		return
	}
	for _, e := range found.AllFields() {
		name := strings.TrimPrefix(e.Field, prefix)
		key, _, _ := strings.Cut(normalKey(strings.TrimSuffix(name, "Seconds")), "[")
		line := cmp.Or(lines[key], at)
		p.fatal(line, hint, "%s: %s %s", f.name, strings.TrimSuffix(name, "Seconds"),
			strings.ReplaceAll(e.Message, "review.expiresSeconds", "expires"))
	}
}
