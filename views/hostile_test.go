package views_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// evil is a text that breaks out of every place where it is not escaped.
const evil = "x'\"></pre></textarea></script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e"

const someTime = task.Time(1_795_185_082_000)

// poison puts evil into every plain string of a model, one element into every
// slice and map, a value behind every pointer, and a true into every bool.
// Named string types are states that the server sets; they are left alone.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.Struct && v.Type().Elem().PkgPath() != "time" {
			v.Set(reflect.New(v.Type().Elem()))
			poison(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				poison(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			b, _ := json.Marshal(map[string]any{"tool": evil, "args": map[string]string{"path": evil}}) // never fails
			v.SetBytes(b)
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		poison(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if poison(key); key.Kind() == reflect.String {
			key.SetString("low")
		}
		poison(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(evil)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
		if v.Type() == reflect.TypeFor[task.Time]() {
			v.SetInt(int64(someTime))
		}
	case reflect.Float64:
		v.SetFloat(0.5)
	}
}

func poisoned[M any](change ...func(*M)) M {
	var m M
	poison(reflect.ValueOf(&m).Elem())
	for _, f := range change {
		f(&m)
	}
	return m
}

func hostileChrome() views.Chrome {
	c := poisoned[views.Chrome]()
	c.Role, c.Path, c.Theme, c.FormToken = task.RoleAdmin, "/x?q="+evil, "dark", "tok"
	c.Flash.Undo.Action = "/tasks/7/move"
	c.Pauses = append(task.Pauses{{By: evil, Reason: evil, Since: someTime}}, c.Pauses...)
	return c
}

// hostilePages are the pages, in each state that draws other parts, full of
// evil.
func hostilePages() map[string]templ.Component {
	c := hostileChrome()
	asking := func(m *views.ApprovalsModel) {
		m.Selected.Run.Status, m.Selected.Run.Phase = task.RunRunning, task.PhasePermission
		m.Selected.WhyNot, m.Selected.Run.Permission.Decision, m.Selected.Asked.Decision = "", "", task.PermissionDenied
	}
	waiting := func(m *views.ApprovalsModel) {
		m.Selected.Run.Permission, m.Selected.Asked, m.Selected.Run.PendingDecision = nil, nil, nil
		m.Selected.Form.Late = false
		m.Selected.Run.Status, m.Selected.Run.Phase = task.RunPending, task.PhaseApproval
		m.Selected.WhyNot, m.Selected.Run.Approval.Decision = "", ""
	}
	decided := func(word string) func(*views.ApprovalsModel) {
		return func(m *views.ApprovalsModel) {
			m.Selected.Run.Permission, m.Selected.Asked, m.Selected.Run.Approval.Decision, m.Selected.Run.PendingDecision = nil, nil, word, nil
		}
	}
	list := map[string]templ.Component{
		"permission waiting": views.ApprovalsPage(c, poisoned(asking)),
		"permission decided": views.ApprovalsPage(c, poisoned(asking, func(m *views.ApprovalsModel) { m.Selected.Run.Permission = nil })),
		"approvals waiting":  views.ApprovalsPage(c, poisoned(waiting)),
		"approvals not mine": views.ApprovalsPage(c, poisoned(waiting, func(m *views.ApprovalsModel) { m.Selected.WhyNot = evil })),
		"approvals approved": views.ApprovalsPage(c, poisoned(decided("approved"))),
		"approvals held": views.ApprovalsPage(c,
			poisoned(waiting, func(m *views.ApprovalsModel) {
				m.Selected.Run.PendingDecision = &task.PendingDecision{By: evil, Reason: evil}
			})),
		"approvals denied": views.ApprovalsPage(c, poisoned(decided("denied"))),
		"queues": views.QueuesPage(c, poisoned(func(m *views.QueuesModel) {
			m.Columns[0].Agent, m.Columns[0].Groups[0].Glyph = "coder", ui.GlyphFail
		})),
		"tasks":   views.TasksPage(c, poisoned[views.TasksModel]()),
		"views":   views.ViewsPage(c, poisoned[views.ViewsModel]()),
		"bulk":    views.BulkPage(c, poisoned(func(m *views.BulkModel) { m.Act = "move" })),
		"runs":    views.RunsPage(c, poisoned[views.RunsModel]()),
		"history": views.HistoryPage(c, poisoned(func(m *views.HistoryModel) { m.Zone = nil })),
		"history found": views.HistoryPage(c, poisoned(func(m *views.HistoryModel) {
			h := m.Hits[7]
			m.Zone, h.Place = nil, task.HitComment
			m.Hits[7] = h
		})),
		"insights":          views.InsightsPage(c, poisoned(func(m *views.InsightsModel) { m.Zone = nil })),
		"agents":            views.AgentsPage(c, poisoned[views.AgentsModel]()),
		"agent":             views.AgentPage(c, poisoned[views.AgentModel]()),
		"agent editor":      views.AgentEditPage(c, poisoned[views.AgentEditModel]()),
		"agent editor, old": views.AgentEditPage(c, poisoned(func(m *views.AgentEditModel) { m.New = false })),
		"scheduler":         views.SchedulerPage(c, poisoned[views.SchedulerModel]()),
		"inbox":             views.InboxPage(c, poisoned[views.InboxModel]()),
		"pause":             views.PausePage(c, poisoned[views.PauseModel]()),
		"stop":              views.StopPage(c, poisoned[views.StopModel]()),
		"profile":           views.ProfilePage(c, poisoned[views.ProfileModel]()),
		"people":            views.PeoplePage(c, poisoned[views.PeopleModel]()),
		"tokens":            views.TokensPage(c, poisoned[views.TokensModel]()),
		"about":             views.AboutPage(c, poisoned[views.AboutModel]()),
		"line of a run":     views.RunLinePage(c, poisoned[views.RunLineModel]()),
		"agent conflict":    views.AgentEditPage(c, poisoned(func(m *views.AgentEditModel) { m.New, m.Conflict.Gone = false, false })),
		"connect":           views.ConnectPage(c, poisoned[views.ConnectModel]()),
		"appearance":        views.AppearancePage(c, poisoned[views.AppearanceModel]()),
	}
	for _, s := range task.States {
		list["run "+s.String()] = views.RunPage(c, poisoned(func(m *views.RunModel) {
			m.Run.Status, m.Run.Phase, m.Expired, m.RetriedBy, m.Run.PendingDecision = s.Status, s.Phase, "", 0, nil
			m.Part.Lines = hostileLines()
		}))
	}
	return list
}

func hostileMessages() []task.Message {
	var list []task.Message
	for i, typ := range []string{"prompt", "text", "tool_call", "tool_result", "tool_result", "usage", "log", "error", "result", evil} {
		m := poisoned[task.Message]()
		m.ID, m.Type = task.ID(100+i), typ
		list = append(list, m)
	}
	return list
}

func hostileLines() []task.TranscriptLine {
	var list []task.TranscriptLine
	for i, m := range hostileMessages() {
		list = append(list, task.TranscriptLine{Message: m, Size: 7 + i*task.TranscriptCut})
	}
	return list
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return string(ui.MarkHidden([]byte(b.String())))
}

func elements(t *testing.T, page string) []*html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var list []*html.Node
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			list = append(list, n)
		}
	}
	return list
}

