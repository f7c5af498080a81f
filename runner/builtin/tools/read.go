package tools

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"taskyard/task"
)

// The bounds of read.
const (
	readLines    = 500
	maxReadLines = 2000
	maxReadChars = 200_000  // of one answer
	maxLineChars = 2000     // of one line
	maxReadSize  = 16 << 20 // bytes of a file
)

const readAbout = "Read a text file in the workspace, with line numbers: 500 lines by default, at most 2,000. " +
	"Lines are cut at 2,000 characters; column shows the rest. Binary files are refused."

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
	Column int    `json:"column"`
}

// page is the part of a file that a read shows.
type page struct {
	from, limit, column int // first line, number of lines, first character; counted from 1
	out                 strings.Builder
	chars, shown, lines int  // characters written, lines written, lines in the file
	full                bool // no more lines fit
	cutLine, cutColumn  int  // the first truncated line, and where it continues
}

func (b *Box) read(ctx context.Context, a readArgs) (Result, error) {
	name, err := b.place(a.Path)
	if err != nil {
		return Result{}, err
	}
	f, info, err := b.openFile(name)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = f.Close() }()
	if info.Size() > maxReadSize {
		return Result{}, fmt.Errorf("%s is %s bytes long, at most %s can be read: look for what you need with grep or bash",
			name, count(info.Size()), count(maxReadSize))
	}
	p := &page{from: max(a.Offset, 1), limit: cmp.Or(a.Limit, readLines), column: max(a.Column, 1)}
	sum := sha256.New()
	err = eachLine(ctx, io.TeeReader(io.LimitReader(f, maxReadSize+1), sum), p.add)
	if errors.Is(err, errBinary) {
		return Result{}, fmt.Errorf("%s is a binary file (%s bytes): it is not shown", name, count(info.Size()))
	}
	if err != nil {
		return Result{}, pathError(name, err)
	}
	b.remember(name, [32]byte(sum.Sum(nil)))
	return p.result(name)
}

// add adds one line of the file.
func (p *page) add(line string) {
	p.lines++
	if p.lines < p.from || p.shown >= p.limit || p.full {
		return
	}
	line = task.CleanText(line)
	shown, total := lineWindow(line, p.column, maxLineChars)
	if p.chars += len(shown) + 8; p.chars > maxReadChars && p.shown > 0 {
		p.full = true
		return
	}
	p.shown++
	fmt.Fprintf(&p.out, "%6d\t%s", p.lines, shown)
	if end := p.column - 1 + maxLineChars; total > end {
		p.out.WriteString("…")
		if p.cutLine == 0 {
			p.cutLine, p.cutColumn = p.lines, end+1
		}
	}
	p.out.WriteByte('\n')
}

// result returns the text, with what was left out and how to read it.
func (p *page) result(name string) (Result, error) {
	switch {
	case p.lines == 0:
		return Result{Text: name + " is empty"}, nil
	case p.shown == 0:
		return Result{}, fmt.Errorf("offset: %s has %s, line %s is past its end", name, plural(p.lines, "line"), count(p.from))
	}
	last := p.from + p.shown - 1
	if p.cutLine > 0 {
		fmt.Fprintf(&p.out, "[lines are cut at 2,000 characters, line %d first; continue with offset=%d limit=1 column=%d]\n",
			p.cutLine, p.cutLine, p.cutColumn)
	}
	if last < p.lines {
		fmt.Fprintf(&p.out, "[lines %s to %s of %s; continue with offset=%d]\n", count(p.from), count(last), count(p.lines), last+1)
	}
	return Result{Text: p.out.String()}, nil
}

var errBinary = errors.New("binary")

// eachLine calls each with every line without its ending. It returns errBinary
// if there is a NUL near the beginning.
func eachLine(ctx context.Context, r io.Reader, each func(string)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	if head, _ := in.Peek(sniff); isBinary(head) {
		return errBinary
	}
	for ctx.Err() == nil {
		line, err := in.ReadString('\n')
		if line != "" {
			each(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return errStopped
}
