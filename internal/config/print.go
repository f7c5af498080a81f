package config

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskyard/internal/lazyregexp"
	"taskyard/task"
)

// Hidden replaces secrets.
const Hidden = "***"

// Print writes the configuration as TOML, each line with a comment that names
// the source of its value. Values of environment variables whose names look
// like secrets are hidden.
func (c *Config) Print(w io.Writer, sources Sources) error {
	var b strings.Builder
	last := ""
	for _, name := range c.names() {
		table, own := section(name)
		if table != last {
			fmt.Fprintf(&b, "\n[%s]\n", table)
			last = table
		}
		fmt.Fprintf(&b, "%-40s # %s\n", own+" = "+literal(c.values[name]), sources[name])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// names lists the keys that have values, in the order of the table of keys,
// with the sections of a group one after another.
func (c *Config) names() []string {
	rank := make(map[string]int, len(keys))
	for i, k := range keys {
		rank[k.name] = i
	}
	return slices.SortedFunc(maps.Keys(c.values), func(a, b string) int {
		ta, _ := section(a)
		tb, _ := section(b)
		if pattern(ta) == pattern(tb) && ta != tb {
			return strings.Compare(ta, tb)
		}
		return rank[pattern(a)] - rank[pattern(b)]
	})
}

var urlPasswords = lazyregexp.New(`^(postgres(?:ql)?://[^/@]*?:)[^@]*@`)

// withoutPassword hides the password in a database URL.
func withoutPassword(v string) string { return urlPasswords().ReplaceAllString(v, "${1}"+Hidden+"@") }

// literal formats a checked value as TOML.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		return quote(withoutPassword(v))
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		return float(v)
	case time.Duration:
		return quote(shortDuration(v))
	case []string:
		return "[" + strings.Join(quoteAll(v), ", ") + "]"
	case map[string]string:
		return inline(v, func(name, value string) string {
			if task.IsSecretName(name) {
				value = Hidden
			}
			return quote(value)
		})
	case map[string]Price:
		return inline(v, func(_ string, p Price) string {
			if p.Cached != p.In {
				return fmt.Sprintf("[%s, %s, %s]", float(p.In), float(p.Out), float(p.Cached))
			}
			return fmt.Sprintf("[%s, %s]", float(p.In), float(p.Out))
		})
	}
	return quote(fmt.Sprint(v))
}

func inline[T any](table map[string]T, value func(string, T) string) string {
	parts := make([]string, 0, len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		parts = append(parts, quote(name)+" = "+value(name, table[name]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func quoteAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quote(s)
	}
	return out
}

// quote formats a JSON string, which is also a valid TOML basic string.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// float formats a number as a TOML float, which always has a decimal point.
func float(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
