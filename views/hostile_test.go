package views

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"taskyard/task"
	"taskyard/views/ui"
)

// evil is a text that breaks out of any context in which it is not escaped.
const evil = "x'\"></pre></textarea></script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e"

const someTime = task.Time(1_795_185_082_000)

// poison sets every plain string of a model to evil, adds one element to every slice
// and map, allocates every pointer, and sets every bool. Named string types are
// states that the server sets, so they are left alone.
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

func hostileChrome() Chrome {
	c := poisoned[Chrome]()
	c.Role, c.Path, c.Theme, c.FormToken = task.RoleAdmin, "/x?q="+evil, "dark", formToken
	c.Flash.Undo.Action = "/tasks/7/move"
	c.Pauses = append(task.Pauses{{By: evil, Reason: evil, Since: someTime}}, c.Pauses...)
	return c
}

// hostilePages returns the pages full of evil, in each state that renders different
// parts.
func hostilePages() map[string]templ.Component {
	c := hostileChrome()
	asking := func(m *ApprovalsModel) {
		m.Selected.Run.Status, m.Selected.Run.Phase = task.RunRunning, task.PhasePermission
		m.Selected.WhyNot, m.Selected.Run.Permission.Decision, m.Selected.Asked.Decision = "", "", task.PermissionDenied
	}
	waiting := func(m *ApprovalsModel) {
		m.Selected.Run.Permission, m.Selected.Asked, m.Selected.Run.PendingDecision = nil, nil, nil
		m.Selected.Form.Late = false
		m.Selected.Run.Status, m.Selected.Run.Phase = task.RunPending, task.PhaseApproval
		m.Selected.WhyNot, m.Selected.Run.Approval.Decision = "", ""
	}
	decided := func(word string) func(*ApprovalsModel) {
		return func(m *ApprovalsModel) {
			m.Selected.Run.Permission, m.Selected.Asked, m.Selected.Run.Approval.Decision, m.Selected.Run.PendingDecision = nil, nil, word, nil
		}
	}
	list := map[string]templ.Component{
		"permission waiting": ApprovalsPage(c, poisoned(asking)),
		"permission decided": ApprovalsPage(c, poisoned(asking, func(m *ApprovalsModel) { m.Selected.Run.Permission = nil })),
		"approvals waiting":  ApprovalsPage(c, poisoned(waiting)),
		"approvals not mine": ApprovalsPage(c, poisoned(waiting, func(m *ApprovalsModel) { m.Selected.WhyNot = evil })),
		"approvals approved": ApprovalsPage(c, poisoned(decided("approved"))),
		"approvals held": ApprovalsPage(c,
			poisoned(waiting, func(m *ApprovalsModel) {
				m.Selected.Run.PendingDecision = &task.PendingDecision{By: evil, Reason: evil}
			})),
		"approvals denied": ApprovalsPage(c, poisoned(decided("denied"))),
		"queues": QueuesPage(c, poisoned(func(m *QueuesModel) {
			m.Columns[0].Agent, m.Columns[0].Groups[0].Shown = "coder", task.ShownFailed
		})),
		"tasks":   TasksPage(c, poisoned[TasksModel]()),
		"views":   ViewsPage(c, poisoned[ViewsModel]()),
		"bulk":    BulkPage(c, poisoned(func(m *BulkModel) { m.Act = "move" })),
		"runs":    RunsPage(c, poisoned[RunsModel]()),
		"history": HistoryPage(c, poisoned(func(m *HistoryModel) { m.Zone = nil })),
		"history found": HistoryPage(c, poisoned(func(m *HistoryModel) {
			h := m.Hits[7]
			m.Zone, h.Place = nil, task.HitComment
			m.Hits[7] = h
		})),
		"insights":          InsightsPage(c, poisoned(func(m *InsightsModel) { m.Zone = nil })),
		"agents":            AgentsPage(c, poisoned[AgentsModel]()),
		"agent":             AgentPage(c, poisoned[AgentModel]()),
		"agent editor":      AgentEditPage(c, poisoned[AgentEditModel]()),
		"agent editor, old": AgentEditPage(c, poisoned(func(m *AgentEditModel) { m.New = false })),
		"scheduler":         SchedulerPage(c, poisoned[SchedulerModel]()),
		"inbox":             InboxPage(c, poisoned[InboxModel]()),
		"pause":             PausePage(c, poisoned[PauseModel]()),
		"stop":              StopPage(c, poisoned[StopModel]()),
		"profile":           ProfilePage(c, poisoned[ProfileModel]()),
		"people":            PeoplePage(c, poisoned[PeopleModel]()),
		"tokens":            TokensPage(c, poisoned[TokensModel]()),
		"about":             AboutPage(c, poisoned[AboutModel]()),
		"line of a run":     RunLinePage(c, poisoned[RunLineModel]()),
		"agent conflict":    AgentEditPage(c, poisoned(func(m *AgentEditModel) { m.New, m.Conflict.Gone = false, false })),
		"connect":           ConnectPage(c, poisoned[ConnectModel]()),
		"appearance":        AppearancePage(c, poisoned[AppearanceModel]()),
	}
	for _, s := range task.States {
		list["run "+s.String()] = RunPage(c, poisoned(func(m *RunModel) {
			m.Run.Status, m.Run.Phase, m.Expired, m.RetriedBy, m.Run.PendingDecision = s.Status, s.Phase, "", 0, nil
			m.Part.Lines = hostileLines()
		}))
	}
	return list
}

// hostileTaskPages returns pages whose models need realistic values: samples with
// evil in their texts.
func hostileTaskPages() map[string]templ.Component {
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
	q := sampleQueues()
	q.Filter.Query = evil
	q.Columns[1].Groups[0].Cards[0].Task.Title = evil
	q.Columns[1].Groups[0].Cards[0].Activity = evil
	c := sampleChrome("/tasks/142")
	c.User, c.Flash.Text, c.Theme = evil, evil, evil
	return map[string]templ.Component{
		"task of others":   TaskPage(c, m),
		"queues of others": QueuesPage(c, q),
		"move":             MovePage(c, MoveModel{Task: m.Task, Comment: evil}),
		"new":              NewTaskPage(c, NewTaskModel{Title: evil, Steps: evil, Errors: ui.FieldErrors{"title": evil}}),
		"login":            LoginPage(c, LoginModel{Name: evil, Next: evil, Error: evil}),
	}
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

// TestHostileTextIsEscaped complements TestPagesFollowTheContentSecurityPolicy, which
// checks the same pages.
func TestHostileTextIsEscaped(t *testing.T) {
	t.Parallel()
	pages := hostilePages()
	maps.Copy(pages, hostileTaskPages())
	for name, page := range pages {
		t.Run(name+" shows hostile text", func(t *testing.T) {
			if !strings.Contains(renderHTML(t, page), "&lt;img src=x onerror=alert(2)&gt;") {
				t.Error("the hostile text is not shown")
			}
		})
	}
	t.Run("a live update of a transcript is escaped", func(t *testing.T) {
		wantNothingForbidden(t, "<ol>"+renderHTML(t, TranscriptItems(TranscriptView{Query: "src"}, hostileLines()))+"</ol>")
	})
}
