package views

import (
	"strings"

	"taskyard/internal/lazyregexp"
	"taskyard/task"
)

var (
	blockMarks  = lazyregexp.New(`^(?:#{1,6}\s+|>\s*|[-*+]\s+(?:\[[ xX]\]\s+)?)+`)
	inlineMarks = lazyregexp.New("`([^`]+)`" + `|\*\*([^*\s](?:[^*]*[^*\s])?)\*\*|!?\[([^\]]+)\]\([^)\s]*\)`)
	codeMarks   = lazyregexp.New("`([^`]+)`")
)

// summaryLine returns the first line of a Markdown text for a list: without
// markup, and without a heading if text follows.
func summaryLine(s string) string {
	heading := ""
	for line := range strings.Lines(s) {
		line = task.ClipText(strings.TrimSpace(line), 600)
		text := blockMarks().ReplaceAllString(line, "")
		text = inlineMarks().ReplaceAllString(text, "$1$2$3")
		text = firstLine(codeMarks().ReplaceAllString(text, "$1"))
		switch {
		case strings.Trim(text, "-*_=`~ ") == "":
		case strings.HasPrefix(line, "#") && strings.HasPrefix(strings.TrimLeft(line, "#"), " "):
			if heading == "" {
				heading = text
			}
		default:
			return text
		}
	}
	return heading
}
