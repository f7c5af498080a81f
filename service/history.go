package service

import (
	"context"
	"time"

	"taskyard/db"
	"taskyard/task"
)

const (
	maxHistoryTimes = 92     // bars of a chart
	countedHistory  = 10_000 // tasks that a chart counts one by one
	countedMatches  = 500    // those that a search matches: words that appear everywhere are walked through
	minHistoryDays  = 14     // below, a chart shows more than was asked for
	excerptBytes    = 160
)

// History returns archived tasks, newest first; those that a search matches,
// last created first; to an agent with tasks:own those that it owned, or
// created when f asks for these. Errors: bad limit, cursor or label.
func (s *Service) History(ctx context.Context, a task.Actor, f task.HistoryFilter) (p Page, err error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return p, err
	}
	if err := checkHistory(f); err != nil {
		return p, err
	}
	if s.narrowList(a, &f.Owner, f.CreatedBy) {
		return Page{Tasks: []*task.Task{}}, nil
	}
	if f.Limit < 1 || f.Limit > 200 {
		return p, task.FieldErrorf("limit", "must be 1 to 200")
	}
	err = s.db.Read(ctx, func(rx *db.Rx) error {
		if p.Tasks, p.Next, err = rx.History(f); err != nil || f.Query == "" {
			return err
		}
		state, err := rx.IndexState()
		p.Indexing = Indexing(state)
		return err
	})
	return p, err
}

func checkHistory(f task.HistoryFilter) error {
	if f.Label != "" && !task.ValidLabel(f.Label) {
		return task.FieldErrorf("label", "must be 1 to 32 characters of a-z, 0-9 and -")
	}
	if f.Status != "" && !f.Status.Archived() {
		return task.FieldErrorf("status", "must be done or canceled")
	}
	return nil
}

// EachHistory calls fn with each archived task of a filter, in the order of
// History, about 200 at a time; Limit and Before of the filter do not count.
// It ends with the first error of fn.
func (s *Service) EachHistory(ctx context.Context, a task.Actor, f task.HistoryFilter, fn func([]*task.Task) error) error {
	f.Limit, f.Before = 200, ""
	for {
		p, err := s.History(ctx, a, f)
		if err == nil {
			err = fn(p.Tasks)
		}
		if err != nil || p.Next == "" {
			return err
		}
		f.Before = p.Next
	}
}

// HistoryPage is a page of the history with all that is shown of it.
type HistoryPage struct {
	Page
	Hits  map[task.ID]task.Hit // where a search matched
	Times task.HistoryTimes    // see Service.HistoryTimes
}

// HistoryPage returns archived tasks as History does, with where a search
// matched them, and counts them as HistoryTimes does. Errors: those of History.
func (s *Service) HistoryPage(ctx context.Context, a task.Actor, f task.HistoryFilter, zone *time.Location) (p HistoryPage, err error) {
	if p.Page, err = s.History(ctx, a, f); err != nil {
		return p, err
	}
	if p.Hits, err = s.Hits(ctx, a, f.Query, p.Tasks); err != nil {
		return p, err
	}
	if f.Before == "" && p.Next == "" && f.From == 0 && f.To == 0 && isCountedByTask(f) {
		p.Times, err = s.historyTimes(ctx, f, zone, startTimes(p.Tasks)) // they are all there already
		return p, err
	}
	p.Times, err = s.historyTimes(ctx, f, zone, nil)
	return p, err
}

// Hits returns where a search matched each of some tasks that it found.
func (s *Service) Hits(ctx context.Context, a task.Actor, q string, tasks []*task.Task) (map[task.ID]task.Hit, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) (map[task.ID]task.Hit, error) { return findTaskHits(rx, q, tasks) })
}

func startTimes(tasks []*task.Task) []task.HistoryTime {
	list := make([]task.HistoryTime, len(tasks))
	for i, tk := range tasks {
		list[i].Start = tk.ArchivedAt
		if tk.Status == task.Done {
			list[i].Done = 1
		} else {
			list[i].Canceled = 1
		}
	}
	return list
}

