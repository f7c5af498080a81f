package views

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// ReviewModel is the page on which people decide on a result.
type ReviewModel struct {
	Task     *task.Task
	Result   *task.Result // the displayed one
	Newest   int          // number of the newest result
	Query    ReviewQuery
	Split    bool // the diffs are side by side
	Files    []ReviewFile
	Total    int    // number of all files, of which Files may contain only the first
	NoFiles  string // why the files cannot be shown, or ""
	Comments []task.ReviewComment
	Reviewed int                // number of the last earlier result that the reader reviewed, 0 for none
	MayVote  string             // "": the reader may vote; otherwise why not
	Missing  int                // votes that it still needs
	Then     string             // effect of the last vote, as a sentence
	Notice   string             // why the last action failed
	Unsaved  []UnsavedField     // text typed into a form that no longer exists
	Differs  []string           // differences from what the reader decided on
	Seen     int                // number of the result that they decided on
	Text     string             // text in a form that failed
	Form     string             // which form: accept, request-changes, comment
	Draft    task.ReviewComment // the comment that failed
	Key      string
	Errors   ui.FieldErrors
}

// ReviewFile is a changed file of a result.
type ReviewFile struct {
	task.FileChange
	Loaded bool // its lines are in Diff
	Left   int  // lines of it that are omitted
	Viewed bool // by the reader, in its current state
}

// ReviewMark returns a mark for the changes of a file, which differs after
// further changes.
func ReviewMark(f *task.FileChange) string {
	sum := sha256.Sum256([]byte(string(f.Change) + "\x00" + f.Note + "\x00" + f.Diff))
	return hex.EncodeToString(sum[:])[:24]
}

// fileID returns the HTML ID of a file.
func fileID(path string) string {
	sum := sha256.Sum256([]byte(path))
	return "f-" + hex.EncodeToString(sum[:])[:10]
}

// current reports whether the newest result is shown, to which comments belong.
func (m *ReviewModel) current() bool { return m.Result.Number == m.Newest }

// commentable reports whether the reader may comment on lines here.
func (m *ReviewModel) commentable(c Chrome) bool {
	return c.CanWrite && m.current() && !m.Task.Status.Archived()
}

// decidable reports whether the result waits for votes.
func (m *ReviewModel) decidable() bool {
	return m.current() && m.Result.State == task.ResultReview && m.Task.Awaits == task.WaitsReview
}

// mayDecide reports whether the page has the forms of a decision.
func (m *ReviewModel) mayDecide(c Chrome) bool {
	return m.decidable() && c.CanDecide && m.MayVote == ""
}

// HasForm reports whether the page has the form that is open.
func (m *ReviewModel) HasForm(c Chrome) bool {
	switch m.Form {
	case "":
		return true
	case "comment":
		return m.commentable(c)
	}
	return m.mayDecide(c)
}

// query returns the query of this page with an explicit result.
func (m *ReviewModel) query() ReviewQuery {
	return ReviewQuery{Result: m.Result.Number, Since: m.Query.Since, View: m.Query.View}
}

// file returns the URL of one file's page.
func (m *ReviewModel) file(path string) string {
	q := m.query()
	q.Path = path
	return URL.ReviewFile(m.Task.ID, q)
}

// threads returns the comments on a file, including drafts, by line.
func (m *ReviewModel) threads(path string) []*task.ReviewComment {
	var list []*task.ReviewComment
	for i := range m.Comments {
		if c := &m.Comments[i]; c.Path == path && (path != "" || c.Path == "") {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *task.ReviewComment) int { return cmp.Compare(a.EndLine, b.EndLine) })
	return list
}

// general returns the comments on the whole result.
func (m *ReviewModel) general() []*task.ReviewComment { return m.threads("") }

// commented counts the comments on a file that are neither resolved nor
// answered, and all.
func (m *ReviewModel) commented(path string) (open, all int) {
	for _, c := range m.threads(path) {
		all++
		if c.State == task.CommentOpen || c.State == task.CommentDraft {
			open++
		}
	}
	return open, all
}

