package frontmatter

import "strings"

// Document is a file cut into front matter and body. Line numbers are 1-based
// and count the file as an editor shows it.
type Document struct {
	Front     []string // lines between the dashes; nil where there is no front matter
	FrontLine int      // line of Front[0]
	Body      []string
	BodyLine  int // line of Body[0]
	Unclosed  bool
}

// Split takes off a byte order mark, makes line ends plain and finds the front
// matter: a line of three dashes before anything but blank lines, to the next.
func Split(text string) Document {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	first := 0
	for first < len(lines) && strings.TrimSpace(lines[first]) == "" {
		first++
	}
	if first == len(lines) || !dashes(lines[first]) {
		return Document{Body: lines, BodyLine: 1}
	}
	for i := first + 1; i < len(lines); i++ {
		if dashes(lines[i]) {
			return Document{
				Front: lines[first+1 : i], FrontLine: first + 2,
				Body: lines[i+1:], BodyLine: i + 2,
			}
		}
	}
	return Document{Front: lines[first+1:], FrontLine: first + 2, Unclosed: true}
}

func dashes(line string) bool { return strings.TrimRight(line, " \t") == "---" }
