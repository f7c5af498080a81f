package handlers

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// completeNew creates a task and completes it.
func (s *site) completeNew(in task.New, summary string) task.ID {
	s.t.Helper()
	tk := s.newTask(mayaActor, in)
	_, err := s.svc.CompleteTask(s.t.Context(), mayaActor, tk.ID, summary, 0)
	s.ok(err)
	return tk.ID
}

func TestHistoryShowsWhereItMatched(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	tk := inst.newTask(mayaActor, task.New{
		Owner: "coder", Title: "Fix the gate",
		Description: "It squeaks <b>badly</b> & long.", Labels: []string{"garden"}, NoStart: true,
	})
	_, err := inst.svc.Comment(t.Context(), mayaActor, tk.ID, "The hinge is bent.")
	inst.ok(err)
	st := inst.runTask(tk.ID)
	r := st.Run
	inst.ok(inst.svc.AppendTranscript(t.Context(), r.ID, r.Lease,
		[]task.Message{{Role: task.SpeakerAssistant, Type: "text", Content: "A <script>chameleon</script> sits\u202e there."}}))
	inst.endRun(st, "")
	_, err = inst.svc.CompleteTask(t.Context(), mayaActor, tk.ID, "", 0)
	inst.ok(err)
	inst.ok(inst.svc.Index(t.Context()))
	lines, err := inst.svc.Transcript(t.Context(), mayaActor, r.ID, 0, 10)
	inst.ok(err)

	b.get("/history").is(200).shows(">Apply</button>")
	t.Run("in a description, escaped", func(t *testing.T) {
		b.get("/history?q=squeaks").shows("in the description", "It <mark>squeaks</mark> &lt;b&gt;badly&lt;/b&gt; &amp; long.")
	})
	t.Run("in a comment, with its author and a link", func(t *testing.T) {
		b.get("/history?q=hinge").shows("in a comment by maya", `href="/tasks/1#msg-`, "The <mark>hinge</mark> is bent.")
	})
	t.Run("in the full search, but not in the palette", func(t *testing.T) {
		b.get("/search?q=hinge").shows("in a comment by maya", `href="/tasks/1#msg-`, "The <mark>hinge</mark> is bent.")
		palette := inst.person("ada", task.RoleViewer)
		palette.header = http.Header{"Hx-Request": {"true"}}
		palette.get("/search?q=hinge").is(200).shows(`href="/tasks/1"`).hides("<mark>")
	})
	t.Run("in a run's transcript, with a link to its line", func(t *testing.T) {
		id := lines[len(lines)-1].ID
		b.get("/history?q=chameleon").shows("in run 1&#39;s transcript", fmt.Sprintf(`href="/runs/1?at=%d#m%d"`, id, id),
			"&lt;script&gt;<mark>chameleon</mark>&lt;/script&gt;").hides("<script>chameleon", "\u202e")
		b.get("/runs/1").shows(fmt.Sprintf(`id="m%d"`, id))
	})
	t.Run("people who may write can create a follow-up", func(t *testing.T) {
		b.get("/history").shows(`href="/tasks/new?follow=1"`)
		inst.person("vera", task.RoleViewer).get("/history").shows("Fix the gate").hides("follow=1")
	})
	t.Run("filters are in the URL, with chips that remove them", func(t *testing.T) {
		b.get("/history?by=maya&label=garden").shows("Fix the gate", "by maya", "label garden",
			`href="/history?label=garden"`, `href="/history?by=user%3Amaya"`)
		b.get("/history?by=coder").shows("No results")
		b.get("/history?label=kitchen").shows("No results")
	})
	t.Run("bars link to their day and outcome, failed runs to the list of runs", func(t *testing.T) {
		day := inst.Now().In(time.Local).Format(time.DateOnly)
		b.get("/history").shows(`href="/history?from=`+day+`&amp;to=`+day+`"`,
			"status=done&amp;to="+day, "1 task done, 0 canceled, 0 failed runs")
		b.get("/history?status=canceled").hides("failed runs")
		b.get("/runs?status=completed&from="+day+"&to="+day).shows("Fix the gate", "ended from "+day)
		b.get("/runs?from=2001-01-01&to=2001-01-02").shows("No results")
	})
}

