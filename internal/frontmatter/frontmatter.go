// Package frontmatter parses the YAML at the top of untrusted Markdown files:
// in bounded time and memory, without anchors, and with the line of every
// error.
package frontmatter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	yamlparser "github.com/goccy/go-yaml/parser"

	"taskyard/task"
)

// Bounds of the YAML.
const (
	maxBytes = 32 << 10
	maxLines = 1000
)

// Field is one top-level key.
type Field struct {
	Name  string // as written
	Line  int    // line of the YAML, from 1
	Value ast.Node
}

// Error is an error on a line of the YAML, counted from 1.
type Error struct {
	Line    int
	Message string
	Hint    string
}

const yamlHint = "Put values that hold `: `, ` #` or begin with a sign in quotes, indent with spaces, close every quote and bracket"

// Fields returns the top-level keys of the YAML in order. Keys may be
// duplicate.
func Fields(lines []string) ([]Field, *Error) {
	if problem := checkComplexity(lines); problem != nil {
		return nil, problem
	}
	node, problem := parse(lines)
	if problem != nil {
		return nil, problem
	}
	mapping, ok := node.(*ast.MappingNode)
	if node == nil || ok && mapping == nil {
		return nil, nil
	}
	if !ok {
		return nil, &Error{1, "it is not a list of keys and values", "Write one `key: value` per line"}
	}
	var out []Field
	for _, v := range mapping.Values {
		tok := v.Key.GetToken()
		switch v.Key.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		default:
			return nil, &Error{tok.Position.Line, "this sort of key is not understood", "Write plain keys, each followed by a colon"}
		}
		out = append(out, Field{tok.Value, tok.Position.Line, v.Value})
	}
	return out, nil
}

// Scalar returns the text of a scalar; an empty value is "".
func Scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return "", true
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		if n.Value == nil {
			return "", true
		}
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// parse returns the root of the only document, or nil if there is none. A panic
// in the library becomes an error.
func parse(lines []string) (root ast.Node, problem *Error) {
	defer func() {
		if r := recover(); r != nil {
			root, problem = nil, &Error{1, "it cannot be read", yamlHint}
		}
	}()
	file, err := yamlparser.ParseBytes([]byte(strings.Join(lines, "\n")+"\n"), 0, yamlparser.AllowDuplicateMapKey())
	if err != nil {
		return nil, invalid(err)
	}
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if root != nil {
			return nil, &Error{d.Body.GetToken().Position.Line, "it holds more than one document", "Remove the line of dots or dashes inside"}
		}
		root = d.Body
	}
	return root, nil
}

func invalid(err error) *Error {
	var ye yaml.Error
	if errors.As(err, &ye) && ye.GetToken() != nil {
		return &Error{ye.GetToken().Position.Line, ye.GetMessage(), yamlHint}
	}
	return &Error{1, task.ClipChars(strings.Join(strings.Fields(err.Error()), " "), 60), yamlHint}
}

// checkComplexity rejects YAML for which the library would need too much time or
// memory: it recurses into brackets and dashes and takes quadratic time in the
// number of keys.
func checkComplexity(lines []string) *Error {
	const maxOpen, maxDashes, maxIndent = 50, 8, 60
	if len(lines) > maxLines {
		return &Error{maxLines, fmt.Sprintf("it has more than %d lines", maxLines), "Move long text into the body"}
	}
	size, open := 0, 0
	for i, l := range lines {
		if size += len(l) + 1; size > maxBytes {
			return &Error{i + 1, fmt.Sprintf("it is larger than %d KiB", maxBytes>>10), "Move long text into the body"}
		}
		open += strings.Count(l, "[") + strings.Count(l, "{") - strings.Count(l, "]") - strings.Count(l, "}")
		s := strings.TrimLeft(l, " ")
		marks := len(s) - len(strings.TrimLeft(s, "-? \t"))
		if open > maxOpen || marks > 2*maxDashes || len(l)-len(s) > maxIndent || strings.Count(l, "[")+strings.Count(l, "{") > 10*maxOpen {
			return &Error{i + 1, "it is nested too deeply", "Write one `key: value` per line; values are text or short lists"}
		}
		open = max(open, 0)
	}
	return nil
}
