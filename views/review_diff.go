package views

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"taskyard/task"
	"taskyard/views/ui"
)

// hunkLine is one line of a diff with its numbers; 0 where it is not in that
// side. Kind is ' ', '+', '-', '@' or '\\'.
type hunkLine struct {
	kind     byte
	text     string
	old, now int
}

// hunkLines reads the hunks of a unified diff.
func hunkLines(diff string) []hunkLine {
	list := make([]hunkLine, 0, strings.Count(diff, "\n"))
	old, now := 0, 0
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			line = " "
		}
		l := hunkLine{kind: line[0], text: line[1:]}
		switch l.kind {
		case '@':
			l.text = line
			old, now = hunkStart(line)
		case '+':
			l.now = now
			now++
		case '-':
			l.old = old
			old++
		case ' ':
			l.old, l.now = old, now
			old, now = old+1, now+1
		}
		list = append(list, l)
	}
	return list
}

// hunkStart reads "@@ -12,3 +15,4 @@".
func hunkStart(line string) (old, now int) {
	fields := strings.Fields(line)
	number := func(s string) int {
		s, _, _ = strings.Cut(s[1:], ",")
		n, _ := strconv.Atoi(s)
		return n
	}
	if len(fields) > 2 && len(fields[1]) > 1 && len(fields[2]) > 1 {
		return number(fields[1]), number(fields[2])
	}
	return 0, 0
}

// DiffExcerpt returns the lines of one side of a diff from first to last, as
// far as they are in it.
func DiffExcerpt(diff, side string, first, last int) string {
	var b strings.Builder
	for _, l := range hunkLines(diff) {
		n := l.now
		if side == "old" {
			n = l.old
		}
		if n >= first && n <= last && n > 0 {
			b.WriteString(l.text + "\n")
		}
	}
	return b.String()
}

// diffWriter writes the lines of one file as a table.
type diffWriter struct {
	ctx     context.Context
	w       io.Writer
	c       Chrome
	m       *ReviewModel
	f       *ReviewFile
	id      string
	link    string                           // of a comment on a line, but for side and line; "": none may be written
	threads map[string][]*task.ReviewComment // by side and line
	err     error
}

// reviewDiff shows the lines of a file with the comments below theirs. It is
// written here and not in templ, for its size and its white space.
func reviewDiff(c Chrome, m *ReviewModel, f *ReviewFile) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		d := &diffWriter{ctx: ctx, w: w, c: c, m: m, f: f, id: fileID(f.Path), threads: map[string][]*task.ReviewComment{}}
		for _, t := range m.threads(f.Path) {
			if t.Line > 0 && !t.Outdated {
				key := place(t.Side, t.EndLine)
				d.threads[key] = append(d.threads[key], t)
			}
		}
		if m.commentable(c) {
			q := m.query()
			q.Path = f.Path
			d.link = templ.EscapeString(URL.ReviewFile(m.Task.ID, q))
		}
		class := "unified"
		if m.Split {
			class = "split"
		}
		d.write(`<div class="difftable ` + class + `" tabindex="0" role="region" aria-label="Change of ` +
			templ.EscapeString(visibleName(f.Path)) + `"><table>`)
		if m.Split {
			d.write(`<colgroup><col class="no"><col><col class="no"><col></colgroup>`)
		}
		d.write("<tbody>")
		lines := hunkLines(f.Diff)
		if m.Split {
			d.split(lines)
		} else {
			for i := range lines {
				d.unified(&lines[i])
			}
		}
		d.write("</tbody></table></div>")
		return d.err
	})
}

func place(side string, line int) string { return side[:min(1, len(side))] + strconv.Itoa(line) }

func (d *diffWriter) write(s string) {
	if d.err == nil {
		_, d.err = io.WriteString(d.w, s)
	}
}

func (d *diffWriter) text(l *hunkLine) {
	text, windows := strings.CutSuffix(l.text, "\r")
	if d.err == nil {
		d.err = ui.WriteVisible(d.w, text)
	}
	if windows {
		d.write(`<span class="nonprint" title="The line ends as on Windows">‹U+000D›</span>`)
	}
}

// number writes the number of a line; 0 is none.
func (d *diffWriter) number(n int) {
	if n == 0 {
		d.write(`<td class="no"></td>`)
		return
	}
	d.write(`<td class="no">` + strconv.Itoa(n) + `</td>`)
}

