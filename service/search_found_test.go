package service

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/task"
)

func textLine(text string) task.Message {
	return task.Message{Role: task.SpeakerAssistant, Type: "text", Content: text}
}

// addRun adds a run of a task with transcript lines, and completes both.
func (inst *instance) addRun(id task.ID, lines ...task.Message) *Start {
	inst.t.Helper()
	st := inst.runTask(id)
	ok(inst.t, inst.s.AppendTranscript(inst.ctx(), st.Run.ID, st.Run.Lease, lines))
	inst.Forward(10 * time.Second)
	inst.finish(st, completed("the run is through"))
	return st
}

// hit returns where a search matched its only result.
func (inst *instance) hit(q string) task.Hit {
	inst.t.Helper()
	p := must(inst.s.HistoryPage(inst.ctx(), vera, task.HistoryFilter{Query: q, Limit: 10}, time.UTC))
	if len(p.Tasks) != 1 {
		inst.t.Fatalf("%q: got %d tasks, want 1", q, len(p.Tasks))
	}
	return p.Hits[p.Tasks[0].ID]
}

func plain(list []task.Span) string {
	var b strings.Builder
	for _, s := range list {
		if s.Match {
			b.WriteString("[" + s.Text + "]")
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func TestSearchFindsTranscriptLines(t *testing.T) {
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart, title("Fix the gate"), func(in *task.New) { in.Description = "It squeaks in the wind." })
	must(inst.s.Comment(inst.ctx(), oleg, tk.ID, "The hinge is bent."))
	st := inst.addRun(tk.ID, task.Message{Role: task.SpeakerSystem, Type: "prompt", Content: "Beware of the dromedary."},
		textLine("Looking for grease."), textLine("Found the grease in the shed, and a chameleon."), textLine("Greased it twice."))
	other := inst.create(maya, "coder", noStart, title("Water the flowers"))
	must(inst.s.CompleteTask(inst.ctx(), maya, other.ID, "No grease was used.", 0))
	must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "It is silent now.", 0))
	ok(t, inst.s.Index(inst.ctx()))
	lines := must(inst.s.Transcript(inst.ctx(), maya, st.Run.ID, 0, 10))

	t.Run("by words of one line, with the line", func(t *testing.T) {
		h := inst.hit("grease chameleon")
		equal(t, "place", h.Place, task.HitTranscript)
		equal(t, "run", h.Run, st.Run.ID)
		equal(t, "line", h.Message, lines[slices.IndexFunc(lines,
			func(m task.Message) bool { return strings.Contains(m.Content, "chameleon") })].ID)
		equal(t, "text", plain(h.Text), "Found the [grease] in the shed, and a [chameleon].")
	})
	t.Run("words on different lines do not match", func(t *testing.T) {
		equal(t, "found", len(inst.found("twice chameleon")), 0)
	})
	t.Run("prompts repeat the task and do not count", func(t *testing.T) {
		equal(t, "found", len(inst.found("dromedary")), 0)
	})
	t.Run("both searches form one list without duplicates, newest first", func(t *testing.T) {
		ids := inst.found("grease")
		equal(t, "found", len(ids), 2)
		equal(t, "first", ids[0], other.ID)
		p := must(inst.s.History(inst.ctx(), maya, task.HistoryFilter{Query: "grease", Limit: 1, Before: "0." + other.ID.String()}))
		equal(t, "on the next page", p.Tasks[0].ID, tk.ID)
		equal(t, "and no other", p.Next, "")
	})
	for what, c := range map[string]struct {
		q     string
		place task.HitPlace
		text  string
	}{
		"a description":    {"squeaks", task.HitDescription, "It [squeaks] in the wind."},
		"a comment":        {"bent hinge", task.HitComment, "The [hinge] is [bent]."},
		"a summary":        {"silent", task.HitSummary, "It is [silent] now."},
		"a run's summary":  {"through", task.HitRun, "the run is [through]"},
		"the title alone":  {"gate", "", ""},
		"title and others": {"gate wind", task.HitDescription, "It squeaks in the [wind]."},
	} {
		t.Run("the hit is in "+what, func(t *testing.T) {
			h := inst.hit(c.q)
			equal(t, "place", h.Place, c.place)
			equal(t, "text", plain(h.Text), c.text)
			if c.place == task.HitComment {
				equal(t, "by", h.By, "user:oleg")
			}
			if strings.Contains(c.q, "gate") {
				equal(t, "title", plain(h.Title), "Fix the [gate]")
			}
		})
	}
	t.Run("dropped transcripts are no longer found", func(t *testing.T) {
		equal(t, "before", len(inst.found("chameleon")), 1)
		inst.Forward(100 * 24 * time.Hour)
		ok(t, inst.s.Sweep(inst.ctx()))
		equal(t, "after", len(inst.found("chameleon")), 0)
		equal(t, "the task's own words", len(inst.found("squeaks")), 1)
	})
}

