package task

import (
	"context"
	"slices"
)

type budgetKey struct{}

// AnswerBudget bounds the bytes of each list that is read for one answer. The reader
// of a list stops before the row that does not fit and marks the budget; the
// list then ends with a cursor although it is shorter than its limit.
type AnswerBudget struct {
	bytes int
	cut   bool
}

// WithBudget returns a context that limits each list to about the given number
// of bytes of JSON; the first row is always read.
func WithBudget(ctx context.Context, bytes int) context.Context {
	return context.WithValue(ctx, budgetKey{}, &AnswerBudget{bytes: bytes})
}

// BudgetFromContext returns the budget of a context, or nil.
func BudgetFromContext(ctx context.Context) *AnswerBudget {
	b, _ := ctx.Value(budgetKey{}).(*AnswerBudget)
	return b
}

// Begin starts a list. It clears the mark of the list before.
func (b *AnswerBudget) Begin() {
	if b != nil {
		b.cut = false
	}
}

// Fits reports whether a list of that many bytes is within the budget, and
// marks it as cut if not.
func (b *AnswerBudget) Fits(bytes int) bool {
	if b == nil || bytes <= b.bytes {
		return true
	}
	b.cut = true
	return false
}

// Cut reports whether the last list was cut by its size.
func (b *AnswerBudget) Cut() bool { return b != nil && b.cut }

// JSONBytes returns how many bytes a text has as a JSON string, with the
// escapes that keep it out of HTML, without its quotes.
func JSONBytes(s string) int {
	n := len(s)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			n++
		case c < ' ', c == '<', c == '>', c == '&':
			n += 5
		}
	}
	return n
}

// JSONBytes returns about how many bytes the task has as JSON.
func (t *Task) JSONBytes() int {
	n := 900 + JSONBytes(t.Title) + JSONBytes(t.Description) + JSONBytes(t.Summary) + 12*len(t.BlockedBy) + 36*len(t.Labels)
	for _, s := range t.Steps {
		n += 90 + JSONBytes(s.Title) + JSONBytes(s.Details)
	}
	for _, r := range t.Resources {
		n += resourceBytes(t, r)
	}
	for _, c := range t.Comments {
		n += c.jsonBytes()
	}
	for _, r := range t.Runs {
		n += r.jsonBytes()
	}
	for _, s := range t.Subtasks {
		n += s.jsonBytes()
	}
	return n + t.checkBytes()
}

// checkBytes is how many bytes of JSON the task's own checks and policy are.
func (t *Task) checkBytes() int {
	n := 0
	for _, c := range t.Checks {
		n += 150 + JSONBytes(c.Run) + JSONBytes(c.Path) + JSONBytes(c.Glob)
	}
	if t.Policy != nil {
		n += 150 + 70*len(t.Policy.From)
	}
	return n + 70*len(t.BoundBy)
}

func resourceBytes(t *Task, r Resource) int {
	n := 50 + JSONBytes(r.Value) + JSONBytes(r.Label)
	if t.Links != nil {
		n *= 2
	}
	return n
}

func (c Comment) jsonBytes() int { return 120 + len(c.Author) + JSONBytes(c.Content) }

// JSONBytes returns about how many bytes the message has as JSON.
func (m Message) JSONBytes() int {
	return 200 + len(m.Author) + JSONBytes(m.Content) + JSONBytes(string(m.Data))
}

// Fitted returns the message with as much of its content as fits into so many
// bytes of JSON. ContentCut counts what is left out.
func (m Message) Fitted(limit int) Message {
	if len(m.Content)*maxEscape+len(m.Data)*maxEscape < limit || m.JSONBytes() <= limit {
		return m
	}
	room := limit - m.JSONBytes() + JSONBytes(m.Content)
	end := 0
	for i, r := range m.Content {
		end = i
		if room -= JSONBytes(string(r)); room < 0 {
			break
		}
	}
	m.Content, m.ContentCut = m.Content[:end], m.ContentCut+len(m.Content)-end
	return m
}

