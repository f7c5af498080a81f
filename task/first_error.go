package task

import (
	"encoding/json"
	"slices"
	"strings"

	"taskyard/internal/lazyregexp"
)

// An ErrorExcerpt is the first line of a transcript that looks like an error,
// with the lines around it.
type ErrorExcerpt struct {
	Line  ID       // the message that holds it
	Lines []string // at most excerptLines, without colors
	Error string   // the one of Lines that looks like an error
}

const (
	excerptLines = 6 // with the error itself
	excerptAbove = 2 // of them before it
	excerptWidth = 400
)

var (
	colorCode = lazyregexp.New(`\x1b\[[0-9;?]*[A-Za-z]`)

	// errorLine matches what compilers, test programs, shells and runtimes
	// write when something fails.
	errorLine = lazyregexp.New(`(?i:^\s*(?:error|fatal|panic|uncaught|unhandled)\b)` +
		`|(?i:\b\w*(?:error|exception|fatal|panic)(?:\[\w+\]|\(\w+\))?:\s)` +
		`|(?i:\b(?:command not found|no such file or directory|permission denied|segmentation fault|out of memory|undefined reference)\b)` +
		`|\b(?:ERROR|FATAL|PANIC|CRITICAL)\b|\blevel=(?:error|fatal)\b|\bnpm ERR!` +
		`|^make(?:\[\d+\])?: \*\*\* |^\s*Traceback \(most recent call last\)` +
		`|^\s*(?:--- )?FAIL(?:ED)?\b|^\s*[✗✖✘×] |^\s*[\w./\\-]+\.\w+:\d+:\d+: \S`)

	// successLine matches reports that name errors which did not happen.
	successLine = lazyregexp.New(`(?i)\b(?:0|no|without) (?:errors?|failures?|failed)\b` +
		`|\b(?:errors?|failures?|failed)[:=] ?0\b`)
)

// ErrorScanner finds the first line of a transcript that looks like an error.
// The zero value is ready for use.
type ErrorScanner struct {
	found  ErrorExcerpt
	above  []string // last lines of the same output, at most excerptAbove
	output bool     // the last message was a line of output: the next one continues it
}

// Add takes the next message of a run and reports whether the excerpt is
// complete. Prompts, calls, and answers of tools that did not fail are passed
// over: they may quote errors of something else.
func (s *ErrorScanner) Add(m *Message) (done bool) {
	output := m.Type == "log" || m.Type == "text"
	joins := s.output && output
	s.output = output
	if s.found.Line != 0 && !joins {
		return true
	}
	if !output && m.Type != "error" && !(m.Type == "tool_result" && m.CallFailed()) {
		return false
	}
	if !joins {
		s.above = nil
	}
	text := colorCode().ReplaceAllString(strings.ReplaceAll(m.Content, "\r\n", "\n"), "")
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	at := slices.IndexFunc(lines, looksLikeError)
	if at < 0 && !output { // the message itself says that it is one
		at = 0
	}
	for i, line := range lines {
		line = ClipText(line, excerptWidth)
		switch {
		case s.found.Line != 0:
			s.found.Lines = append(s.found.Lines, line)
		case i == at:
			s.found = ErrorExcerpt{Line: m.ID, Lines: append(s.above, line), Error: line}
		default:
			s.above = append(s.above, line)
			s.above = s.above[max(0, len(s.above)-excerptAbove):]
		}
		if len(s.found.Lines) == excerptLines {
			return true
		}
	}
	return false
}

// Excerpt returns what was found, or nil.
func (s *ErrorScanner) Excerpt() *ErrorExcerpt {
	if s.found.Line == 0 {
		return nil
	}
	return &s.found
}

// CallFailed reports whether a tool_call or tool_result message says that the
// call failed or was refused.
func (m *Message) CallFailed() bool {
	var d map[string]json.RawMessage
	if json.Unmarshal(m.Data, &d) != nil {
		return false
	}
	for _, k := range []string{"isError", "is_error", "error", "denied", "refused"} {
		if v := string(d[k]); v != "" && v != "false" && v != "null" && v != `""` {
			return true
		}
	}
	return false
}

// looksLikeError reports whether a line of a program's output describes an error.
func looksLikeError(line string) bool {
	return errorLine().MatchString(line) && !successLine().MatchString(line)
}
