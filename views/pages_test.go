package views

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"golang.org/x/net/html/atom"

	xhtml "golang.org/x/net/html"

	"taskyard/internal/testkit"
	"taskyard/task"
	"taskyard/views/ui"
)

// nodes returns every element of a page.
func nodes(t *testing.T, page string) []*xhtml.Node {
	t.Helper()
	doc, err := xhtml.ParseWithOptions(strings.NewReader(page), xhtml.ParseOptionEnableScripting(false))
	testkit.NoError(t, err)
	var out []*xhtml.Node
	for n := range doc.Descendants() {
		if n.Type == xhtml.ElementNode {
			out = append(out, n)
		}
	}
	return out
}

// attr returns the value of an attribute, or "" if there is none.
func attr(n *xhtml.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func hasAttr(n *xhtml.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a xhtml.Attribute) bool { return a.Key == key })
}

// allPages returns the sample pages and the hostile pages.
func allPages() map[string]templ.Component {
	pages := hostilePages()
	maps.Copy(pages, hostileTaskPages())
	for _, p := range samplePages() {
		pages["sample "+p.name] = p.comp
	}
	return pages
}

// forbidden describes what in an element the content security policy or the
// configuration of htmx would block, or what a hostile text would have inserted. It
// returns "" if there is nothing.
func forbidden(n *xhtml.Node) string {
	switch {
	case n.DataAtom == atom.Img, n.DataAtom == atom.Style, n.DataAtom == atom.Iframe:
		return "an element that is not allowed"
	case n.DataAtom == atom.Script && (!strings.HasPrefix(attr(n, "src"), "/static/") || n.FirstChild != nil):
		return "inline or external code"
	}
	for _, a := range n.Attr {
		value := strings.ToLower(a.Val)
		switch {
		case a.Key == "style", strings.HasPrefix(a.Key, "on"), strings.HasPrefix(a.Key, "hx-on"), strings.HasPrefix(a.Key, "data-hx-on"):
			return "attribute " + a.Key
		case a.Key == "hx-trigger" && strings.Contains(value, "["), a.Key == "hx-swap" && strings.HasPrefix(value, "morph:{"):
			return "a blocked " + a.Key
		case strings.HasPrefix(a.Key, "hx-") && strings.Contains(value, "js:"):
			return "evaluated " + a.Key
		case (a.Key == "href" || a.Key == "action") && strings.HasPrefix(strings.TrimSpace(value), "javascript"):
			return "a javascript URL"
		}
	}
	return ""
}

func TestPagesFollowTheContentSecurityPolicy(t *testing.T) {
	t.Parallel()
	for name, page := range allPages() {
		t.Run(name+" follows the policy", func(t *testing.T) { wantNothingForbidden(t, renderHTML(t, page)) })
	}
}

func wantNothingForbidden(t *testing.T, page string) {
	t.Helper()
	for _, n := range nodes(t, page) {
		if p := forbidden(n); p != "" {
			t.Errorf("<%s> has %s", n.Data, p)
		}
	}
}

func TestPostFormsAreProtected(t *testing.T) {
	t.Parallel()
	forms := 0
	for name, page := range allPages() {
		t.Run(name+" protects its forms", func(t *testing.T) {
			for _, n := range nodes(t, renderHTML(t, page)) {
				if n.DataAtom != atom.Form || attr(n, "method") != "post" {
					continue
				}
				forms++
				action := attr(n, "action")
				fields := map[string]string{}
				for d := range n.Descendants() {
					if d.DataAtom == atom.Input && attr(d, "type") == "hidden" {
						fields[attr(d, "name")] = attr(d, "value")
					}
				}
				if fields["_token"] != formToken || fields["_key"] == "" {
					t.Errorf("form to %s has token %q and key %q", action, fields["_token"], fields["_key"])
				}
				if !strings.HasPrefix(action, "/") {
					t.Errorf("form posts to an external URL %q", action)
				}
			}
		})
	}
	if forms < 50 {
		t.Errorf("found only %d forms", forms)
	}
}

func TestHeadingsAreInOrder(t *testing.T) {
	t.Parallel()
	levels := map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4, atom.H5: 5, atom.H6: 6}
	for name, page := range allPages() {
		t.Run(name+" has one h1 and skips no level", func(t *testing.T) {
			last, first := 0, 0
			for _, n := range nodes(t, renderHTML(t, page)) {
				level := levels[n.DataAtom]
				if level == 0 {
					continue
				}
				if level > last+1 {
					t.Errorf("got h%d after h%d", level, last)
				}
				if level == 1 {
					first++
				}
				last = level
			}
			if first != 1 {
				t.Errorf("got %d h1 elements, want 1", first)
			}
		})
	}
}

