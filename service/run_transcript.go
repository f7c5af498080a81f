package service

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"taskyard/db"
	"taskyard/task"
)

// Bounds of one part of a transcript. A page of it must stay small, however
// long its lines are; of each text the first lineShown characters count.
const (
	partLines = 150
	partShown = 48 << 10 // bytes on the page, about
	lineShown = 2000     // characters of a text
	partAbove = 12       // lines before the one that is asked for
)

// TranscriptPart returns a part of a run's transcript that fits a page.
// Errors: unknown run, unknown kind.
func (s *Service) TranscriptPart(ctx context.Context, a task.Actor, run task.ID,
	q task.TranscriptQuery,
) (p task.TranscriptPart, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return p, err
	}
	if err := q.Check(); err != nil {
		return p, err
	}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error {
		p = task.TranscriptPart{}
		r, err := rx.Run(run)
		if err != nil {
			return err
		}
		if q.Text != "" {
			if err := findHits(rx, run, q, &p); err != nil {
				return err
			}
		}
		if err := readPart(rx, run, q, &p); err != nil {
			return err
		}
		if r.Status == task.RunFailed {
			if p.FirstError, err = firstError(rx, run); err != nil {
				return err
			}
		}
		return aboutProgram(rx, r, &p)
	})
	return p, err
}

// findHits looks for the text and chooses the hit that the part is around.
func findHits(rx *db.Rx, run task.ID, q task.TranscriptQuery, p *task.TranscriptPart) error {
	ids, err := rx.LineHits(run, q.Text)
	if err != nil || len(ids) == 0 {
		return err
	}
	p.Hits = len(ids)
	at := len(ids) - 1
	if q.At != 0 {
		at, _ = slices.BinarySearch(ids, q.At)
		at = min(at, len(ids)-1)
	}
	p.Hit, p.HitID = at+1, ids[at]
	if at > 0 {
		p.Prev = ids[at-1]
	}
	if at+1 < len(ids) {
		p.Next = ids[at+1]
	}
	return nil
}

func readPart(rx *db.Rx, run task.ID, q task.TranscriptQuery, p *task.TranscriptPart) error {
	at := q.At
	if q.Text != "" && p.HitID != 0 && q.Before == 0 {
		at = p.HitID
	}
	if at == 0 || q.Before != 0 {
		before := q.Before
		if before == 0 {
			before = 1<<62 - 1
		} else {
			p.Later = true
		}
		lines, more, err := collectLines(partLines, partShown, before,
			func(from task.ID, n int) ([]task.TranscriptLine, error) { return rx.LinesBefore(run, q.Kind, from, n) })
		slices.Reverse(lines)
		p.Lines, p.Earlier = lines, more
		return err
	}
	above, more, err := collectLines(partAbove, partShown/4, at,
		func(from task.ID, n int) ([]task.TranscriptLine, error) { return rx.LinesBefore(run, q.Kind, from, n) })
	if err != nil {
		return err
	}
	slices.Reverse(above)
	p.Earlier = more
	below, more, err := collectLines(partLines-partAbove, partShown*3/4, at, func(from task.ID, n int) ([]task.TranscriptLine, error) {
		if from != at {
			from++
		}
		return rx.LinesFrom(run, q.Kind, from, n)
	})
	p.Lines, p.Later = slices.Concat(above, below), more
	return err
}

// collectLines reads on until as many lines or bytes are there as fit, at
// least one line, and reports whether there are more. next gets the id of the
// last line that was read.
func collectLines(fit, shown int, from task.ID,
	next func(task.ID, int) ([]task.TranscriptLine, error),
) (out []task.TranscriptLine, more bool, err error) {
	const step = 50
	for {
		list, err := next(from, step)
		if err != nil {
			return nil, false, err
		}
		for i := range list {
			size := task.ShownBytes(list[i].Content, lineShown) + task.ShownBytes(string(list[i].Data), lineShown)
			if len(out) > 0 && (len(out) == fit || size > shown) {
				return out, true, nil
			}
			shown -= size
			out = append(out, list[i])
			from = list[i].ID
		}
		if len(list) < step {
			return out, false, nil
		}
	}
}

