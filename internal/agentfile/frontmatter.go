package agentfile

import (
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"taskyard/internal/frontmatter"
	"taskyard/internal/lazyregexp"
	"taskyard/task"
)

// field is one top-level key of the front matter.
type field struct {
	key  string // normalized
	name string // as written
	line int
	node ast.Node
	base int // number of lines in the file before the YAML
}

// at returns the line of a node in the file.
func (f field) at(n ast.Node) int {
	if n == nil || n.GetToken() == nil {
		return f.line
	}
	return f.base + n.GetToken().Position.Line
}

// frontMatter parses the YAML at the top; it returns false if the YAML is
// invalid.
func (p *parser) frontMatter(doc frontmatter.Document) bool {
	fields, err := p.fields(doc)
	if err != nil {
		p.fatal(doc.FrontLine-1+err.Line, err.Hint, "the YAML front matter is broken: %s", err.Message)
		return false
	}
	for _, f := range fields {
		if own := aliases[f.key]; own != "" {
			f.key = own
		}
		if first, twice := p.seen[f.key]; twice {
			p.fatal(f.line, "Keep one of the two", "the key %s appears twice, first on line %d", task.Quote(f.name), first)
			continue
		}
		p.seen[f.key] = f.line
		p.set(f)
	}
	return true
}

func (p *parser) fields(doc frontmatter.Document) ([]field, *frontmatter.Error) {
	list, bad := frontmatter.Fields(doc.Front)
	if bad != nil {
		quoted, at := quoteDescription(doc.Front)
		if at == 0 {
			return nil, bad
		}
		again, still := frontmatter.Fields(quoted)
		if still != nil {
			return nil, bad
		}
		list = again
		p.warn(doc.FrontLine-1+at, "Put the description in quotes", "the description is not strict YAML; it is taken to the end of its line")
	}
	base := doc.FrontLine - 1
	out := make([]field, len(list))
	for i, f := range list {
		out[i] = field{normalKey(f.Name), f.Name, base + f.Line, f.Value, base}
	}
	return out, nil
}

// normalKey converts maxTurns, max-turns and "Max Turns" to max_turns.
func normalKey(s string) string {
	var b strings.Builder
	lower := false
	for _, r := range strings.TrimSpace(s) {
		switch {
		case r == '-' || r == ' ':
			r = '_'
		case unicode.IsUpper(r):
			if lower {
				b.WriteByte('_')
			}
			lower = false
			b.WriteRune(unicode.ToLower(r))
			continue
		}
		lower = unicode.IsLower(r)
		b.WriteRune(r)
	}
	return b.String()
}

var plainDescription = lazyregexp.New("^(description:[ \t]+)([^ \t\"'|>\\[{&*!%@`#].*)$")

// quoteDescription puts a plain one-line description in quotes. The sub-agent
// files of coding agents hold colons there, and their programs read them.
func quoteDescription(lines []string) (quoted []string, at int) {
	for i, l := range lines {
		m := plainDescription().FindStringSubmatch(l)
		if m == nil {
			continue
		}
		quoted = slices.Clone(lines)
		quoted[i] = m[1] + "'" + strings.ReplaceAll(strings.TrimSpace(m[2]), "'", "''") + "'"
		return quoted, i + 1
	}
	return nil, 0
}
