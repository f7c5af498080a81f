package views

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"taskyard/task"
	"taskyard/views/chart"
)

var barBox = regexp.MustCompile(`<rect class="(fill-[a-z]+)" x="([0-9.]+)" y="(\d+)" width="([0-9.]+)"`)

func TestATimelineDrawsRunsAndSubtasks(t *testing.T) {
	t.Parallel()
	m := sampleTaskModel()
	g := Chrome{Now: now}.Timeline(m.Runs, m.Family.Subtasks)
	html := renderHTML(t, chart.GanttChart(g))
	t.Run("each is a bar within the chart, ordered by start", func(t *testing.T) {
		bars := barBox.FindAllStringSubmatch(html, -1)
		if len(bars) != 5 {
			t.Fatalf("got %d bars in %s", len(bars), html)
		}
		last := 0.0
		for _, b := range bars {
			x, _ := strconv.ParseFloat(b[2], 64)
			w, _ := strconv.ParseFloat(b[4], 64)
			if x < last || x < 46 || x+w > 256.1 || w < 3 {
				t.Errorf("got a bar at %v, %v wide, after one at %v", x, w, last)
			}
			last = x
		}
	})
	t.Run("the chart has a text alternative and a table", func(t *testing.T) {
		for _, want := range []string{
			`role="img" aria-label="Timeline: `, "Run 30 failed: the program ended with an error after 2m 00s",
			"Run 33 is working", "<caption class=\"sr-only\">Timeline</caption>", `href="/runs/31"`,
		} {
			if !strings.Contains(html, want) {
				t.Errorf("%q is missing in %s", want, html)
			}
		}
	})
	t.Run("an unstarted run has no bar, and many bars are cut", func(t *testing.T) {
		var runs []*task.Run
		for i := range 30 {
			runs = append(runs, &task.Run{
				ID: task.ID(i + 1), Status: task.RunCompleted, Phase: task.PhaseEnded,
				StartedAt: ago(time.Duration(40-i) * time.Hour), EndedAt: ago(time.Duration(40-i)*time.Hour - time.Minute),
			})
		}
		runs = append(runs, &task.Run{ID: 99, Status: task.RunPending, Phase: task.PhaseQueued})
		g := Chrome{Now: now}.Timeline(runs, nil)
		if len(g.Bars) != 12 || g.More != 18 || g.Bars[11].Label != "Run 30" {
			t.Fatalf("got %d bars, %d omitted", len(g.Bars), g.More)
		}
	})
	t.Run("times are in the reader's zone", func(t *testing.T) {
		run := &task.Run{ID: 1, Status: task.RunRunning, StartedAt: ago(time.Hour)}
		g := Chrome{Now: now, Zone: time.FixedZone("", 9*3600)}.Timeline([]*task.Run{run}, nil)
		if want := now.Std().Add(8 * time.Hour).Format("15:04"); g.Ticks[0].Text != want {
			t.Fatalf("got start %s, want %s", g.Ticks[0].Text, want)
		}
	})
	t.Run("a single point in time is drawn too", func(t *testing.T) {
		run := &task.Run{ID: 1, Status: task.RunCompleted, StartedAt: now, EndedAt: now}
		g := Chrome{Now: now}.Timeline([]*task.Run{run}, nil)
		if len(g.Bars) != 1 || strings.Contains(fmt.Sprint(g.Bars), "NaN") {
			t.Fatalf("got %+v", g)
		}
		if got := (Chrome{Now: now}).Timeline(nil, nil); len(got.Bars) != 0 {
			t.Fatal("an empty timeline is not empty")
		}
	})
}

func TestATreeIsBounded(t *testing.T) {
	t.Parallel()
	f := FamilyTree{
		Ancestors: []*task.Task{sampleTask(1, "Root", "coder", 0, nil)},
		Self:      sampleTask(2, "Self", "coder", 0, nil), SiblingCount: 70, Open: 940, Done: 50, Canceled: 10,
	}
	for i := range 60 {
		f.Subtasks = append(f.Subtasks, sampleTask(task.ID(100+i), "Part", "coder", 0, nil))
		f.Siblings = append(f.Siblings, sampleTask(task.ID(300+i), "Beside", "coder", 0, nil))
	}
	html := renderHTML(t, Tree(f, "/all"))
	for _, want := range []string{
		`aria-label="Family: 1 task above; 70 siblings; 1000 subtasks, 50 done, 10 canceled"`,
		`<a class="link" href="/all">All 1000 subtasks</a>`, "52 more", `href="/tasks/1?tab=subtasks"`, "10 more",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := strings.Count(html, "<li>"); n != 1+1+60+1+60+1 {
		t.Errorf("got %d lines", n)
	}
	if !(FamilyTree{Self: f.Self}).empty() {
		t.Error("a task without relatives has a family")
	}
}

func TestUndoOfPlanChanges(t *testing.T) {
	t.Parallel()
	ev := func(id task.ID, kind, actor string, before time.Duration, changes string) task.Event {
		return task.Event{ID: id, Kind: kind, Actor: actor, At: ago(before), Changes: []byte(changes)}
	}
	removed := ev(7, task.EvStepRemoved, "user:maya", time.Minute, `{"step":2,"title":"x"}`)
	for name, c := range map[string]struct {
		events []task.Event
		want   string
	}{
		"a deletion is restored": {[]task.Event{removed}, "restore 7"},
		"a deletion is restored after a checked step and a comment": {[]task.Event{
			removed, ev(8, task.EvStepUpdated, "coder", 0, `{"step":1}`),
			ev(9, task.EvCommented, "coder", 0, ""),
		}, "restore 7"},
		"a move is reversed": {
			[]task.Event{ev(1, task.EvStepMoved, "user:maya", 0, `{"from":3,"to":1,"title":"x"}`)},
			"move 1 3 " + task.Mark("x"),
		},
		"no undo after another change of the plan": {[]task.Event{removed, ev(8, task.EvStepAdded, "user:maya", 0, `{"step":0}`)}, ""},
		"no undo of another person's change":       {[]task.Event{ev(7, task.EvStepRemoved, "user:jonas", 0, `{}`)}, ""},
		"no undo after some minutes":               {[]task.Event{ev(7, task.EvStepRemoved, "user:maya", 3*time.Minute, `{}`)}, ""},
		"no undo without changes":                  {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if u := FindUndo(c.events, "user:maya", now); u != nil {
				got = u.Act
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
