package views

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html/atom"

	xhtml "golang.org/x/net/html"

	"taskyard/task"
	"taskyard/views/ui"
)

// nodes returns every element of a page.
func nodes(t *testing.T, page string) []*xhtml.Node {
	t.Helper()
	doc, err := xhtml.ParseWithOptions(strings.NewReader(page), xhtml.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	var out []*xhtml.Node
	for n := range doc.Descendants() {
		if n.Type == xhtml.ElementNode {
			out = append(out, n)
		}
	}
	return out
}

func attr(n *xhtml.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

// policyProblem says what in an element the content security policy or htmx's
// configuration would drop, or "".
func policyProblem(n *xhtml.Node) string {
	if n.DataAtom == atom.Style {
		return "a style element"
	}
	if src, _ := attr(n, "src"); n.DataAtom == atom.Script && !strings.HasPrefix(src, "/static/") {
		return "an inline or foreign script"
	}
	for _, a := range n.Attr {
		switch {
		case a.Key == "style", strings.HasPrefix(a.Key, "on"), strings.HasPrefix(a.Key, "hx-on"), strings.HasPrefix(a.Key, "data-hx-on"):
			return "attribute " + a.Key
		case a.Key == "hx-trigger" && strings.Contains(a.Val, "["):
			return "a filter in hx-trigger"
		case strings.HasPrefix(a.Key, "hx-") && strings.Contains(a.Val, "js:"), a.Key == "hx-swap" && strings.HasPrefix(a.Val, "morph:{"):
			return "evaluated " + a.Key
		case (a.Key == "href" || a.Key == "action") && strings.HasPrefix(strings.TrimSpace(strings.ToLower(a.Val)), "javascript:"):
			return "a javascript address"
		}
	}
	return ""
}

func TestPagesKeepThePolicy(t *testing.T) {
	for _, p := range samplePages() {
		t.Run(p.name+" has nothing inline", func(t *testing.T) {
			for _, n := range nodes(t, renderHTML(t, p.comp)) {
				if problem := policyProblem(n); problem != "" {
					t.Errorf("<%s> has %s", n.Data, problem)
				}
			}
		})
	}
}

func TestEveryPostingFormCarriesTokenAndKey(t *testing.T) {
	forms := 0
	for _, p := range samplePages() {
		for _, n := range nodes(t, renderHTML(t, p.comp)) {
			if method, _ := attr(n, "method"); n.DataAtom != atom.Form || method != "post" {
				continue
			}
			forms++
			got := map[string]string{}
			for d := range n.Descendants() {
				if name, ok := attr(d, "name"); ok {
					got[name], _ = attr(d, "value")
				}
			}
			action, _ := attr(n, "action")
			if _, ok := got["_token"]; !ok {
				t.Errorf("%s: form to %s has no _token", p.name, action)
			}
			if got["_key"] == "" {
				t.Errorf("%s: form to %s has no _key", p.name, action)
			}
			if action == "" {
				t.Errorf("%s: a form posts nowhere", p.name)
			}
		}
	}
	if forms < 50 {
		t.Errorf("only %d forms seen", forms)
	}
}

func TestHeadingsAreInOrder(t *testing.T) {
	for _, p := range samplePages() {
		t.Run(p.name+" has one first heading and skips no level", func(t *testing.T) {
			last, first := 0, 0
			for _, n := range nodes(t, renderHTML(t, p.comp)) {
				level, ok := map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4, atom.H5: 5, atom.H6: 6}[n.DataAtom]
				if !ok {
					continue
				}
				if level > last+1 {
					t.Errorf("h%d after h%d", level, last)
				}
				if level == 1 {
					first++
				}
				last = level
			}
			if first != 1 {
				t.Errorf("%d headings of the first level, want 1", first)
			}
		})
	}
}

func TestIDsAreUniqueAndLabelsMeetTheirControls(t *testing.T) {
	for _, p := range samplePages() {
		t.Run(p.name, func(t *testing.T) {
			ids := map[string]bool{}
			all := nodes(t, renderHTML(t, p.comp))
			for _, n := range all {
				if id, ok := attr(n, "id"); ok {
					if ids[id] {
						t.Errorf("id %q appears twice", id)
					}
					ids[id] = true
				}
			}
			for _, n := range all {
				for _, key := range []string{"for", "aria-labelledby", "aria-describedby"} {
					ref, ok := attr(n, key)
					for _, id := range strings.Fields(ref) {
						if ok && !ids[id] {
							t.Errorf("%s=%q meets no element", key, id)
						}
					}
				}
			}
		})
	}
}

func TestLivePartsNameThemselves(t *testing.T) {
	for _, p := range samplePages() {
		page := nodes(t, renderHTML(t, p.comp))
		var again strings.Builder
		if err := p.comp.Render(ui.WithHeld(t.Context(), "something"), &again); err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{}
		for _, n := range nodes(t, again.String()) {
			id, _ := attr(n, "id")
			ids[id] = true
		}
		for _, n := range page {
			topics, ok := attr(n, "data-live")
			if !ok {
				continue
			}
			id, _ := attr(n, "id")
			if sel, _ := attr(n, "hx-select"); sel != "#"+id || topics == "" || !ids[id] {
				t.Errorf("%s: live part %q selects %q on topics %q", p.name, id, sel, topics)
			}
			oob, _ := attr(n, "hx-select-oob")
			for part := range strings.SplitSeq(oob, ",") {
				if name := strings.TrimSuffix(strings.TrimPrefix(part, "#"), ":morph"); !ids[name] {
					t.Errorf("%s: live part %q renews %q, which the answer has not", p.name, id, name)
				}
			}
		}
	}
}

func TestTextByOthersIsEscaped(t *testing.T) {
	const evil = `<img src=x onerror=alert(1)>"'&<script>alert(2)</script>`
	m := sampleTaskModel()
	m.Task.Title, m.Task.Description, m.Task.Summary, m.Task.LastFailure = evil, evil+
		"\n\n[x](javascript:alert(1))\n\n![i](http://evil.test/i.png)", evil, evil
	m.Task.Steps[0].Title, m.Task.Steps[0].Details, m.Notice, m.Why = evil, evil, evil, []task.Reason{{Code: task.WhyPaused, Message: evil}}
	m.Task.Labels, m.Blockers, m.Blocks = []string{evil}, []*task.Task{m.Task}, []*task.Task{m.Task}
	m.Task.Resources = []task.Resource{
		{Type: "url", Value: "javascript:alert(1)", Label: evil},
		{Type: "file", Value: "/" + evil, Label: evil},
	}
	m.Runs[0].Summary, m.Runs[0].Reason, m.Question.Content, m.Question.Author, m.Entries.Comment = evil, evil, evil, evil, evil
	c := sampleChrome("/tasks/142")
	c.User, c.Flash.Text, c.Theme = evil, evil, evil
	q := sampleQueues()
	q.Filter.Query = evil
	q.Columns[1].Groups[0].Cards[0].Task.Title = evil
	q.Columns[1].Groups[0].Cards[0].Activity = evil
	for name, comp := range map[string]string{
		"task": renderHTML(t, TaskPage(c, m)), "queues": renderHTML(t, QueuesPage(c, q)),
		"move":  renderHTML(t, MovePage(c, MoveModel{Task: m.Task, Comment: evil})),
		"new":   renderHTML(t, NewTaskPage(c, NewTaskModel{Title: evil, Steps: evil, Errors: ui.FieldErrors{"title": evil}})),
		"login": renderHTML(t, LoginPage(c, LoginModel{Name: evil, Next: evil, Error: evil})),
	} {
		t.Run(name+" shows hostile text as text", func(t *testing.T) {
			for _, n := range nodes(t, comp) {
				if problem := policyProblem(n); problem != "" {
					t.Errorf("<%s> has %s", n.Data, problem)
				}
				if n.DataAtom == atom.Img {
					t.Error("an image came through")
				}
			}
			if !strings.Contains(comp, "&lt;img src=x onerror=alert(1)&gt;") {
				t.Error("the text is not shown")
			}
		})
	}
}

func TestViewersSeeNoForms(t *testing.T) {
	c := sampleChrome("/tasks/142")
	c.CanWrite = false
	for name, comp := range map[string]string{
		"task":   renderHTML(t, TaskPage(c, sampleTaskModel())),
		"queues": renderHTML(t, QueuesPage(c, sampleQueues())), "inbox": renderHTML(t, InboxPage(c, sampleInbox())),
	} {
		for _, n := range nodes(t, comp) {
			if action, _ := attr(n, "action"); n.DataAtom == atom.Form && action != URL.Logout() && action != "/tasks" &&
				action != "/queues" && action != URL.Views() && action != "/search" {
				t.Errorf("%s: form to %s", name, action)
			}
		}
	}
}

func TestTitlesSayWhatThePageIs(t *testing.T) {
	c := sampleChrome("/tasks/142")
	if got := renderHTML(t, TaskPage(c, sampleTaskModel())); !strings.Contains(got,
		"<title>(3) #142 Add rate limiting to the public API · Taskyard</title>") {
		t.Error("wrong title: ", regexp.MustCompile(`<title>.*?</title>`).FindString(got))
	}
	c.Nav.Inbox = 0
	if got := renderHTML(t, QueuesPage(c, QueuesModel{})); !strings.Contains(got, "<title>Queues · Taskyard</title>") {
		t.Error("wrong title: ", regexp.MustCompile(`<title>.*?</title>`).FindString(got))
	}
}

func TestBoardOfManyTasksStaysSmall(t *testing.T) {
	m := QueuesModel{}
	for a := range 10 {
		var tasks []*task.Task
		for i := range 100 {
			tasks = append(tasks, sampleTask(task.ID(a*100+i+1),
				fmt.Sprintf("Task %d of many, with a title of usual length", i), "coder", i%10, nil))
		}
		m.Columns = append(m.Columns, QueueColumn{Agent: fmt.Sprintf("agent-%d", a), Slots: 1, Groups: groupCards(tasks, 8, nil)})
	}
	if got := gzipped(t, renderHTML(t, QueuesPage(sampleChrome("/queues"), m))); got > 60<<10 {
		t.Errorf("%d bytes gzipped, want at most 60 KiB", got)
	}
}

func TestUndoPostsToThisServerOnly(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]string{
		"/tasks/1/move":        "/tasks/1/move",
		"//evil.example/x":     "/",
		`/\evil.example/x`:     "/",
		"https://evil.example": "/",
	} {
		if got := (&Undo{Action: action}).action(); got != want {
			t.Errorf("%s: got %s, want %s", action, got, want)
		}
	}
}