// drafts counts the reader's unsent comments.
func (m *ReviewModel) drafts() int {
	n := 0
	for i := range m.Comments {
		if m.Comments[i].State == task.CommentDraft {
			n++
		}
	}
	return n
}

// commentsElsewhere returns the comments on files that are not shown.
func (m *ReviewModel) commentsElsewhere() []*task.ReviewComment {
	shown := map[string]bool{"": true}
	for i := range m.Files {
		shown[m.Files[i].Path] = true
	}
	var list []*task.ReviewComment
	for i := range m.Comments {
		if !shown[m.Comments[i].Path] {
			list = append(list, &m.Comments[i])
		}
	}
	return list
}

// viewed counts the files that the reader has viewed.
func (m *ReviewModel) viewed() int {
	n := 0
	for i := range m.Files {
		if m.Files[i].Viewed {
			n++
		}
	}
	return n
}

func (m *ReviewModel) lines() (added, removed int) {
	for i := range m.Files {
		added, removed = added+m.Files[i].Added, removed+m.Files[i].Removed
	}
	return added, removed
}

// filesText returns the number of files, and of viewed ones.
func (m *ReviewModel) filesText() string {
	text := ui.Count(m.Total, "file", "files")
	if n := m.viewed(); n > 0 {
		text += ", " + strconv.Itoa(n) + " viewed"
	}
	return text
}

// placeText describes the position of a comment.
func placeText(c *task.ReviewComment) string {
	side := ""
	if c.Side == "old" {
		side = " before the change"
	}
	switch {
	case c.Path == "":
		return "the whole result"
	case c.Line == 0:
		return "the whole file"
	case c.EndLine > c.Line:
		return "lines " + strconv.Itoa(c.Line) + "–" + strconv.Itoa(c.EndLine) + side
	}
	return "line " + strconv.Itoa(c.Line) + side
}

// missingVotesText describes who can still vote.
func missingVotesText(m *ReviewModel) string {
	voters := cmp.Or(m.Result.MissingVoters(), "any reviewer")
	return ui.Count(m.Missing, "more vote is", "more votes are") + " needed, from " + voters + "."
}

// live returns the Chrome with the URL of the live part: the same result.
func (m *ReviewModel) live(c Chrome) Chrome {
	c.Path = URL.Review(m.Task.ID, m.query())
	return c
}

// shows reports whether the lines of a file are on the page.
func (m *ReviewModel) shows(path string) bool {
	return slices.ContainsFunc(m.Files, func(f ReviewFile) bool { return f.Path == path && f.Loaded })
}

// places returns the displayed lines of a file, by side and number.
func (f *ReviewFile) places() map[string]bool {
	shown := map[string]bool{}
	for _, l := range task.HunkLines(f.Diff) {
		if l.New > 0 {
			shown[place("new", l.New)] = true
		}
		if l.Old > 0 {
			shown[place("old", l.Old)] = true
		}
	}
	return shown
}

// unplaced returns the comments on a file that are not below one of its
// displayed lines.
func (m *ReviewModel) unplaced(f *ReviewFile) []*task.ReviewComment {
	shown := f.places()
	var list []*task.ReviewComment
	for _, t := range m.threads(f.Path) {
		if t.Line == 0 || t.Outdated || !shown[place(t.Side, t.EndLine)] {
			list = append(list, t)
		}
	}
	return list
}

// hasCommentForm reports whether the comment form is open above the lines: for the
// whole file, or for a line that is not shown.
func (m *ReviewModel) hasCommentForm(c Chrome, f *ReviewFile) bool {
	q := m.Query
	return m.commentable(c) && q.Path == f.Path && (q.Form || q.Line > 0 && !f.places()[place(q.Side, q.Line)])
}

