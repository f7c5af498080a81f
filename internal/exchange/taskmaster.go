package exchange

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"taskyard/task"
)

// TaskMaster parses the tasks.json of Task Master: one list of tasks per tag,
// or the older form with one list.
func TaskMaster(tasks Source) *Plan {
	p := &Plan{From: FromTaskMaster}
	top := p.Report.object(tasks.Name, jsontext.Value(bytes.TrimSpace(tasks.Data)))
	if top == nil {
		return p.settle()
	}
	if top.m["tasks"] != nil && top.m["tasks"].Kind() == '[' {
		p.tag("", top)
	} else {
		for _, name := range sortedKeys(top.m) {
			if tag := p.Report.object(tasks.Name+": "+task.Quote(name), top.get(name)); tag != nil {
				p.tag(name, tag)
			}
		}
	}
	p.dropUnknown("dependencies")
	return p.settle()
}

// tag reads the tasks of one tag. Each tag has its own IDs.
func (p *Plan) tag(name string, f *fields) {
	var created task.Time
	if m := f.get("metadata"); m != nil && m.Kind() == '{' {
		if meta := p.Report.object(f.at("metadata"), m); meta != nil {
			created = meta.time("created")
		}
	}
	for t := range f.objects("tasks") {
		item := p.taskMaster(name, t)
		item.Task.CreatedAt = cmp.Or(item.Task.CreatedAt, created)
		p.add(item)
	}
	f.reportUnread()
}

func (p *Plan) taskMaster(tag string, f *fields) *Item {
	r := &p.Report
	id := f.ref("id")
	if id == "" {
		r.AddProblem(f.at("id"), "is missing")
	}
	item := &Item{Where: f.where, Ref: tag + "#" + id}
	t := &item.Task
	t.Title, t.Channel, t.Version, t.CreatedBy = f.text("title"), "web", 1, task.System
	t.UpdatedAt = f.time("updatedAt")
	r.maps("taskmaster.title, description → the same")
	t.Owner = f.text("assignee")
	p.taskMasterStatus(item, f)
	if n, ok := map[string]int{"critical": 20, "high": 10, "medium": 0, "low": -10}[f.text("priority")]; ok {
		t.Priority = n
		r.maps("taskmaster.priority high, medium, low → priority 10, 0, -10")
	}
	if tag != "" && tag != "master" {
		item.Task.Labels = append(item.Task.Labels, tag)
		r.maps("taskmaster tag → label")
	}
	for _, ref := range f.refs("dependencies") {
		if strings.Contains(ref, ".") {
			r.omit(f.where, "dependencies on subtasks of other tasks")
			continue
		}
		item.BlockedBy = append(item.BlockedBy, tag+"#"+ref)
		r.maps("taskmaster.dependencies → blockedBy")
	}
	p.subtasks(item, f)
	var d descriptionBuilder
	d.add(f.text("description"))
	p.sections(&d, f)
	d.note("Assignee", t.Owner)
	d.note("Imported from Task Master", strings.Trim(tag+" "+id, " "))
	t.Description = d.String()
	f.reportUnread()
	return item
}

func (p *Plan) sections(d *descriptionBuilder, f *fields) {
	for _, s := range []struct{ field, title string }{
		{"details", "Details"},
		{"testStrategy", "Test strategy"},
		{"acceptanceCriteria", "Acceptance criteria"},
	} {
		if d.section(s.title, f.text(s.field)) {
			p.Report.maps("taskmaster." + s.field + " → a section of the description or the step's details")
		}
	}
}

func (p *Plan) taskMasterStatus(item *Item, f *fields) {
	t := &item.Task
	status := f.text("status")
	switch status {
	case "done", "completed":
		t.Status, t.ArchivedAt = task.Done, t.UpdatedAt
	case "cancelled", "canceled":
		t.Status, t.ArchivedAt = task.Canceled, t.UpdatedAt
	case "deferred":
		t.Status = task.Draft
	default:
		t.Status = task.Active
	}
	p.Report.maps(fmt.Sprintf("taskmaster.status %s → %s", task.Quote(status), t.Status))
}

// subtasks converts subtasks to steps, because they have no owner.
func (p *Plan) subtasks(item *Item, f *fields) {
	for s := range f.objects("subtasks") {
		var d descriptionBuilder
		d.add(s.text("description"))
		p.sections(&d, s)
		status := s.text("status")
		step := task.Step{Title: s.text("title"), Done: status == "done" || status == "completed"}
		if !step.Done && status != "pending" {
			d.note("Status", status)
		}
		for range s.refs("dependencies") {
			p.Report.omit(s.where, "dependencies between the subtasks of a task: steps are done in order")
		}
		s.get("id")
		s.get("parentTaskId")
		step.Details = d.String()
		item.Task.Steps = append(item.Task.Steps, step)
		p.Report.maps("taskmaster.subtasks → steps")
		s.reportUnread()
	}
}
