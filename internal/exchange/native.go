package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"taskyard/task"
)

// Taskyard parses tasks.json, history.jsonl and todos.json of an export or of
// the original program with that format. history and todos may be nil.
func Taskyard(tasks Source, history, todos *Source) *Plan {
	p := &Plan{From: FromTaskyard}
	p.readTasks(tasks)
	if history != nil {
		lines(*history, func(where string, v jsontext.Value) { p.native(where, v, true) })
	}
	if todos != nil {
		p.readTodos(*todos)
	}
	return p.settle()
}

// readTasks reads {"tasks": […], "nextId": N} one task at a time.
func (p *Plan) readTasks(s Source) {
	d := jsontext.NewDecoder(bytes.NewBuffer(s.Data))
	if err := p.topLevel(d, s.Name); err != nil {
		at := d.InputOffset()
		var problem *jsontext.SyntacticError
		if errors.As(err, &problem) {
			at = max(at, problem.ByteOffset)
		}
		at = min(at, int64(len(s.Data)))
		p.Report.AddProblem(fmt.Sprintf("%s line %d", s.Name, bytes.Count(s.Data[:at], []byte("\n"))+1), "%s", plainJSON(err))
	}
}

func (p *Plan) topLevel(d *jsontext.Decoder, file string) error {
	if k := d.PeekKind(); k != '{' && k != 0 {
		p.Report.AddProblem(file, `must be one JSON object {"tasks": […], "nextId": N}`)
		return nil
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	found := false
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		switch key := name.String(); {
		case key == "tasks" && d.PeekKind() == '[':
			found = true
			i := -1
			if err := elements(d, func(v jsontext.Value) {
				i++
				p.native(fmt.Sprintf("%s: tasks[%d]", file, i), v, false)
			}); err != nil {
				return err
			}
		default:
			v, err := d.ReadValue()
			if err != nil {
				return err
			}
			p.member(file, key, v)
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if !found {
		p.Report.AddProblem(file, `has no list "tasks"`)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return errMore
	}
	return nil
}

func (p *Plan) member(file, key string, v jsontext.Value) {
	if key != "nextId" {
		if key != "tasks" {
			p.Report.omit(file, "field "+task.Quote(key))
		}
		return
	}
	s, _ := parseRef(v)
	id, err := task.ParseID(s)
	if err != nil || id > maxID {
		p.Report.AddProblem(file+": nextId", "must be a positive whole number")
		return
	}
	p.NextID = id
}

// maxID leaves enough room for new IDs.
const maxID = 1 << 53

// native reads one task.
func (p *Plan) native(where string, v jsontext.Value, history bool) {
	f := p.Report.object(where, v)
	if f == nil {
		return
	}
	item := &Item{Where: where, Ref: f.ref("id")}
	id, err := task.ParseID(item.Ref)
	if err != nil || id > maxID {
		p.Report.AddProblem(where+".id", `must be a positive whole number such as "5", not %s`, task.Quote(item.Ref))
		item.Ref = ""
	}
	t := &item.Task
	t.ID = id
	t.Title, t.Description = f.text("title"), f.text("description")
	t.Owner, t.CreatedBy = f.text("owner"), f.text("createdBy")
	t.TitleBy, t.TextBy = f.text("titleBy"), f.text("descriptionBy")
	t.CreatedBy = cmp.Or(t.CreatedBy, task.System)
	if t.Project = f.text("project"); t.Project != "" && !task.ValidProjectKey(t.Project) {
		p.Report.AddProblem(f.at("project"), "is not the key of a project")
	}
	p.demands(t, f)
	t.Priority, _ = f.wholeNumber("priority")
	version, _ := f.wholeNumber("version")
	t.Version = int64(max(version, 1))
	t.Channel = cmp.Or(f.text("channel"), "web")
	t.Summary = f.text("summary")
	t.CreatedAt, t.UpdatedAt, t.ArchivedAt = f.time("createdAt"), f.time("updatedAt"), f.time("archivedAt")
	item.Parent, item.BlockedBy, item.Task.Labels = f.ref("parentTaskId"), f.refs("blockedBy"), f.texts("labels")
	p.status(item, f, history)
	p.parts(item, f)
	waits := task.WaitingFor(f.text("waitingFor"))
	item.Asked = waits == task.WaitsUser
	if waits == task.WaitsReview || waits == task.WaitsMerge {
		p.Report.omit(where, "results: a task whose result waited has to be completed again")
	}
	item.Withheld = f.text("consent") == "withheld"
	if f.get("claim") != nil {
		p.Report.omit(where, "claims: whoever works on a task has to claim it again")
	}
	if thread := f.ref("threadId"); thread != "" && thread != item.Ref {
		p.Report.omit(where, "threadId: the thread of a task has the task's id here")
	}
	for _, derived := range []string{"workStatus", "links"} {
		f.get(derived)
	}
	f.reportUnread()
	p.add(item)
}

// demands reads the checks and the policy of one task.
func (p *Plan) demands(t *task.Task, f *fields) {
	t.BoundBy = f.texts("boundBy")
	for _, id := range t.BoundBy {
		if !task.ValidAgentID(id) {
			p.Report.AddProblem(f.at("boundBy"), "%s is not the name of an agent", task.Quote(id))
		}
	}
	var problem task.Problems
	if v := f.get("checks"); v != nil {
		if err := json.Unmarshal(v, &t.Checks); err != nil {
			p.Report.AddProblem(f.at("checks"), "is not a list of checks: %v", err)
			return
		}
		problem.CheckChecks("checks", t.Checks, t.Project != "")
	}
	if v := f.get("policy"); v != nil {
		if err := json.Unmarshal(v, &t.Policy); err != nil {
			p.Report.AddProblem(f.at("policy"), "is not a policy: %v", err)
			return
		}
		problem.CheckReview("policy", *t.Policy)
	}
	p.Report.problems(f.where, &problem)
}

// status reads the status of a task, which must match its file.
func (p *Plan) status(item *Item, f *fields, history bool) {
	t := &item.Task
	t.Status = task.Status(f.text("status"))
	switch t.Status {
	case task.Draft, task.Active:
		if history {
			p.Report.AddProblem(f.at("status"), "is %s, but a task of history is done or canceled", t.Status)
		}
		if t.ArchivedAt != 0 {
			p.Report.AddProblem(f.at("archivedAt"), "must not be there: the task is %s", t.Status)
		}
	case task.Done, task.Canceled:
		if !history {
			p.Report.AddProblem(f.at("status"), "is %s, but such a task belongs into history.jsonl", t.Status)
		}
		if t.ArchivedAt == 0 {
			t.ArchivedAt = t.UpdatedAt
			p.Report.Note(f.where, "a task of history has no archivedAt; its updatedAt is taken")
		}
	default:
		p.Report.AddProblem(f.at("status"), "must be draft, active, done or canceled, not %s", task.Quote(string(t.Status)))
	}
}

// parts reads steps, resources and comments.
func (p *Plan) parts(item *Item, f *fields) {
	for s := range f.objects("steps") {
		item.Task.Steps = append(item.Task.Steps, task.Step{Title: s.text("title"), Details: s.text("details"), Done: s.flag("done")})
		item.Subtasks = append(item.Subtasks, s.ref("taskId"))
		s.reportUnread()
	}
	for s := range f.objects("resources") {
		item.Task.Resources = append(item.Task.Resources, task.Resource{Type: s.text("type"), Value: s.text("value"), Label: s.text("label")})
		s.reportUnread()
	}
	for s := range f.objects("comments") {
		item.Task.Comments = append(item.Task.Comments, p.comment(s))
	}
}

func (p *Plan) comment(s *fields) task.Comment {
	c := task.Comment{
		Author: s.text("author"), Kind: task.MessageKind(s.text("kind")), Content: s.text("content"),
		CreatedAt: s.time("createdAt"), Imported: s.flag("imported"),
	}
	if ref := s.ref("id"); ref != "" {
		id, err := task.ParseID(ref)
		if err != nil || id > maxID {
			p.Report.AddProblem(s.at("id"), "must be a positive whole number, not %s", task.Quote(ref))
		}
		c.ID = id
	}
	switch c.Kind {
	case "":
		c.Kind = task.KindComment
	case task.KindComment, task.KindHandoff, task.KindNotice, task.KindQuestion, task.KindAnswer, task.KindSystem:
	default:
		p.Report.AddProblem(s.at("kind"), "must be comment, handoff, notice, question, answer or system, not %s", task.Quote(string(c.Kind)))
	}
	s.reportUnread()
	return c
}

// readTodos reads {"agent": ["item", …]}.
func (p *Plan) readTodos(s Source) {
	f := p.Report.object(s.Name, jsontext.Value(bytes.TrimSpace(s.Data)))
	if f == nil {
		return
	}
	for _, agent := range sortedKeys(f.m) {
		l := Todos{Agent: agent, Items: f.texts(agent)}
		if !task.ValidAgentID(agent) {
			p.Report.AddProblem(f.at(task.Quote(agent)), "is not the name of an agent")
		}
		for i, item := range l.Items {
			var problem task.Problems
			where := fmt.Sprintf("%s[%d]", f.at(agent), i)
			if problem.CheckText(where, item, task.MaxTodoItem*utf8.UTFMax); utf8.RuneCountInString(item) > task.MaxTodoItem ||
				item == "" || problem.Err() != nil {
				p.Report.AddProblem(where, "must be 1 to %d characters of UTF-8 without NUL", task.MaxTodoItem)
			}
		}
		p.Todos = append(p.Todos, l)
	}
}
