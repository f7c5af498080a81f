package client

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"taskyard/task"
)

// printable makes an untrusted text safe for one line of a terminal: it escapes
// unprintable characters, so that no text can move the cursor, color the screen
// or change the text direction.
func printable(s string) string { return escapeUnprintable(s, false) }

// printableLines is like printable, for multi-line texts.
func printableLines(s string) string {
	return escapeUnprintable(strings.ReplaceAll(s, "\r\n", "\n"), true)
}

func escapeUnprintable(s string, lines bool) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsPrint(r), r == zeroWidthJoiner, lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case unicode.Is(unicode.Zs, r):
			b.WriteByte(' ')
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// zeroWidthJoiner binds emoji together.
const zeroWidthJoiner = '\u200d'

// cut truncates a text to a number of columns.
func cut(s string, columns int) string {
	used, end := 0, 0
	for i, r := range s {
		used += runeWidth(r)
		if used > columns {
			return s[:end] + "…"
		}
		if used < columns { // leave room for the ellipsis
			end = i + len(string(r))
		}
	}
	return s
}

// runeWidth returns 2 for characters that may be wide: too short is better than
// wrapped.
func runeWidth(r rune) int {
	if r >= 0x1100 && r != '…' && (r < 0x2000 || r > 0x2bff) {
		return 2
	}
	return 1
}

// listed prints a list as a table, or only the first column of it, the IDs.
func (e *Env) listed(quiet bool, head []string, rows [][]string) {
	if !quiet {
		e.table(head, rows)
		return
	}
	for _, r := range rows {
		e.say("%s", printable(r[0]))
	}
}

// table prints rows with aligned columns. The last column gets the rest of the
// terminal's width.
func (e *Env) table(head []string, rows [][]string) {
	if len(rows) == 0 {
		if e.Width > 0 {
			e.say("nothing")
		}
		return
	}
	last := len(head) - 1
	left := e.Width - 1
	for c := range last {
		widest := len(head[c])
		for _, r := range rows {
			r[c] = printable(r[c])
			widest = max(widest, len([]rune(r[c])))
		}
		left -= widest + 2
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	line := func(cells []string) { fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), " \t")) }
	line(head)
	for _, r := range rows {
		r[last] = printable(r[last])
		if e.Width > 0 {
			r[last] = cut(r[last], max(left, 12))
		}
		line(r)
	}
	_ = w.Flush() // a closed pipe is not an error of the command
}

// say prints one line for people.
func (e *Env) say(format string, args ...any) { fmt.Fprintf(e.Stdout, format+"\n", args...) }

// answer prints the server's JSON unchanged, or otherwise text. In both cases,
// it reports on stderr what the server left out because of its size.
func (e *Env) answer(raw []byte, people func()) error {
	defer e.printTruncation(raw)
	if !e.JSON {
		people()
		return nil
	}
	_, err := fmt.Fprintf(e.Stdout, "%s\n", strings.TrimRight(string(raw), "\n"))
	return err
}

// printCall makes a request and prints its answer as JSON or text.
func printCall[T any](e *Env, method, path string, in any, people func(*T)) error {
	var out T
	raw, err := e.call(method, path, in, &out)
	if err != nil {
		return err
	}
	return e.answer(raw, func() { people(&out) })
}

// Fields prints names and values, one per line; empty values are omitted.
// Further lines of a value are aligned with its first.
func Fields(out io.Writer, pairs ...string) { fields(out, pairs...) }

func fields(out io.Writer, pairs ...string) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		name := pairs[i]
		for l := range strings.SplitSeq(hanging("", pairs[i+1]), "\n") {
			if l != "" {
				fmt.Fprintf(w, "  %s\t%s\n", name, strings.ReplaceAll(l, "\t", "    "))
				name = ""
			}
		}
	}
	_ = w.Flush()
}

// indented prints an untrusted text with each line indented.
func indented(out io.Writer, by, text string) {
	for l := range strings.SplitSeq(printableLines(strings.TrimRight(text, "\n")), "\n") {
		fmt.Fprintln(out, strings.TrimRight(by+l, " "))
	}
}

// hanging returns an untrusted text for the end of a line, safe to print, with
// indent before each further line.
func hanging(indent, text string) string {
	return strings.ReplaceAll(printableLines(strings.TrimRight(text, "\n")), "\n", "\n"+indent)
}

// at formats a time in UTC.
func at(t task.Time) string {
	if t == 0 {
		return ""
	}
	return t.Std().Format("2006-01-02 15:04Z")
}

// hash returns #5, or "" for no ID.
func hash(id task.ID) string {
	if id == 0 {
		return ""
	}
	return "#" + id.String()
}

func hashes(ids []task.ID) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = hash(id)
	}
	return strings.Join(list, " ")
}

// more prints how to get the rest of a list.
func (e *Env) more(flag, next string) {
	if next != "" && !e.JSON {
		fmt.Fprintf(e.Stderr, "there are more: %s %s\n", flag, printable(next))
	}
}

// Printable makes an untrusted text safe for a terminal; it keeps line breaks.
func Printable(s string) string { return printableLines(s) }

// printTruncation reports what an answer leaves out because of its size, and how to
// read on.
func (e *Env) printTruncation(raw []byte) {
	var a struct {
		ID        task.ID
		CutBySize bool
		Next      string
		Cut       []string
	}
	if json.Unmarshal(raw, &a) != nil { // a list, or a text
		return
	}
	if a.CutBySize {
		fmt.Fprintf(e.Stderr, "the list was cut off because an answer is limited to 1 MiB; continue from the cursor %s\n", printable(a.Next))
	}
	if len(a.Cut) > 0 {
		fmt.Fprintf(e.Stderr, "task %d is too large for one answer; shortened: %s. GET /api/tasks/%d/comments has all comments, "+
			"/api/tasks/%d/steps/N all of a step\n", a.ID, printable(strings.Join(a.Cut, ", ")), a.ID, a.ID)
	}
}