func TestTranscriptsAreIndexedWithinBounds(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	big := strings.Repeat("some words of no use ", 380) // about 8 KB
	var ids []task.ID
	for i := range 3 {
		tk := inst.create(maya, "coder", noStart)
		lines := []task.Message{textLine("opening" + strconv.Itoa(i) + " first words")}
		for range 40 { // 320 KB, more than is indexed
			lines = append(lines, textLine(big+" and tail"+strconv.Itoa(i)+strings.Repeat(" more", 400)))
		}
		inst.addRun(tk.ID, append(lines, textLine("closing"+strconv.Itoa(i)+" last words"))...)
		must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "", 0))
		ids = append(ids, tk.ID)
	}
	rounds := 0
	for {
		list := must(read(inst.ctx(), inst.s, (*db.Rx).ToIndex))
		if len(list) == 0 {
			break
		}
		for _, w := range list {
			rounds++
			ok(t, change(inst.ctx(), inst.s, task.SystemActor, func(tx *txn) error { return tx.Index(w) }))
		}
	}
	if rounds < 40 {
		t.Errorf("three large transcripts were indexed in %d writes", rounds)
	}
	for i, id := range ids {
		n := strconv.Itoa(i)
		equal(t, "its end is found", inst.found("closing" + n)[0], id)
		equal(t, "its beginning is too far back", len(inst.found("opening"+n)), 0)
		equal(t, "matches of the end of a long line", len(inst.found("tail"+n)), 1)
	}
}

func TestHistoryFilters(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	var made []*task.Task
	for i, by := range []task.Actor{maya, oleg, coder} {
		tk := inst.create(by, "coder", noStart, title("Garden work "+strconv.Itoa(i)),
			func(in *task.New) { in.Labels = [][]string{{"api", "docs"}, {"docs"}, nil}[i] })
		must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "", 0))
		made = append(made, tk)
		inst.Forward(time.Hour)
	}
	ok(t, inst.s.Index(inst.ctx()))
	for name, c := range map[string]struct {
		f    task.HistoryFilter
		want []int
	}{
		"by creator":         {task.HistoryFilter{CreatedBy: "user:oleg"}, []int{1}},
		"by label":           {task.HistoryFilter{Label: "docs"}, []int{1, 0}},
		"by both":            {task.HistoryFilter{Label: "docs", CreatedBy: "user:maya"}, []int{0}},
		"by an unused label": {task.HistoryFilter{Label: "doc"}, nil},
		"by time and label":  {task.HistoryFilter{Label: "docs", From: made[1].CreatedAt}, []int{1}},
	} {
		for _, q := range []string{"", "garden"} {
			t.Run(name+" "+q, func(t *testing.T) {
				c.f.Query, c.f.Limit = q, 1
				var got []task.ID
				for {
					p := must(inst.s.History(inst.ctx(), vera, c.f))
					for _, tk := range p.Tasks {
						got = append(got, tk.ID)
					}
					if c.f.Before = p.Next; p.Next == "" {
						break
					}
				}
				equal(t, "found", len(got), len(c.want))
				for i, n := range c.want {
					equal(t, "task", got[i], made[n].ID)
				}
				if c.f.Before = ""; c.f.From != 0 {
					return // charts also include the surrounding days
				}
				times := must(inst.s.HistoryTimes(inst.ctx(), vera, c.f, time.UTC))
				done := 0
				for _, at := range times.Times {
					done += at.Done
				}
				equal(t, "bars", done, len(c.want))
				c.f.Limit = 200
				whole := must(inst.s.HistoryPage(inst.ctx(), vera, c.f, time.UTC)) // counts its own tasks
				equal(t, "the same bars", fmt.Sprint(whole.Times), fmt.Sprint(times))
			})
		}
	}
	t.Run("an invalid label is refused", func(t *testing.T) {
		_, err := inst.s.History(inst.ctx(), vera, task.HistoryFilter{Label: "No Label", Limit: 1})
		refused(t, err, task.CodeInvalidField, "label")
	})
	t.Run("the history is paged", func(t *testing.T) {
		n := 0
		ok(t, inst.s.EachHistory(inst.ctx(), vera, task.HistoryFilter{}, func(list []*task.Task) error { n += len(list); return nil }))
		equal(t, "tasks", n, 3)
		refused(t, inst.s.EachHistory(inst.ctx(), task.Actor{}, task.HistoryFilter{}, nil), task.CodeUnauthorized)
	})
}
