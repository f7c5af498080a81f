package views

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"

	"taskyard/task"
	"taskyard/views/ui"
)

// Bounds of the diffs on a page; the diff as text has all lines.
const (
	maxFileLines = 1000
	maxPageLines = 4000
)

// shownFile is the displayed part of a changed file.
type shownFile struct {
	task.FileChange
	Left int // lines that are omitted
}

// shownFiles truncates the lines of the files to what a page can show.
func shownFiles(w *task.Work) []shownFile {
	list := make([]shownFile, len(w.Files))
	budget := maxPageLines
	for i, f := range w.Files {
		all := strings.Count(f.Diff, "\n")
		list[i].FileChange = f
		shown := min(all, maxFileLines, budget)
		budget -= shown
		if shown == all {
			continue
		}
		list[i].Left = all - shown
		if list[i].Diff = firstLines(f.Diff, shown); shown == 0 {
			list[i].Note = strings.TrimPrefix(f.Note+"; ", "; ") + "its lines are in the raw diff"
		}
	}
	return list
}

// firstLines returns the first n lines of a text that has at least as many.
func firstLines(s string, n int) string {
	end := 0
	for range n {
		end += strings.IndexByte(s[end:], '\n') + 1
	}
	return s[:end]
}

// changeLetter returns the letter of a change; the word is next to it.
func changeLetter(c task.Change) string {
	switch c {
	case task.FileAdded:
		return "A"
	case task.FileDeleted:
		return "D"
	}
	return "M"
}

// mergeCommands returns shell commands for the reader.
func mergeCommands(w *task.Work) string {
	repo, branch := shellWord(w.Repository), shellWord(w.Branch)
	return "git -C " + repo + " diff HEAD..." + branch + "\ngit -C " + repo + " merge " + branch
}

// shellWord quotes a word for a shell if necessary.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@:", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// diffLines renders the lines of a file: added and removed ones with sign and
// color.
func diffLines(f shownFile) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "<pre class=\"code diff\" tabindex=\"0\" role=\"region\" aria-label=\"Change of "+
			templ.EscapeString(oneLine(f.Path))+"\">")
		for line := range strings.Lines(f.Diff) {
			if err == nil {
				err = writeDiffLine(w, strings.TrimSuffix(line, "\n"))
			}
		}
		if err == nil {
			_, err = io.WriteString(w, "</pre>")
		}
		return err
	})
}

// diffClasses are the classes of lines by their first character.
var diffClasses = map[byte]string{'+': ` class="add"`, '-': ` class="del"`, '@': ` class="hunk"`, '\\': ` class="hunk"`}

func writeDiffLine(w io.Writer, line string) error {
	if line == "" {
		line = " "
	}
	if _, err := io.WriteString(w, "<span"+diffClasses[line[0]]+">"); err != nil {
		return err
	}
	// Otherwise, a Windows line ending would be marked on every line.
	text, windows := strings.CutSuffix(line, "\r")
	if err := ui.WriteVisible(w, text); err != nil {
		return err
	}
	end := "</span>"
	if windows {
		end = `<span class="nonprint" title="Windows line ending">‹U+000D›</span></span>`
	}
	_, err := io.WriteString(w, end+"\n")
	return err
}

// oneLine makes line endings in a name visible.
func oneLine(s string) string {
	return strings.NewReplacer("\n", "‹U+000A›", "\t", "‹U+0009›").Replace(s)
}

// mergeTone returns the class for the state of a branch.
func mergeTone(w *task.Work) string {
	if strings.HasPrefix(w.Merge, "Merged") {
		return "ok"
	}
	return ""
}
