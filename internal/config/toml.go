package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"taskyard/internal/lazyregexp"
)

// toml loads the text of a file.
func (l *loader) toml(path string, text []byte) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var tree map[string]any
	if err := toml.Unmarshal(text, &tree); err != nil {
		l.errs = append(l.errs, syntaxError(path, err))
		return
	}
	lines := scanLines(string(text))
	l.walk("", tree, func(name string) string {
		return fmt.Sprintf("%s:%d", path, lines.line(name))
	})
}

// syntaxError adds the line of a TOML error in the form that editors recognize.
func syntaxError(path string, err error) error {
	var at interface{ Position() (row, column int) }
	if errors.As(err, &at) {
		row, _ := at.Position()
		return fmt.Errorf("%s:%d: %w", path, row, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// walk sets every value of a table, in the order of names, so that errors are
// in a stable order.
func (l *loader) walk(prefix string, tree map[string]any, source func(string) string) {
	for _, own := range slices.Sorted(maps.Keys(tree)) {
		name := prefix + own
		if slices.Contains(groups, strings.TrimSuffix(prefix, ".")) && sectionName(own) != nil {
			l.errs = append(l.errs, fmt.Errorf("%s: [%s]: %w", source(name), name, sectionName(own)))
			continue
		}
		table, ok := tree[own].(map[string]any)
		switch {
		case ok && isTable(name):
			if pattern(name) != name {
				l.sources[name] = source(name) // an empty section must be checked, too
			}
			l.walk(name+".", table, source)
		case isTable(name):
			l.errs = append(l.errs, fmt.Errorf("%s: %s: is a section: write [%s]", source(name), name, name))
		default:
			l.set(name, tree[own], source(name))
		}
	}
}

// lineIndex contains the line, counted from 1, of each dotted name.
type lineIndex map[string]int

// line returns the line of a name, or of the innermost table that contains it.
func (x lineIndex) line(name string) int {
	for {
		if n, ok := x[name]; ok {
			return n
		}
		i := strings.LastIndexByte(name, '.')
		if i < 0 {
			return 1
		}
		name = name[:i]
	}
}

var (
	tomlTable = lazyregexp.New(`^\s*\[\[?([^\[\]]+)\]`)
	tomlKey   = lazyregexp.New(`^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=`)
	tomlPart  = lazyregexp.New(`[A-Za-z0-9_-]+|"[^"]*"|'[^']*'`)
)

// scanLines finds the lines of tables and keys textually, because the parser
// does not report them. Lines inside a multi-line string are skipped.
func scanLines(text string) lineIndex {
	x, table, quote := lineIndex{}, "", ""
	for i, line := range strings.Split(text, "\n") {
		if quote != "" {
			if strings.Contains(line, quote) {
				quote = ""
			}
			continue
		}
		if m := tomlTable().FindStringSubmatch(line); m != nil {
			table = dotted(m[1])
			x.note(table, i+1)
		} else if m := tomlKey().FindStringSubmatch(line); m != nil {
			name := dotted(m[1])
			if table != "" {
				name = table + "." + name
			}
			x.note(name, i+1)
		}
		for _, q := range []string{`"""`, "'''"} {
			if strings.Count(line, q)%2 == 1 {
				quote = q
			}
		}
	}
	return x
}

func (x lineIndex) note(name string, line int) {
	if _, ok := x[name]; !ok {
		x[name] = line
	}
}

// dotted converts `runners . "coder"` to runners.coder.
func dotted(s string) string {
	parts := tomlPart().FindAllString(s, -1)
	for i, p := range parts {
		parts[i] = strings.Trim(p, `"'`)
	}
	return strings.Join(parts, ".")
}
