package task

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestLooksLikeError checks lines as compilers, tests, shells and runtimes write them.
func TestLooksLikeError(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"error: cannot find module", "Error: ENOENT", "TypeError: x is not a function", "error[E0308]: mismatched types",
		"./main.go:12:3: undefined: foo", "panic: runtime error: index out of range", "fatal: not a git repository",
		"--- FAIL: TestX (0.00s)", "FAIL\ttaskyard/task\t0.1s", "Traceback (most recent call last):",
		"java.lang.IllegalStateException: closed", "sh: 1: foo: command not found", "cat: x: No such file or directory",
		"2026-01-02 ERROR connection refused", `time=x level=error msg="no"`, "npm ERR! missing script", "  ✗ adds numbers",
		"main.c:3:5: error: expected ';'", "Segmentation fault (core dumped)", "Uncaught Exception", "make: *** [Makefile:3: all] Error 2",
	} {
		if !looksLikeError(line) {
			t.Errorf("%q: got false, want true", line)
		}
	}
	for _, line := range []string{
		"", "ok  \ttaskyard/task\t0.1s", "0 errors, 3 warnings", "build finished without errors", "12 passed, 0 failed",
		"errors: 0", "compiling error.go", "the error handling is better now", "FAILOVER is on", "see main.go:12 for more",
	} {
		if looksLikeError(line) {
			t.Errorf("%q: got true, want false", line)
		}
	}
}

func TestErrorScannerKeepsSixLinesAroundTheFirstError(t *testing.T) {
	t.Parallel()
	log := func(id ID, text string) Message { return Message{ID: id, Type: "log", Content: text} }
	result := func(id ID, text, data string) Message {
		return Message{ID: id, Type: "tool_result", Content: text, Data: json.RawMessage(data)}
	}
	for name, c := range map[string]struct {
		messages []Message
		line     ID
		at       int
		lines    string
	}{
		"none": {[]Message{log(1, "all is well"), {ID: 2, Type: "text", Content: "Done."}}, 0, 0, ""},
		"one message per line": {
			[]Message{log(1, "a"), log(2, "b"), log(3, "c"), log(4, "error: d"), log(5, "e"), log(6, "f"), log(7, "error: g"), log(8, "h")},
			4, 2, "b|c|error: d|e|f|error: g",
		},
		"within one message":           {[]Message{log(1, "a\nb\nc\n\x1b[31merror: d\x1b[0m\r\ne\n")}, 1, 2, "b|c|error: d|e"},
		"a failed tool call":           {[]Message{result(1, "exit status 1\nno more", `{"isError":true}`)}, 1, 0, "exit status 1|no more"},
		"a successful call is ignored": {[]Message{result(1, "error: in a file that was read", `{}`), log(2, "error: x")}, 2, 0, "error: x"},
		"a prompt is ignored":          {[]Message{{ID: 1, Type: "prompt", Content: "error: x"}}, 0, 0, ""},
		"other output is omitted": {
			[]Message{log(1, "a"), result(2, "read", `{}`), log(3, "error: x"), result(4, "y", `{}`), log(5, "z")},
			3, 0, "error: x",
		},
		"an error message": {[]Message{{ID: 9, Type: "error", Content: "The API refused the key."}}, 9, 0, "The API refused the key."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s ErrorScanner
			for i := range c.messages {
				if s.Add(&c.messages[i]) {
					break
				}
			}
			e := s.Excerpt()
			if e == nil {
				e = &ErrorExcerpt{}
			}
			lines := strings.FieldsFunc(c.lines, func(r rune) bool { return r == '|' })
			if e.Line != c.line || e.Line != 0 && e.Error != e.Lines[c.at] || !slices.Equal(e.Lines, lines) {
				t.Errorf("got %+v, want line %d, %d of %q", e, c.line, c.at, c.lines)
			}
		})
	}
}