// commentFile returns the URL for a comment on a whole file.
func (m *ReviewModel) commentFile(path string) string {
	q := m.query()
	q.Path, q.Form = path, true
	return URL.ReviewFile(m.Task.ID, q)
}

// draftAt returns the draft of a comment on a line: what was typed and failed,
// or a blank one.
func (m *ReviewModel) draftAt(path, side string, line int) task.ReviewComment {
	if m.Form == "comment" && m.Draft.Path == path && m.Draft.Side == side {
		return m.Draft
	}
	return task.ReviewComment{Path: path, Side: side, Line: line, EndLine: line}
}

// draftAbove returns the draft of a comment above the lines.
func (m *ReviewModel) draftAbove(path string) task.ReviewComment {
	if m.Query.Line > 0 {
		return m.draftAt(path, m.Query.Side, m.Query.Line)
	}
	return task.ReviewComment{Path: path, Text: m.typedDraft(path, "", 0)}
}

func (m *ReviewModel) typedDraft(path, side string, line int) string {
	if m.Form == "comment" && m.Draft.Path == path && m.Draft.Side == side && m.Draft.Line == line {
		return m.Draft.Text
	}
	return ""
}

// draftPlace returns the key under which the browser keeps unsaved text for a
// position; after it was saved, the key of the draft.
func (m *ReviewModel) draftPlace(c Chrome, at *task.ReviewComment) string {
	place := c.User + ":" + m.Task.ID.String() + ":review:"
	if at.ID != 0 {
		return place + at.ID.String()
	}
	return place + strings.Join([]string{strconv.Itoa(m.Result.Number), at.Side, strconv.Itoa(at.Line), at.Path}, ":")
}

// draftProblem returns why a comment at a position failed.
func (m *ReviewModel) draftProblem(at task.ReviewComment) string {
	if m.Form != "comment" || m.Draft.Path != at.Path || m.Draft.Side != at.Side || len(m.Errors) == 0 {
		return ""
	}
	for _, field := range []string{"", "text", "line", "side", "path", "excerpt"} {
		if p := m.Errors[field]; p != "" {
			return capitalize(strings.TrimSpace(field + " " + p))
		}
	}
	return "It cannot be saved."
}

func (m *ReviewModel) fieldError(form, field string) string {
	if m.Form != form || form == "" {
		return ""
	}
	return m.Errors[field]
}

func (m *ReviewModel) typed(form string) string {
	if m.Form != form {
		return ""
	}
	return m.Text
}

func changesHint(m *ReviewModel) string {
	if n := m.drafts(); n > 0 {
		return "Your " + ui.Count(n, "draft is", "drafts are") + " sent along. The owner of the task is woken."
	}
	return "The owner of the task is woken and continues."
}

// acceptText describes the effect of accepting.
func acceptText(m *ReviewModel) string {
	text := "You accept exactly what is shown: digest " + shortCommit(m.Result.Digest) + "."
	if m.Missing > 1 {
		return text + " " + ui.Count(m.Missing-1, "more vote is", "more votes are") + " needed after yours."
	}
	return text + " " + m.Then
}

// AfterAcceptance describes what happens after a result is accepted: into is
// the branch that the project's results are merged into, "" for none.
func AfterAcceptance(t *task.Task, r *task.Result, into string) string {
	switch {
	case r.Head == "" || r.Head == r.Base:
		return "The task is then done."
	case t.ParentTaskID != 0:
		return "The change is then merged if its parent or project asks for that, and the task is done."
	case into != "":
		return "The change is then merged into " + into + ", and the task is done."
	}
	return "The task is then done. Its project merges nothing: the change stays on its branch."
}

// maxReviewLines bounds the lines of one file on a page.
const maxReviewLines = 4000

// Cut truncates the lines of a file to what a page can show.
func (f *ReviewFile) Cut() {
	all := strings.Count(f.Diff, "\n")
	if f.Left = max(0, all-maxReviewLines); f.Left > 0 {
		f.Diff = firstLines(f.Diff, maxReviewLines)
	}
}