// findTaskHits finds for each task the text in which most words of a search appear
// together; at a tie the first of description, summary, comments and runs. A
// line of a transcript has all words, so it comes before a text that has not.
func findTaskHits(rx *db.Rx, q string, tasks []*task.Task) (map[task.ID]task.Hit, error) {
	if q == "" {
		return nil, nil
	}
	m, hits, best := task.NewMatcher(q), make(map[task.ID]task.Hit, len(tasks)), map[task.ID]int{}
	show := func(id task.ID, t task.HitText) {
		if list, n := m.Excerpt(t.Text, excerptBytes); n > best[id] {
			best[id] = n
			hits[id] = task.Hit{Title: hits[id].Title, Place: t.Place, By: t.By, Message: t.Message, Run: t.Run, Text: list}
		}
	}
	var unmatched []task.ID
	for _, tk := range tasks {
		hits[tk.ID] = task.Hit{Title: m.Mark(tk.Title)}
		texts, err := rx.SearchTexts(tk.ID)
		if err != nil {
			return nil, err
		}
		for _, t := range texts {
			show(tk.ID, t)
		}
		if !m.All(best[tk.ID]) {
			unmatched = append(unmatched, tk.ID)
		}
	}
	lines, err := rx.MatchingLines(unmatched, q)
	for id, t := range lines {
		show(id, t)
	}
	return hits, err
}

// HistoryTimes counts the tasks of a filter by days of a zone, or by weeks,
// months or years where there are too many days. Without from and to it returns
// of the last 30 days; a short time lies amid the days around it. Tasks that
// are narrowed by text, creator or label are counted one by one, the newest
// alone where they are very many.
func (s *Service) HistoryTimes(ctx context.Context, a task.Actor, f task.HistoryFilter,
	zone *time.Location,
) (out task.HistoryTimes, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return out, err
	}
	if err := checkHistory(f); err != nil {
		return out, err
	}
	return s.historyTimes(ctx, f, zone, nil)
}

// historyTimes is HistoryTimes of a list that was counted already, if it is
// not nil.
func (s *Service) historyTimes(ctx context.Context, f task.HistoryFilter, zone *time.Location,
	list []task.HistoryTime,
) (out task.HistoryTimes, err error) {
	var starts []task.Time
	starts, out.Unit = task.Calendar(historySpan(f, s.Now(), zone))
	for _, at := range starts[:len(starts)-1] {
		out.Times = append(out.Times, task.HistoryTime{Start: at})
	}
	f.From, f.To = starts[0], starts[len(starts)-1]
	out.End = f.To
	if list == nil {
		err = s.db.Read(ctx, func(rx *db.Rx) error {
			list, err = s.countHistory(rx, f, &out)
			return err
		})
	}
	for _, t := range list {
		i := task.CalendarIndex(starts, t.Start)
		if i < 0 {
			continue
		}
		at := &out.Times[i]
		if f.Status != task.Canceled {
			at.Done += t.Done
		}
		if f.Status != task.Done {
			at.Canceled += t.Canceled
		}
		if out.Runs {
			at.Failed += t.Failed
		}
	}
	return out, err
}

// isCountedByTask reports whether the tasks of a filter are counted one by one.
func isCountedByTask(f task.HistoryFilter) bool {
	return f.Query != "" || f.CreatedBy != "" || f.Label != ""
}

func (s *Service) countHistory(rx *db.Rx, f task.HistoryFilter, out *task.HistoryTimes) (list []task.HistoryTime, err error) {
	if isCountedByTask(f) {
		limit := countedHistory
		if f.Query != "" {
			limit = countedMatches
		}
		list, out.Cut, err = rx.HistoryCounts(f, limit)
		return list, err
	}
	out.Runs = f.Status == ""
	span := time.Hour
	if out.Unit != task.UnitDay {
		span = 24 * time.Hour
	}
	return rx.HistoryHours(f.Owner, f.From, f.To, span.Milliseconds())
}

// historySpan is what a chart of a filter shows, as Calendar takes it.
func historySpan(f task.HistoryFilter, now task.Time, zone *time.Location) (from, to task.Time, _ *time.Location, limit int) {
	const day = 24 * time.Hour
	tomorrow := task.TimeFromStd(task.Midnight(now, zone).AddDate(0, 0, 1))
	from, to = f.From, tomorrow
	if f.To != 0 {
		to = min(f.To, tomorrow)
	}
	if from == 0 || from >= to || to.Sub(from) < minHistoryDays*day {
		if from != 0 || f.To != 0 {
			to = min(to.Add(7*day), tomorrow)
		}
		from = to.Add(-30*day + 12*time.Hour) // clocks change by an hour, not by half a day
	}
	return from, to, zone, maxHistoryTimes
}