func TestIDsAreUniqueAndReferencesResolve(t *testing.T) {
	t.Parallel()
	for name, page := range allPages() {
		t.Run(name, func(t *testing.T) {
			all := nodes(t, renderHTML(t, page))
			ids := map[string]bool{}
			for _, n := range all {
				if id := attr(n, "id"); id != "" && ids[id] {
					t.Errorf("id %q appears twice", id)
				}
				ids[attr(n, "id")] = true
			}
			for _, n := range all {
				for _, key := range []string{"for", "form", "aria-labelledby", "aria-describedby"} {
					for id := range strings.FieldsSeq(attr(n, key)) {
						if !ids[id] {
							t.Errorf("%s=%q refers to no element", key, id)
						}
					}
				}
			}
		})
	}
}

func TestLivePartsSelectThemselves(t *testing.T) {
	t.Parallel()
	for _, p := range samplePages() {
		page := nodes(t, renderHTML(t, p.comp))
		var again strings.Builder
		testkit.NoError(t, p.comp.Render(ui.WithKnownParts(t.Context(), "something"), &again))
		ids := map[string]bool{}
		for _, n := range nodes(t, again.String()) {
			ids[attr(n, "id")] = true
		}
		for _, n := range page {
			if !hasAttr(n, "data-live") {
				continue
			}
			id, sel, topics := attr(n, "id"), attr(n, "hx-select"), attr(n, "data-live")
			if sel != "#"+id || topics == "" || !ids[id] {
				t.Errorf("%s: live part %q selects %q on topics %q", p.name, id, sel, topics)
			}
			for part := range strings.SplitSeq(attr(n, "hx-select-oob"), ",") {
				if name := strings.TrimSuffix(strings.TrimPrefix(part, "#"), ":morph"); !ids[name] {
					t.Errorf("%s: live part %q refreshes %q, which the response lacks", p.name, id, name)
				}
			}
		}
	}
}

func TestViewersSeeNoForms(t *testing.T) {
	t.Parallel()
	c := sampleChrome("/tasks/142")
	c.CanWrite = false
	for name, comp := range map[string]string{
		"task":   renderHTML(t, TaskPage(c, sampleTaskModel())),
		"queues": renderHTML(t, QueuesPage(c, sampleQueues())), "inbox": renderHTML(t, InboxPage(c, sampleInbox())),
	} {
		for _, n := range nodes(t, comp) {
			if action := attr(n, "action"); n.DataAtom == atom.Form && action != URL.Logout() && action != "/tasks" &&
				action != "/queues" && action != URL.Views() && action != "/search" {
				t.Errorf("%s: form to %s", name, action)
			}
		}
	}
}

func TestPageTitles(t *testing.T) {
	t.Parallel()
	c := sampleChrome("/tasks/142")
	if got := renderHTML(t, TaskPage(c, sampleTaskModel())); !strings.Contains(got,
		"<title>(3) #142 Add rate limiting to the public API · Taskyard</title>") {
		t.Error("got title ", regexp.MustCompile(`<title>.*?</title>`).FindString(got))
	}
	c.Nav.Inbox = 0
	if got := renderHTML(t, QueuesPage(c, QueuesModel{})); !strings.Contains(got, "<title>Queues · Taskyard</title>") {
		t.Error("got title ", regexp.MustCompile(`<title>.*?</title>`).FindString(got))
	}
}

func TestABoardOfManyTasksStaysSmall(t *testing.T) {
	t.Parallel()
	m := QueuesModel{}
	for a := range 10 {
		var tasks []*task.Task
		for i := range 100 {
			tasks = append(tasks, sampleTask(task.ID(a*100+i+1),
				fmt.Sprintf("Task %d of many, with a title of usual length", i), "coder", i%10, nil))
		}
		m.Columns = append(m.Columns, task.BoardColumn{Agent: fmt.Sprintf("agent-%d", a), Slots: 1, Groups: groupCards(tasks, 8, nil)})
	}
	if got := testkit.Gzipped(renderHTML(t, QueuesPage(sampleChrome("/queues"), m))); got > 60<<10 {
		t.Errorf("got %d bytes gzipped, want at most 60 KiB", got)
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
