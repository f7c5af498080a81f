package agentfile

import "strings"

// document is a file cut into front matter and body. Line numbers are 1-based
// and count the file as an editor shows it.
type document struct {
	front     []string // lines between the dashes; nil where there is no front matter
	frontLine int      // line of front[0]
	body      []string
	bodyLine  int // line of body[0]
	unclosed  bool
}

const bom = "\uFEFF"

// split takes off a byte order mark, makes line ends plain and finds the front
// matter: a line of three dashes before anything but blank lines, to the next.
func split(text string) document {
	text = strings.ReplaceAll(strings.TrimPrefix(text, bom), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	first := 0
	for first < len(lines) && strings.TrimSpace(lines[first]) == "" {
		first++
	}
	if first == len(lines) || !dashes(lines[first]) {
		return document{body: lines, bodyLine: 1}
	}
	for i := first + 1; i < len(lines); i++ {
		if dashes(lines[i]) {
			return document{
				front: lines[first+1 : i], frontLine: first + 2,
				body: lines[i+1:], bodyLine: i + 2,
			}
		}
	}
	return document{front: lines[first+1:], frontLine: first + 2, unclosed: true}
}

func dashes(line string) bool { return strings.TrimRight(line, " \t") == "---" }

// trimBlank joins lines and takes off blank lines at both ends; the rest stays
// to the letter.
func trimBlank(lines []string) string {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}