// plus is the link that writes a comment on a line.
func (d *diffWriter) plus(side string, line int) {
	if d.link == "" || side == "old" && d.m.Query.Since != 0 {
		return
	}
	n := strconv.Itoa(line)
	where := n
	if side == "old" {
		where += " before the change"
	}
	d.write(`<a class="plus" href="` + d.link + `&amp;side=` + side + `&amp;line=` + n + `#c" data-line="` + side + " " + n +
		`" aria-label="Comment on line ` + where + `">+</a>`)
}

var rowClasses = map[byte]string{'+': "add", '-': "del", ' ': "ctx"}

func (d *diffWriter) unified(l *hunkLine) {
	if l.kind == '@' || l.kind == '\\' {
		d.full("hunk", 3, l)
		return
	}
	side, n := "new", l.now
	if l.kind == '-' {
		side, n = "old", l.old
	}
	d.write(`<tr id="` + d.id + `-` + place(side, n) + `" class="` + rowClasses[l.kind] + `">`)
	d.number(l.old)
	d.number(l.now)
	d.write(`<td class="line">`)
	d.plus(side, n)
	d.write(`<span class="sign">` + string(l.kind) + `</span>`)
	d.text(l)
	d.write("</td></tr>")
	d.below(3, side, n)
	if l.kind == ' ' {
		d.below(3, "old", l.old)
	}
}

// full is a row over all columns.
func (d *diffWriter) full(class string, columns int, l *hunkLine) {
	d.write(`<tr class="` + class + `"><td colspan="` + strconv.Itoa(columns) + `">`)
	if l.kind == '\\' {
		d.write(`\`)
	}
	d.text(l)
	d.write("</td></tr>")
}

// below writes the comments on a line, and the form for one more.
func (d *diffWriter) below(columns int, side string, line int) {
	list := d.threads[place(side, line)]
	q := d.m.Query
	form := q.Path == d.f.Path && q.Side == side && q.Line == line && line > 0 && d.link != ""
	if len(list) == 0 && !form || d.err != nil {
		return
	}
	d.write(`<tr class="notes"><td colspan="` + strconv.Itoa(columns) + `"><div class="notes-in stack-8">`)
	for _, t := range list {
		if d.err == nil {
			d.err = reviewThread(d.c, d.m, t).Render(d.ctx, d.w)
		}
	}
	if form && d.err == nil {
		d.err = commentOnLine(d.c, d.m, d.f.Path, side, line).Render(d.ctx, d.w)
	}
	d.write("</div></td></tr>")
}

// split writes removed and added lines beside each other.
func (d *diffWriter) split(lines []hunkLine) {
	for i := 0; i < len(lines); {
		l := &lines[i]
		switch l.kind {
		case '-', '+':
			end := i
			for end < len(lines) && (lines[end].kind == '-' || lines[end].kind == '+') {
				end++
			}
			d.beside(lines[i:end])
			i = end
			continue
		case ' ':
			d.pair(l, l)
		default:
			d.full("hunk", 4, l)
		}
		i++
	}
}

// beside pairs the removed and the added lines of one change.
func (d *diffWriter) beside(change []hunkLine) {
	var olds, news []*hunkLine
	for i := range change {
		if change[i].kind == '-' {
			olds = append(olds, &change[i])
		} else {
			news = append(news, &change[i])
		}
	}
	for i := range max(len(olds), len(news)) {
		var a, b *hunkLine
		if i < len(olds) {
			a = olds[i]
		}
		if i < len(news) {
			b = news[i]
		}
		d.pair(a, b)
	}
}

func (d *diffWriter) pair(a, b *hunkLine) {
	d.write("<tr>")
	d.half(a, "old")
	d.half(b, "new")
	d.write("</tr>")
	if a != nil {
		d.below(4, "old", a.old)
	}
	if b != nil {
		d.below(4, "new", b.now)
	}
}

func (d *diffWriter) half(l *hunkLine, side string) {
	if l == nil {
		d.write(`<td class="no"></td><td class="line none"></td>`)
		return
	}
	n := l.now
	if side == "old" {
		n = l.old
	}
	d.number(n)
	d.write(`<td class="line ` + rowClasses[l.kind] + `" id="` + d.id + `-` + place(side, n) + `">`)
	if l.kind != ' ' || side == "new" {
		d.plus(side, n)
	}
	d.write(`<span class="sign">` + string(l.kind) + `</span>`)
	d.text(l)
	d.write("</td>")
}