// maxEscape is how many bytes one byte of a text has as JSON, at most.
const maxEscape = 6

// JSONBytes returns about how many bytes the line has as JSON.
func (e Event) JSONBytes() int { return 200 + len(e.Actor) + JSONBytes(string(e.Changes)) }

// JSONBytes returns about how many bytes the run has as JSON.
func (r *Run) JSONBytes() int {
	n := 1500 + JSONBytes(r.TaskTitle) + JSONBytes(r.StartReason) + JSONBytes(r.Reason) + JSONBytes(r.Summary)
	for _, a := range r.Artifacts {
		n += 4 + JSONBytes(a)
	}
	if r.Permission != nil {
		n += JSONBytes(string(r.Permission.Input)) + JSONBytes(r.Permission.Reason)
	}
	return n
}

// minDetails is how many bytes of a step's details are always shown.
const minDetails = 64

// Fitted returns the task if it has at most most bytes of JSON, else a copy
// that leaves out old comments, subtasks, runs and checks, then the end of long details
// of steps, then of resources and description, until it fits. Cut names what is not whole; each
// step says how much of its details is missing.
func (t *Task) Fitted(limit int) *Task {
	n := t.JSONBytes()
	if n <= limit {
		return t
	}
	short := *t
	short.Cut = slices.Clone(t.Cut)
	short.fitComments(&n, limit)
	short.dropOldest(&n, limit)
	if n > limit && len(short.Checks) > 0 {
		short.Checks = nil
		n -= t.checkBytes() - short.checkBytes()
		short.noteCut("checks")
	}
	for keep := 16 << 10; n > limit && keep >= minDetails; keep /= 4 {
		short.fitDetails(&n, keep)
	}
	for n > limit && len(short.Resources) > 0 {
		last := len(short.Resources) - 1
		n -= resourceBytes(t, short.Resources[last])
		short.Resources = short.Resources[:last]
		short.noteCut("resources")
	}
	if short.Links != nil {
		short.Links = ToLinks(short.Resources)
	}
	for keep := 16 << 10; n > limit && keep >= minDetails; keep /= 4 {
		for _, text := range []*string{&short.Description, &short.Summary} {
			if len(*text) <= keep {
				continue
			}
			n -= JSONBytes(*text)
			*text = ClipText(*text, keep)
			n += JSONBytes(*text)
			short.noteCut("description")
		}
	}
	return &short
}

func (t *Task) noteCut(what string) {
	if !slices.Contains(t.Cut, what) {
		t.Cut = append(t.Cut, what)
	}
}

// fitComments leaves out the oldest comments, but for the newest one.
func (t *Task) fitComments(n *int, limit int) {
	for *n > limit && len(t.Comments) > 1 {
		*n -= t.Comments[0].jsonBytes()
		t.Comments = t.Comments[1:]
		t.noteCut("comments")
	}
}

// fitDetails shortens all details of steps to keep bytes.
func (t *Task) fitDetails(n *int, keep int) {
	own := false
	for i, s := range t.Steps {
		if len(s.Details) <= keep {
			continue
		}
		if !own {
			t.Steps, own = slices.Clone(t.Steps), true
		}
		before := len(s.Details) + s.DetailsCut
		*n -= JSONBytes(s.Details)
		s.Details = ClipText(s.Details, keep)
		s.DetailsCut = before - len(s.Details) + len("…")
		*n += JSONBytes(s.Details) + len(`,"detailsCut":12345`)
		t.Steps[i] = s
		t.noteCut("details")
	}
}

// FitTasks fits each of some tasks, which together may have the given number of
// bytes.
func FitTasks(list []*Task, bytes int) []*Task {
	if len(list) == 0 {
		return list
	}
	each := max(2<<10, bytes/len(list))
	out := make([]*Task, len(list))
	for i, t := range list {
		out[i] = t.Fitted(each)
	}
	return out
}
