package handlers

import (
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// How much of a change a review shows initially: files are opened until this
// many lines are reached; the others are loaded when they are opened.
const (
	reviewLines   = 400
	reviewFiles   = 12 // at most; each is read from the repository
	reviewContext = 3  // unchanged lines around a change
)

func (s *Server) reviewPage(c echo.Context, ch views.Chrome, id task.ID) (templ.Component, error) {
	m, err := s.review(c, id, reviewQuery(c))
	if err != nil {
		return nil, err
	}
	return views.ReviewPage(ch, m), nil
}

// reviewFilePage shows the change of one file, with the form for a comment if
// the URL requests it.
func (s *Server) reviewFilePage(c echo.Context, ch views.Chrome, id task.ID) (templ.Component, error) {
	m, err := s.reviewFile(c, id, reviewQuery(c))
	if err != nil {
		return nil, err
	}
	return views.ReviewFilePage(ch, m), nil
}

func (s *Server) checkPage(c echo.Context, ch views.Chrome, id task.ID) (templ.Component, error) {
	check, err := idParam(c, "check")
	if err != nil {
		return nil, err
	}
	t, err := s.svc.Task(c.Request().Context(), actorFrom(c), id)
	if err != nil {
		return nil, err
	}
	run, err := s.svc.CheckRun(c.Request().Context(), actorFrom(c), id, check)
	return views.CheckPage(ch, t, run), err
}

func reviewQuery(c echo.Context) views.ReviewQuery {
	n := func(name string) int { // invalid numbers count as 0
		n, _ := strconv.Atoi(c.QueryParam(name))
		return max(0, n)
	}
	q := views.ReviewQuery{
		Result: n("result"), Since: n("since"), View: c.QueryParam("view"), Path: c.QueryParam("path"),
		Side: c.QueryParam("side"), Line: n("line"), Form: c.QueryParam("form") != "",
	}
	if q.Side != "old" {
		q.Side = "new"
	}
	return q
}

// reviewBase loads what both pages of a review show.
func (s *Server) reviewBase(c echo.Context, id task.ID, q views.ReviewQuery) (m views.ReviewModel, err error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	m = views.ReviewModel{Query: q, Key: views.NewKey()}
	if m.Task, err = s.svc.Task(ctx, a, id); err != nil {
		return m, err
	}
	results, err := s.svc.Results(ctx, a, id)
	if err != nil {
		return m, err
	}
	if len(results) > 0 {
		m.Newest = results[0].Number
	}
	if i := slices.IndexFunc(results, func(r *task.Result) bool { return q.Result == 0 || r.Number == q.Result }); i >= 0 {
		m.Result = results[i]
	} else if m.Result, err = s.svc.Result(ctx, a, id, q.Result); err != nil { // none, or older than those listed
		return m, err
	}
	prefs, err := s.preferences(c)
	if err != nil {
		return m, err
	}
	m.Split = q.View == "split" || q.View == "" && prefs[task.PrefDiff] == "split"
	if m.Comments, err = s.svc.ReviewComments(ctx, a, id); err != nil {
		return m, err
	}
	if m.Result.Number != m.Newest {
		m.Comments = nil // their line numbers refer to the newest result
	}
	m.Reviewed = reviewedBefore(a.Name, m.Result.Number, results, m.Comments)
	m.Missing = m.Result.VotesMissing()
	into := ""
	if m.Task.Project != "" {
		p, err := s.svc.Project(ctx, a, m.Task.Project)
		if err != nil {
			return m, err
		}
		if p.Merge != nil {
			into = p.Merge.Into
		}
	}
	m.Then = views.AfterAcceptance(m.Task, m.Result, into)
	if e, ok := knownError(s.svc.MayVote(a, m.Result)); ok {
		m.MayVote = e.Message + "."
	}
	return m, nil
}

// reviewedBefore returns the last result before number that a person voted on
// or commented on, 0 for none.
func reviewedBefore(name string, number int, results []*task.Result, comments []task.ReviewComment) int {
	last := 0
	for _, r := range results {
		if r.Number >= number {
			continue
		}
		for _, v := range r.Votes {
			if v.By == name {
				last = max(last, r.Number)
			}
		}
		for i := range comments {
			if cm := &comments[i]; cm.ResultID == r.ID && cm.Author == name && cm.State != task.CommentDraft {
				last = max(last, r.Number)
			}
		}
	}
	return last
}

// review loads the page of a result, with the lines of its first files.
func (s *Server) review(c echo.Context, id task.ID, q views.ReviewQuery) (views.ReviewModel, error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	m, err := s.reviewBase(c, id, q)
	if err != nil || m.Result.Head == "" {
		return m, err
	}
	list, total, err := s.svc.ResultFiles(ctx, a, id, m.Result.Number, q.Since)
	if e, ok := knownError(err); ok {
		m.NoFiles = e.Message
		return m, nil
	}
	if err != nil {
		return m, err
	}
	m.Total, m.Files = total, make([]views.ReviewFile, len(list))
	for i := range list {
		m.Files[i].FileChange = list[i]
	}
	if err := s.markViewed(c, &m); err != nil {
		return m, err
	}
	return m, s.openFiles(c, &m)
}

// openFiles loads the lines of the files that are initially open: the first
// ones, and those with comments.
func (s *Server) openFiles(c echo.Context, m *views.ReviewModel) error {
	commented := map[string]bool{}
	for i := range m.Comments {
		if cm := &m.Comments[i]; cm.State != task.CommentResolved {
			commented[cm.Path] = true
		}
	}
	lines, files := 0, 0
	for i := range m.Files {
		f := &m.Files[i]
		n := f.Added + f.Removed
		fits := !f.Viewed && (lines+n <= reviewLines || lines == 0 && n <= 2*reviewLines)
		if files == reviewFiles || !fits && !commented[f.Path] {
			continue
		}
		files++
		lines += n
		if err := s.loadFile(c, m, f); err != nil {
			return err
		}
	}
	return nil
}

// loadFile loads the lines of a file, or sets why they cannot be shown.
func (s *Server) loadFile(c echo.Context, m *views.ReviewModel, f *views.ReviewFile) error {
	got, err := s.svc.ResultDiff(c.Request().Context(), actorFrom(c), m.Task.ID, m.Result.Number, m.Query.Since, f.Path, reviewContext)
	if e, ok := knownError(err); ok && e.Kind != task.NotFound {
		f.Loaded, f.Note = true, e.Message
		return nil
	}
	if err != nil {
		return err
	}
	f.FileChange, f.Loaded = *got, true
	f.Cut()
	return nil
}

// reviewFile loads the page of one file.
func (s *Server) reviewFile(c echo.Context, id task.ID, q views.ReviewQuery) (views.ReviewModel, error) {
	m, err := s.reviewBase(c, id, q)
	if err != nil {
		return m, err
	}
	m.Files = []views.ReviewFile{{FileChange: task.FileChange{Path: q.Path, Change: task.FileModified}}}
	if err := s.loadFile(c, &m, &m.Files[0]); err != nil {
		return m, err
	}
	return m, s.markViewed(c, &m)
}

// viewedMark returns the mark of a viewed file: that of its diff, and the
// result in which it was seen: "3f…@2".
func viewedMark(f *task.FileChange, result int) string {
	return views.ReviewMark(f) + "@" + strconv.Itoa(result)
}

// maxMarks bounds the marks that a page compares with a diff.
const maxMarks = 50

// markViewed marks the files that the reader has viewed in their current state.
// Files that no commit has changed since then are unchanged; only those that a
// rebase may have moved are compared.
func (s *Server) markViewed(c echo.Context, m *views.ReviewModel) error {
	ctx, a := c.Request().Context(), actorFrom(c)
	viewed, err := s.svc.ViewedFiles(ctx, a, m.Task.ID)
	if err != nil || len(viewed) == 0 {
		return err
	}
	touched := map[int]map[string]bool{} // by result of the mark; nil: its branch began elsewhere
	compared := 0
	for i := range m.Files {
		f := &m.Files[i]
		mark, at, ok := strings.Cut(viewed[f.Path], "@")
		n, err := strconv.Atoi(at)
		if !ok || err != nil {
			continue
		}
		if n == m.Result.Number {
			f.Viewed = true
			continue
		}
		paths, known := touched[n]
		if !known {
			if paths, err = s.touchedSince(c, m, n); err != nil {
				return err
			}
			touched[n] = paths
		}
		switch {
		case paths != nil:
			f.Viewed = !paths[f.Path]
		case compared < maxMarks:
			compared++
			got, err := s.svc.ResultDiff(ctx, a, m.Task.ID, m.Result.Number, 0, f.Path, reviewContext)
			f.Viewed = err == nil && views.ReviewMark(got) == mark
		}
	}
	return nil
}

// touchedSince returns the files that differ between an earlier result and the
// one shown; nil if they began at different commits, or the difference is
// unknown.
func (s *Server) touchedSince(c echo.Context, m *views.ReviewModel, number int) (map[string]bool, error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	before, err := s.svc.Result(ctx, a, m.Task.ID, number)
	if task.IsCode(err, task.CodeResultNotFound) || err == nil && before.Base != m.Result.Base {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, total, err := s.svc.ResultFiles(ctx, a, m.Task.ID, m.Result.Number, number)
	if _, ok := knownError(err); ok || err == nil && total > len(list) {
		return nil, nil
	}
	paths := map[string]bool{}
	for i := range list {
		paths[list[i].Path] = true
	}
	return paths, err
}
