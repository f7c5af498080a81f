package frontmatter

import "strings"

// Document is a file split into front matter and body. Line numbers are 1-based
// and refer to the file as an editor shows it.
type Document struct {
	Front     []string // lines between the dashes; nil without front matter
	FrontLine int      // line of Front[0]
	Body      []string
	BodyLine  int // line of Body[0]
	Unclosed  bool
}

// Split removes a byte order mark, normalizes line endings and finds the front
// matter: from a line of three dashes, before which only blank lines are
// allowed, to the next such line.
func Split(text string) Document {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	first := 0
	for first < len(lines) && strings.TrimSpace(lines[first]) == "" {
		first++
	}
	if first == len(lines) || !isDelimiter(lines[first]) {
		return Document{Body: lines, BodyLine: 1}
	}
	for i := first + 1; i < len(lines); i++ {
		if isDelimiter(lines[i]) {
			return Document{
				Front: lines[first+1 : i], FrontLine: first + 2,
				Body: lines[i+1:], BodyLine: i + 2,
			}
		}
	}
	return Document{Front: lines[first+1:], FrontLine: first + 2, Unclosed: true}
}

func isDelimiter(line string) bool { return strings.TrimRight(line, " \t") == "---" }