func get(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func TestHostileTextStaysText(t *testing.T) {
	for name, page := range hostilePages() {
		t.Run(name+" lets nothing through", func(t *testing.T) {
			text := render(t, page)
			if !strings.Contains(text, "&lt;img src=x onerror=alert(2)&gt;") {
				t.Error("the hostile text is not shown at all")
			}
			for _, n := range elements(t, text) {
				if p := forbidden(n); p != "" {
					t.Errorf("<%s> has %s", n.Data, p)
				}
			}
		})
	}
	t.Run("a live piece of a transcript lets nothing through", func(t *testing.T) {
		for _, n := range elements(t, "<ol>"+render(t, views.TranscriptItems(views.TranscriptView{Query: "src"}, hostileLines()))+"</ol>") {
			if p := forbidden(n); p != "" {
				t.Errorf("<%s> has %s", n.Data, p)
			}
		}
	})
}

// forbidden names what the content security policy or a hostile text would
// have put into an element, or returns "".
func forbidden(n *html.Node) string {
	switch {
	case n.DataAtom == atom.Img, n.DataAtom == atom.Style, n.DataAtom == atom.Iframe:
		return "no business here"
	case n.DataAtom == atom.Script && (!strings.HasPrefix(get(n, "src"), "/static/") || n.FirstChild != nil):
		return "inline or foreign code"
	}
	for _, a := range n.Attr {
		value := strings.ToLower(a.Val)
		switch {
		case a.Key == "style", strings.HasPrefix(a.Key, "on"), strings.HasPrefix(a.Key, "hx-on"):
			return "attribute " + a.Key
		case a.Key == "hx-trigger" && strings.Contains(value, "["), a.Key == "hx-swap" && strings.HasPrefix(value, "morph:{"):
			return "a dropped " + a.Key
		case strings.HasPrefix(a.Key, "hx-") && strings.Contains(value, "js:"):
			return "evaluated " + a.Key
		case (a.Key == "href" || a.Key == "action") && strings.HasPrefix(value, "javascript"):
			return "a javascript address"
		}
	}
	return ""
}
