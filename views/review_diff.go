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

// diffWriter renders the lines of one file as a table.
type diffWriter struct {
	ctx     context.Context
	w       io.Writer
	c       Chrome
	m       *ReviewModel
	f       *ReviewFile
	id      string
	link    string                           // to comment on a line, without side and line; "": not allowed
	threads map[string][]*task.ReviewComment // by side and line
	err     error
}

// reviewDiff renders the lines of a file with their comments. It does not use
// templ, because of size and white space.
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
			templ.EscapeString(oneLine(f.Path)) + `"><table>`)
		if m.Split {
			d.write(`<colgroup><col class="no"><col><col class="no"><col></colgroup>`)
		}
		d.write("<tbody>")
		lines := task.HunkLines(f.Diff)
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

func (d *diffWriter) text(l *task.HunkLine) {
	text, windows := strings.CutSuffix(l.Text, "\r")
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

// plus writes the link for a comment on a line.
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

func (d *diffWriter) unified(l *task.HunkLine) {
	if l.Kind == '@' || l.Kind == '\\' {
		d.full("hunk", 3, l)
		return
	}
	side, n := "new", l.New
	if l.Kind == '-' {
		side, n = "old", l.Old
	}
	d.write(`<tr id="` + d.id + `-` + place(side, n) + `" class="` + rowClasses[l.Kind] + `">`)
	d.number(l.Old)
	d.number(l.New)
	d.write(`<td class="line">`)
	d.plus(side, n)
	d.write(`<span class="sign">` + string(l.Kind) + `</span>`)
	d.text(l)
	d.write("</td></tr>")
	d.below(3, side, n)
	if l.Kind == ' ' {
		d.below(3, "old", l.Old)
	}
}

// full writes a row that spans all columns.
func (d *diffWriter) full(class string, columns int, l *task.HunkLine) {
	d.write(`<tr class="` + class + `"><td colspan="` + strconv.Itoa(columns) + `">`)
	if l.Kind == '\\' {
		d.write(`\`)
	}
	d.text(l)
	d.write("</td></tr>")
}

// below writes the comments on a line, and the form for a new one.
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

// split writes removed and added lines side by side.
func (d *diffWriter) split(lines []task.HunkLine) {
	for i := 0; i < len(lines); {
		l := &lines[i]
		switch l.Kind {
		case '-', '+':
			end := i
			for end < len(lines) && (lines[end].Kind == '-' || lines[end].Kind == '+') {
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

// beside pairs the removed and added lines of one change.
func (d *diffWriter) beside(change []task.HunkLine) {
	var olds, news []*task.HunkLine
	for i := range change {
		if change[i].Kind == '-' {
			olds = append(olds, &change[i])
		} else {
			news = append(news, &change[i])
		}
	}
	for i := range max(len(olds), len(news)) {
		var a, b *task.HunkLine
		if i < len(olds) {
			a = olds[i]
		}
		if i < len(news) {
			b = news[i]
		}
		d.pair(a, b)
	}
}

func (d *diffWriter) pair(a, b *task.HunkLine) {
	d.write("<tr>")
	d.half(a, "old")
	d.half(b, "new")
	d.write("</tr>")
	if a != nil {
		d.below(4, "old", a.Old)
	}
	if b != nil {
		d.below(4, "new", b.New)
	}
}

func (d *diffWriter) half(l *task.HunkLine, side string) {
	if l == nil {
		d.write(`<td class="no"></td><td class="line none"></td>`)
		return
	}
	n := l.New
	if side == "old" {
		n = l.Old
	}
	d.number(n)
	d.write(`<td class="line ` + rowClasses[l.Kind] + `" id="` + d.id + `-` + place(side, n) + `">`)
	if l.Kind != ' ' || side == "new" {
		d.plus(side, n)
	}
	d.write(`<span class="sign">` + string(l.Kind) + `</span>`)
	d.text(l)
	d.write("</td>")
}
