package agentfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	yamlparser "github.com/goccy/go-yaml/parser"
)

// field is one top-level key of the front matter.
type field struct {
	key  string // normalised
	name string // as written
	line int
	node ast.Node
	base int // line of the file before the first line of the YAML
}

// at is the line of a node inside the field, as the file counts.
func (f field) at(n ast.Node) int {
	if n == nil || n.GetToken() == nil {
		return f.line
	}
	return f.base + n.GetToken().Position.Line
}

// frontMatter reads the YAML at the top; false means that it is broken.
func (p *parser) frontMatter(doc document) bool {
	fields, err := p.fields(doc)
	if err != nil {
		p.fatal(doc.frontLine-1+err.line, err.hint, "the YAML front matter is broken: %s", err.message)
		return false
	}
	for _, f := range fields {
		if own := aliases[f.key]; own != "" {
			f.key = own
		}
		if first, twice := p.seen[f.key]; twice {
			p.fatal(f.line, "Keep one of the two", "the key %s appears twice, first on line %d", quote(f.name), first)
			continue
		}
		p.seen[f.key] = f.line
		p.take(f)
	}
	return true
}

// yamlError is what is wrong on which line of the YAML.
type yamlError struct {
	line    int
	message string
	hint    string
}

const yamlHint = "Put values that hold `: `, ` #` or begin with a sign in quotes, indent with spaces, close every quote and bracket"

func (p *parser) fields(doc document) ([]field, *yamlError) {
	if bad := tooMuch(doc.front); bad != nil {
		return nil, bad
	}
	node, bad := parseYAML(doc.front)
	if bad != nil {
		quoted, at := quoteDescription(doc.front)
		if at == 0 {
			return nil, bad
		}
		again, still := parseYAML(quoted)
		if still != nil {
			return nil, bad
		}
		node = again
		p.warn(doc.frontLine-1+at, "Put the description in quotes", "the description is not strict YAML; it is taken to the end of its line")
	}
	return fieldsOf(node, doc.frontLine-1)
}

func fieldsOf(node ast.Node, base int) ([]field, *yamlError) {
	mapping, ok := node.(*ast.MappingNode)
	if node == nil || ok && mapping == nil {
		return nil, nil
	}
	if !ok {
		return nil, &yamlError{1, "it is not a list of keys and values", "Write one `key: value` a line"}
	}
	var out []field
	for _, v := range mapping.Values {
		tok := v.Key.GetToken()
		switch v.Key.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		default:
			return nil, &yamlError{tok.Position.Line, "this sort of key is not understood", "Write plain keys, each followed by a colon"}
		}
		out = append(out, field{normalKey(tok.Value), tok.Value, base + tok.Position.Line, v.Value, base})
	}
	return out, nil
}

// normalKey makes maxTurns, max-turns and "Max Turns" the same as max_turns.
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

// parseYAML returns the one document's root, or nil for none. The library is
// kept from taking the server down: a panic of its becomes an error.
func parseYAML(lines []string) (root ast.Node, bad *yamlError) {
	defer func() {
		if r := recover(); r != nil {
			root, bad = nil, &yamlError{1, "it cannot be read", yamlHint}
		}
	}()
	file, err := yamlparser.ParseBytes([]byte(strings.Join(lines, "\n")+"\n"), 0, yamlparser.AllowDuplicateMapKey())
	if err != nil {
		return nil, wrongYAML(err)
	}
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if root != nil {
			return nil, &yamlError{d.Body.GetToken().Position.Line, "it holds more than one document", "Remove the line of dots or dashes inside"}
		}
		root = d.Body
	}
	return root, nil
}

func wrongYAML(err error) *yamlError {
	var ye yaml.Error
	if errors.As(err, &ye) && ye.GetToken() != nil {
		return &yamlError{ye.GetToken().Position.Line, ye.GetMessage(), yamlHint}
	}
	return &yamlError{1, clip(strings.Join(strings.Fields(err.Error()), " ")), yamlHint}
}

var plainDescription = regexp.MustCompile("^(description:[ \t]+)([^ \t\"'|>\\[{&*!%@`#].*)$")

// quoteDescription puts a plain one-line description in quotes. The sub-agent
// files of coding agents hold colons there, and their programs read them.
func quoteDescription(lines []string) (quoted []string, at int) {
	for i, l := range lines {
		m := plainDescription.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		quoted = slices.Clone(lines)
		quoted[i] = m[1] + "'" + strings.ReplaceAll(strings.TrimSpace(m[2]), "'", "''") + "'"
		return quoted, i + 1
	}
	return nil, 0
}

// tooMuch refuses YAML that the library would need too much time or memory
// for: it recurses into brackets and dashes and is quadratic in keys.
func tooMuch(lines []string) *yamlError {
	const maxLines, maxOpen, maxDashes, maxIndent = 1000, 50, 8, 60
	if len(lines) > maxLines {
		return &yamlError{maxLines, fmt.Sprintf("it has more than %d lines", maxLines), "Move long text into the body"}
	}
	size, open := 0, 0
	for i, l := range lines {
		if size += len(l) + 1; size > maxFront {
			return &yamlError{i + 1, fmt.Sprintf("it is larger than %d KiB", maxFront>>10), "Move long text into the body"}
		}
		open += strings.Count(l, "[") + strings.Count(l, "{") - strings.Count(l, "]") - strings.Count(l, "}")
		s := strings.TrimLeft(l, " ")
		marks := len(s) - len(strings.TrimLeft(s, "-? \t"))
		if open > maxOpen || marks > 2*maxDashes || len(l)-len(s) > maxIndent || strings.Count(l, "[")+strings.Count(l, "{") > 10*maxOpen {
			return &yamlError{i + 1, "it is nested too deeply", "Write one `key: value` a line; values are text or short lists"}
		}
		open = max(open, 0)
	}
	return nil
}
