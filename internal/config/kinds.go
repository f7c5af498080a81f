package config

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is a type of setting. read checks a TOML value and returns it typed;
// text converts a variable or flag to such a value (nil: it cannot be set that
// way).
type kind struct {
	read  func(v any) (any, error)
	text  func(s string) any
	words []string // the only valid values; nil: any
}

func identity(s string) any { return s }

// text is the kind of a string that passes check.
func text(check func(string) error) kind {
	return kind{text: identity, read: func(v any) (any, error) {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("%v is not text: put it in quotes", v)
		}
		return s, check(s)
	}}
}

// enum is the kind of a string that is one of the given words.
func enum(words ...string) kind {
	k := text(func(s string) error {
		if slices.Contains(words, s) {
			return nil
		}
		return fmt.Errorf("%q is not valid: valid values are %s", s, strings.Join(words, ", "))
	})
	k.words = words
	return k
}

var boolean = kind{
	words: []string{"true", "false"},
	text: func(s string) any {
		switch s {
		case "true":
			return true
		case "false":
			return false
		}
		return s
	},
	read: func(v any) (any, error) {
		if b, ok := v.(bool); ok {
			return b, nil
		}
		return nil, fmt.Errorf("%s is not valid: valid values are true, false", quoteValue(v))
	},
}

// number is the kind of a whole number from low to high.
func number(low, high int64) kind {
	return kind{
		text: func(s string) any {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil {
				return n
			}
			return s
		},
		read: func(v any) (any, error) {
			if n, ok := v.(int64); ok && n >= low && n <= high {
				return int(n), nil
			}
			return nil, fmt.Errorf("%s is not valid: give a whole number from %d to %d", quoteValue(v), low, high)
		},
	}
}

// money is an amount in US dollars; 0: none.
var money = kind{
	text: func(s string) any {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f
		}
		return s
	},
	read: func(v any) (any, error) {
		if n, ok := v.(int64); ok {
			v = float64(n)
		}
		if f, ok := v.(float64); ok && f >= 0 && f <= 1e9 {
			return f, nil
		}
		return nil, fmt.Errorf("%s is not valid: give an amount in US dollars from 0 such as 5.00", quoteValue(v))
	},
}

// duration is the kind of a duration with a unit, from low to high.
func duration(low, high time.Duration) kind {
	return kind{text: identity, read: func(v any) (any, error) {
		s, _ := v.(string)
		if d, err := time.ParseDuration(s); err == nil && d >= low && d <= high {
			return d, nil
		}
		return nil, fmt.Errorf(`%s is not valid: give a duration from %s to %s such as "90s", "15m" or "2h"`,
			quoteValue(v), shortDuration(low), shortDuration(high))
	}}
}

// list is the kind of a list of strings that pass check. In a variable, it is
// separated by commas, or a JSON list if values contain commas.
func list(check func(string) error) kind {
	return kind{
		text: func(s string) any {
			var items []any
			if strings.HasPrefix(s, "[") && json.Unmarshal([]byte(s), &items) == nil {
				return items
			}
			for part := range strings.SplitSeq(s, ",") {
				if part = strings.TrimSpace(part); part != "" {
					items = append(items, part)
				}
			}
			return items
		},
		read: func(v any) (any, error) {
			items, ok := v.([]any)
			if !ok {
				return nil, fmt.Errorf(`%s is not a list: write ["one", "two"]`, quoteValue(v))
			}
			out := make([]string, 0, len(items))
			for _, item := range items {
				s, ok := item.(string)
				if !ok {
					return nil, fmt.Errorf("%s in the list is not text: put it in quotes", quoteValue(item))
				}
				if err := check(s); err != nil {
					return nil, err
				}
				out = append(out, s)
			}
			return out, nil
		},
	}
}

// inFile restricts a setting to the file, because it determines what is
// executed.
func inFile(k kind) kind {
	k.text = nil
	return k
}

// variables is the kind of a table of environment variables.
var variables = kind{read: func(v any) (any, error) {
	table, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf(`%s is not a table: write { NAME = "value" }`, quoteValue(v))
	}
	out := make(map[string]string, len(table))
	for name, item := range table {
		s, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("the value of %s is not text: put it in quotes", name)
		}
		if err := variableName(name); err != nil {
			return nil, err
		}
		out[name] = s
	}
	return out, nil
}}

// prices is the kind of a table of models with their prices per million tokens:
// in, out, and optionally cached.
var prices = kind{read: func(v any) (any, error) {
	table, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf(`%s is not a table: write { "model" = [2.5, 10.0] }`, quoteValue(v))
	}
	out := make(map[string]Price, len(table))
	for model, item := range table {
		list, _ := item.([]any)
		if len(list) != 2 && len(list) != 3 {
			return nil, fmt.Errorf("the price of %q is not two or three numbers: give US dollars for a million tokens "+
				"in, out and, if you like, read from the cache such as [2.5, 10.0, 0.25]", model)
		}
		numbers := make([]float64, len(list))
		for i, v := range list {
			if numbers[i], ok = dollars(v); !ok {
				return nil, fmt.Errorf("the price of %q is not valid: give numbers from 0 to 100000", model)
			}
		}
		out[model] = Price{In: numbers[0], Out: numbers[1], Cached: append(numbers, numbers[0])[2]}
	}
	return out, nil
}}

func dollars(v any) (float64, bool) {
	f, ok := v.(float64)
	if n, isInt := v.(int64); isInt {
		f, ok = float64(n), true
	}
	return f, ok && !math.IsNaN(f) && f >= 0 && f <= 100_000
}

// quoteValue formats a value for an error: quoted and truncated.
func quoteValue(v any) string {
	s := fmt.Sprintf("%v", v)
	if t, ok := v.(string); ok {
		s = strconv.Quote(t)
	}
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return s
}

// shortDuration formats a duration without zeros: 2h, not 2h0m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