// Bounds of the search for the first error of a run: so much from its
// beginning, then, where that shows none, a part as long as a page at its end.
const (
	errorLines = 2000
	errorBytes = 512 << 10
)

// firstError returns what looks like the first error of a run, or nil.
func firstError(rx *db.Rx, run task.ID) (*task.ErrorExcerpt, error) {
	var scan task.ErrorScanner
	size := 0
	for from, n := task.ID(0), 0; n < errorLines && size < errorBytes; {
		list, err := rx.LinesFrom(run, "", from+1, partLines)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if scan.Add(&list[i].Message) {
				return scan.Excerpt(), nil
			}
			size += len(list[i].Content)
			from = list[i].ID
		}
		if n += len(list); len(list) < partLines {
			return scan.Excerpt(), nil
		}
	}
	if found := scan.Excerpt(); found != nil {
		return found, nil
	}
	list, err := rx.LinesBefore(run, "", 1<<62-1, partLines)
	scan = task.ErrorScanner{}
	for i := len(list) - 1; i >= 0 && !scan.Add(&list[i].Message); i-- {
	}
	return scan.Excerpt(), err
}

// aboutProgram reads what the program told of itself, and its turns so far.
func aboutProgram(rx *db.Rx, r *task.Run, p *task.TranscriptPart) error {
	list, err := rx.SessionData(r.ID)
	if err != nil {
		return err
	}
	for _, raw := range list {
		var d struct {
			Session, SessionID, ThreadID, Version string
		}
		if json.Unmarshal([]byte(raw), &d) != nil {
			continue
		}
		for _, id := range []string{d.Session, d.SessionID, d.ThreadID} {
			if id != "" {
				p.Session = id
			}
		}
		if d.Version != "" {
			p.Version = d.Version
		}
	}
	if r.Limits.MaxTurns > 0 {
		p.Turns, err = rx.UsageReports(r.ID)
	}
	return err
}

// TranscriptAfter returns up to limit lines of a run after an id, oldest first,
// as a page shows them: as many as make a part of it. Errors: unknown run, unknown kind.
func (s *Service) TranscriptAfter(ctx context.Context, a task.Actor, run task.ID, kind string,
	after task.ID, limit int,
) ([]task.TranscriptLine, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	if err := (task.TranscriptQuery{Kind: kind}).Check(); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]task.TranscriptLine, error) {
		if _, err := rx.Run(run); err != nil {
			return nil, err
		}
		list, _, err := collectLines(limit, partShown, after, func(from task.ID, n int) ([]task.TranscriptLine, error) {
			return rx.LinesFrom(run, kind, from+1, n)
		})
		return list, err
	})
}

// TranscriptLine returns one line of a run, whole. Error: no such line.
func (s *Service) TranscriptLine(ctx context.Context, a task.Actor, run, id task.ID) (*task.Message, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	m, err := read(ctx, s, func(rx *db.Rx) (*task.Message, error) {
		if err := s.checkRunVisible(rx, a, run); err != nil {
			return nil, err
		}
		return rx.Line(run, id)
	})
	if m == nil && err == nil {
		return nil, task.Errorf(task.NotFound, task.CodeNotFound, "Run %d has no line %d", run, id)
	}
	return m, err
}

// Attempts returns the runs of the same task right before and after a run, and
// the plan of the run that it is compared with: the one that it retries, or
// else the one before. They are zero and nil if there are none.
type Attempts struct {
	Prev, Next task.ID
	Last       *task.Run
	LastText   string // the definition of Last, as it was
	Text       string // that of this run
}

// RunAttempts returns the attempts before and after a run. Error: may not read.
func (s *Service) RunAttempts(ctx context.Context, a task.Actor, r *task.Run) (at Attempts, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return at, err
	}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error {
		at = Attempts{}
		if at.Prev, at.Next, err = rx.Attempts(r); err != nil {
			return err
		}
		if at.Text, err = rx.Definition(r.DefinitionHash); err != nil {
			return err
		}
		last := cmp.Or(r.RetryOf, at.Prev)
		if last == 0 {
			return nil
		}
		if at.Last, err = rx.Run(last); err != nil {
			return err
		}
		at.LastText, err = rx.Definition(at.Last.DefinitionHash)
		return err
	})
	return at, err
}
