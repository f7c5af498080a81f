package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"taskyard/task"
)

// The bounds of grep.
const (
	maxHits      = 100
	maxGrepSize  = 16 << 20 // bytes of a file
	maxGrepLine  = 500      // characters of a line
	maxGrepChars = 200_000  // of one answer
)

const grepAbout = "Search the text files in the workspace by regular expression (RE2): path:line:text, context lines " +
	"as path-line-text. At most 100 matches; offset shows the rest. Binary files, links and .git are skipped."

type grepArgs struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	IgnoreCase bool   `json:"ignore_case"`
	Context    int    `json:"context"`
	Offset     int    `json:"offset"`
}

// search is one run of grep.
type search struct {
	re      *pattern
	context int
	from    int // hits to skip
	hits    int // so far, including skipped ones
	full    bool
	cut     bool // a line was truncated
	skipped struct{ binary, links, large int }
	out     strings.Builder
}

func (b *Box) grep(ctx context.Context, a grepArgs) (Result, error) {
	name, err := b.place(a.Path)
	if err != nil {
		return Result{}, err
	}
	expr := a.Pattern
	if a.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := compilePattern(expr)
	if err != nil {
		return Result{}, fmt.Errorf("pattern: %w", err)
	}
	timed, cancel := b.timed(ctx)
	defer cancel()
	matches, err := grepFilter(timed, name, a.Glob)
	if err != nil {
		return Result{}, err
	}
	s := &search{re: re, context: a.Context, from: max(a.Offset, 1) - 1}
	info, err := b.root.Stat(name)
	if err != nil {
		return Result{}, pathError(name, err)
	}
	complete := true
	if info.IsDir() {
		complete, err = b.walk(timed, name, func(name string, e fs.DirEntry) error {
			if !e.Type().IsRegular() || !matches(name) {
				return nil
			}
			return s.file(timed, b, name)
		})
	} else {
		var text []byte
		if text, err = b.load(name); err == nil {
			err = s.lines(timed, name, text)
		}
	}
	if err = interrupted(timed, err); err != nil && !errors.Is(err, errEnough) {
		return Result{}, err
	}
	return s.result(complete)
}

// grepFilter returns a function that tests names: a glob without a slash
// applies to the last element.
func grepFilter(ctx context.Context, folder, glob string) (func(string) bool, error) {
	if glob == "" {
		return func(string) bool { return true }, nil
	}
	matches, err := matcher(ctx, folder, glob)
	if err != nil {
		return nil, fmt.Errorf("glob: %s", strings.TrimPrefix(err.Error(), "pattern: "))
	}
	if strings.Contains(glob, "/") {
		return matches, nil
	}
	matches, err = matcher(ctx, ".", glob)
	return func(name string) bool { return matches(path.Base(name)) }, err
}

// load reads a whole file for a search. Its errors say what is skipped.
func (b *Box) load(name string) ([]byte, error) {
	f, info, err := b.openFile(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info.Size() > maxGrepSize {
		return nil, errLarge
	}
	text, err := io.ReadAll(io.LimitReader(f, maxGrepSize))
	if err != nil {
		return nil, pathError(name, err)
	}
	if isBinary(text) {
		return nil, errBinary
	}
	return text, nil
}

var errLarge = fmt.Errorf("the file is larger than %s bytes: it is not searched; read it in parts", count(maxGrepSize))

// file searches one of many files. Files that cannot be searched are counted.
func (s *search) file(ctx context.Context, b *Box, name string) error {
	text, err := b.load(name)
	switch {
	case errors.Is(err, errBinary):
		s.skipped.binary++
	case errors.Is(err, errLarge):
		s.skipped.large++
	case err != nil:
		s.skipped.links++ // mostly hard links; or it cannot be read
	default:
		return s.lines(ctx, name, text)
	}
	return nil
}

// lines searches a text. It keeps only the preceding lines that may be needed
// as context, because a text may consist of line breaks only.
func (s *search) lines(ctx context.Context, name string, text []byte) error {
	var before [][]byte      // the last lines, at most context
	printed, until := -1, -1 // last line written; last line of the context after a hit
	for i, more := 0, true; more; i++ {
		if i%1000 == 0 && ctx.Err() != nil {
			return errStopped
		}
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		more = len(text) > 0
		hit := s.re.match(ctx, bytes.TrimSuffix(line, []byte("\r")))
		if hit {
			if s.hits >= s.from+maxHits || s.out.Len() > maxGrepChars {
				s.full = true
				return errEnough
			}
			s.hits++
		}
		if hit && s.hits > s.from {
			first := max(i-len(before), printed+1)
			if s.context > 0 && printed >= 0 && first > printed+1 {
				s.out.WriteString("--\n")
			}
			for ; first < i; first++ {
				s.write(name, first, before[len(before)-(i-first)], '-')
			}
			until = i + s.context
			s.write(name, i, line, ':')
			printed = i
		} else if i <= until && !hit {
			s.write(name, i, line, '-')
			printed = i
		}
		if before = append(before, line); len(before) > s.context {
			before = before[1:]
		}
	}
	return nil
}

// write adds one line, truncated at its end.
func (s *search) write(name string, i int, line []byte, mark byte) {
	shown, total := lineWindow(task.CleanText(string(bytes.TrimSuffix(line, []byte("\r")))), 1, maxGrepLine)
	if total > maxGrepLine {
		shown, s.cut = shown+"…", true
	}
	fmt.Fprintf(&s.out, "%s%c%d%c%s\n", quoteUnprintable(name), mark, i+1, mark, shown)
}

func (s *search) result(complete bool) (Result, error) {
	switch {
	case s.hits == 0:
		s.out.WriteString("nothing matches\n")
	case s.hits <= s.from:
		return Result{}, fmt.Errorf("offset: there are %s", plural(s.hits, "hit"))
	case s.full:
		fmt.Fprintf(&s.out, "[hits %s to %s, there are more; continue with offset=%d, or narrow the pattern]\n",
			count(s.from+1), count(s.hits), s.hits+1)
	}
	if s.cut {
		fmt.Fprintf(&s.out, "[lines are cut at %d characters; read shows them whole]\n", maxGrepLine)
	}
	if n := s.skipped; n.binary+n.links+n.large > 0 {
		fmt.Fprintf(&s.out, "[not searched: %d binary, %d larger than 16 MiB, %d hard links or unreadable]\n", n.binary, n.large, n.links)
	}
	return Result{Text: s.out.String() + cutShort(complete)}, nil
}