func TestHistoryIsExportedAsFiles(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	for i, title := range []string{"\uff1d1+2", "=1+2", "+1", "-1", "@x", "plain, with \"quotes\"\u00fc"} {
		inst.completeNew(task.New{Owner: "coder", Title: title, NoStart: true, Priority: -i}, "=HYPERLINK(\"x\")\nnext")
	}
	for range 300 {
		inst.completeNew(task.New{Owner: "planner", Title: "A brick", NoStart: true}, "")
	}
	t.Run("as CSV that no program reads as formulas", func(t *testing.T) {
		a := b.get("/history.csv?agent=coder").is(200)
		if got := a.header.Get("Content-Type") + " " +
			a.header.Get("Content-Disposition"); got != `text/csv; charset=utf-8 attachment; filename="history.csv"` {
			t.Errorf("got headers %s", got)
		}
		rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
		inst.ok(err)
		if len(rows) != 7 || strings.Join(rows[0],
			",") != "id,title,status,owner,created_by,labels,priority,created_at,archived_at,parent_id,summary" {
			t.Fatalf("got %q", rows)
		}
		for i, want := range []string{"plain, with \"quotes\"\u00fc", "'@x", "'-1", "'+1", "'=1+2", "'\uff1d1+2"} {
			if row := rows[i+1]; row[1] != want || row[10] != "'=HYPERLINK(\"x\")\nnext" || row[4] != "user:maya" {
				t.Errorf("got row %q", row)
			}
		}
	})
	t.Run("as JSON, all pages of it", func(t *testing.T) {
		var out struct{ Tasks []task.Task }
		inst.ok(json.Unmarshal([]byte(b.get("/history.json").is(200).body), &out))
		if len(out.Tasks) != 306 || out.Tasks[0].ID != 306 || out.Tasks[305].ID != 1 {
			t.Fatalf("got %d tasks", len(out.Tasks))
		}
	})
	t.Run("with the page's filter", func(t *testing.T) {
		b.get("/history?agent=coder&q=plain").shows(`href="/history.csv?agent=coder&amp;q=plain"`, `href="/history.json?agent=coder&amp;q=plain"`)
		if n := strings.Count(b.get("/history.csv?status=canceled").is(200).body, "\n"); n != 1 {
			t.Errorf("got %d lines without matches", n)
		}
		if body := b.get("/history.json?status=canceled").is(200).body; !json.Valid([]byte(body)) || strings.Contains(body, "{\"id\"") {
			t.Errorf("without matches: got %q", body)
		}
	})
}

func TestInsightsOnPages(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	t.Run("an empty instance says so", func(t *testing.T) {
		b.get("/insights").is(200).shows("No activity", "Show 90 days")
		b.get("/insights?range=90d").shows("Create a task")
	})
	inst.sample("")
	t.Run("charts have a text alternative and their numbers", func(t *testing.T) {
		for _, r := range []string{"24h", "7d", "30d", "90d"} {
			b.get("/insights?range="+r).is(200).shows(`role="img" aria-label="`, "created,",
				"Show data", "By agent", "By model").hides("style=", ">NaN", " NaN", `"NaN`) // form tokens may contain the letters
		}
		b.get("/insights?range=24h").shows("by hour, in the last 24 hours")
		b.get("/insights").shows("by day, in the last 7 days")
	})
	t.Run("of one agent", func(t *testing.T) {
		b.get("/insights?agent=coder").shows("remove filter")
		b.get("/insights?agent=nobody").shows("No activity", "Clear filters")
	})
	t.Run("viewers may look", func(t *testing.T) { inst.person("vera", task.RoleViewer).get("/insights").is(200) })
}

func TestListsOfRecentDays(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	inst.completeNew(task.New{Owner: "coder", Title: "Long ago", NoStart: true}, "")
	inst.Forward(8 * 24 * time.Hour)
	inst.completeNew(task.New{Owner: "coder", Title: "Of late", NoStart: true}, "")
	inst.Forward(2 * time.Hour)
	b := inst.maya()
	for since, longAgo := range map[string]bool{"24h": false, "7d": false, "30d": true} {
		page := b.get("/history?since="+since).is(200).shows("Of late", "remove filter", labelOfSince[since])
		if file := b.get("/history.csv?since=" + since).is(200); longAgo {
			page.shows("Long ago")
			file.shows("Long ago")
		} else {
			page.hides("Long ago")
			file.hides("Long ago")
		}
		b.get("/runs?since="+since).is(200).shows("remove filter", labelOfSince[since])
	}
	from := inst.Now().UTC().Format(time.DateOnly)
	b.get("/history?since=30d&from="+from).shows("Of late", "from "+from).hides("Long ago")
	for _, path := range []string{"/history", "/runs"} {
		b.get(path + "?since=1w").is(422).shows("must be 24h, 7d or 30d")
	}
}

var labelOfSince = map[string]string{"24h": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days"}
