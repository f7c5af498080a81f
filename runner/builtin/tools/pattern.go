package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// The bounds of a pattern. Matching takes at most the product of both in steps.
const (
	maxProgram    = 20_000  // instructions
	checkInterval = 4 << 20 // steps between two checks for cancellation
)

// pattern is a regular expression that is matched in linear time and can be
// interrupted.
type pattern struct {
	re   *regexp.Regexp
	size int // approximate number of instructions
}

// compilePattern rejects expressions whose repetitions expand too much.
func compilePattern(expr string) (*pattern, error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := programSize(tree)
	if size > maxProgram {
		return nil, fmt.Errorf("it is too large: its repetitions make %s steps of it, at most %s are allowed", count(size), count(maxProgram))
	}
	re, err := regexp.Compile(expr)
	return &pattern{re, size}, err
}

// programSize estimates the number of instructions of an expression before it
// is compiled.
func programSize(e *syntax.Regexp) int {
	size := 1 + len(e.Rune)
	for _, sub := range e.Sub {
		size += programSize(sub)
	}
	if e.Op == syntax.OpRepeat {
		size *= max(e.Min, e.Max, 1)
	}
	return min(size, 100*maxProgram)
}

// match reports whether the pattern matches; false if ctx ends first.
func (p *pattern) match(ctx context.Context, text []byte) bool {
	if len(text) <= checkInterval/p.size {
		return p.re.Match(text)
	}
	return p.re.MatchReader(&interruptible{ctx: ctx, text: text, every: max(checkInterval/p.size, 1)})
}

// interruptible is a text that ends when its context does.
type interruptible struct {
	ctx       context.Context //nolint:containedctx // a reader of runes is given none
	text      []byte
	every     int // runes between two checks of ctx
	remaining int
}

// ReadRune returns the next character.
func (r *interruptible) ReadRune() (c rune, size int, err error) {
	if r.remaining--; r.remaining < 0 {
		if r.remaining = r.every; r.ctx.Err() != nil {
			return 0, 0, r.ctx.Err()
		}
	}
	if len(r.text) == 0 {
		return 0, 0, io.EOF
	}
	c, size = utf8.DecodeRune(r.text)
	r.text = r.text[size:]
	return c, size, nil
}

var errUnclosed = errors.New("a bracket or brace is not closed")

// globExpr translates a path glob to a regular expression, which is matched in
// linear time: * and ? match within a folder, ** as a whole element crosses
// folders, {a,b} is a choice, [a-z] and [!a-z] are sets, \ escapes the next
// character.
func globExpr(glob string) (string, error) {
	var out strings.Builder
	out.WriteString(`(?s)\A(?:`)
	depth := 0
	for i := 0; i < len(glob); {
		c, size := utf8.DecodeRuneInString(glob[i:])
		rest := glob[i+size:]
		switch {
		case strings.HasPrefix(glob[i:], "/**") && atElementEnd(glob[i+3:]):
			out.WriteString(`(?:/.*)?`) // includes the folder itself
			size = 3
		case strings.HasPrefix(glob[i:], "**") && atElementStart(glob[:i]) && strings.HasPrefix(glob[i+2:], "/"):
			out.WriteString(`(?:[^/]*/)*`)
			size = 3
		case strings.HasPrefix(glob[i:], "**") && atElementStart(glob[:i]) && atElementEnd(glob[i+2:]):
			out.WriteString(`.*`)
			size = 2
		case c == '*':
			out.WriteString(`[^/]*`)
		case c == '?':
			out.WriteString(`[^/]`)
		case c == '{':
			depth++
			out.WriteString(`(?:`)
		case c == '}' && depth > 0:
			depth--
			out.WriteByte(')')
		case c == ',' && depth > 0:
			out.WriteByte('|')
		case c == '[':
			set, n, err := globSet(rest)
			if err != nil {
				return "", err
			}
			out.WriteString(set)
			size += n
		case c == '\\':
			if rest == "" {
				return "", errors.New(`it ends with a \`)
			}
			next, n := utf8.DecodeRuneInString(rest)
			out.WriteString(regexp.QuoteMeta(string(next)))
			size += n
		default:
			out.WriteString(regexp.QuoteMeta(string(c)))
		}
		i += size
	}
	if depth > 0 {
		return "", errUnclosed
	}
	return out.String() + `)\z`, nil
}

// atElementStart and ends report whether a path element begins after, or ends before, a
// piece of a glob.
func atElementStart(before string) bool {
	return before == "" || strings.ContainsRune("/{,", rune(before[len(before)-1]))
}

func atElementEnd(after string) bool {
	return after == "" || strings.ContainsRune("},", rune(after[0]))
}

// globSet translates the text after "[" and returns how many bytes it consumed.
// No set matches a slash.
func globSet(text string) (set string, n int, err error) {
	var out strings.Builder
	out.WriteByte('[')
	negated := strings.HasPrefix(text, "!") || strings.HasPrefix(text, "^")
	if negated {
		out.WriteString("^/")
		n++
	}
	one := func() (rune, bool) {
		if n < len(text) && text[n] == '\\' {
			n++
		}
		c, size := utf8.DecodeRuneInString(text[n:])
		n += size
		return c, size > 0
	}
	for first := true; ; first = false {
		if n < len(text) && text[n] == ']' && !first {
			n++
			break
		}
		low, ok := one()
		high := low
		if ok && strings.HasPrefix(text[n:], "-") && !strings.HasPrefix(text[n:], "-]") {
			n++
			high, ok = one()
		}
		if !ok {
			return "", 0, errUnclosed
		}
		if low > high {
			return "", 0, fmt.Errorf("in brackets, %c comes before %c", low, high)
		}
		writeRange(&out, low, high, negated)
	}
	if out.Len() == 1 {
		return `[^\x00-\x{10FFFF}]`, n, nil // only a slash: it matches nothing
	}
	return out.String() + "]", n, nil
}

func writeRange(out *strings.Builder, low, high rune, slash bool) {
	if !slash && low <= '/' && '/' <= high {
		if low < '/' {
			writeRange(out, low, '/'-1, false)
		}
		if high > '/' {
			writeRange(out, '/'+1, high, false)
		}
		return
	}
	fmt.Fprintf(out, `\x{%x}-\x{%x}`, low, high)
}
