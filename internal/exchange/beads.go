package exchange

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"taskyard/task"
)

// Beads parses the issues of Beads (bd): JSON Lines, one issue per line.
func Beads(issues Source) *Plan {
	p := &Plan{From: FromBeads}
	lines(issues, p.bead)
	p.dropUnknown("dependencies")
	p.stepsOfChildren()
	return p.settle()
}

func (p *Plan) bead(where string, v jsontext.Value) {
	r := &p.Report
	f := r.object(where, v)
	if f == nil {
		return
	}
	status := f.text("status")
	if status == "tombstone" || f.text("deleted_at") != "" {
		r.omit(where, "deleted issues")
		return
	}
	item := &Item{Where: where, Ref: f.ref("id")}
	if item.Ref == "" {
		r.AddProblem(f.at("id"), "is missing")
	}
	t := &item.Task
	t.Title, t.Channel, t.Version = f.text("title"), "web", 1
	t.CreatedAt, t.UpdatedAt = f.time("created_at"), f.time("updated_at")
	r.maps("beads.title, description, created_at, updated_at → the same")
	p.beadStatus(item, f, status)
	if n, ok := f.wholeNumber("priority"); ok {
		r.maps("beads.priority 0 to 4 → priority 20 to -20")
		t.Priority = 10 * (2 - n)
	}
	if t.Owner = f.text("assignee"); t.Owner != "" {
		r.maps("beads.assignee → owner")
	}
	t.CreatedBy = person(f.text("created_by"))
	if item.Task.Labels = f.texts("labels"); len(item.Task.Labels) > 0 {
		r.maps("beads.labels → labels")
	}
	if kind := f.text("issue_type"); kind != "" && kind != "task" {
		item.Task.Labels = append(item.Task.Labels, kind)
		r.maps("beads.issue_type → label")
	}
	p.beadLinks(item, f)
	p.beadComments(item, f)
	p.beadText(item, f)
	f.reportUnread()
	p.add(item)
}

func (p *Plan) beadStatus(item *Item, f *fields, status string) {
	t := &item.Task
	closed := f.time("closed_at")
	switch status {
	case "closed":
		t.Status, t.ArchivedAt = task.Done, closed
		t.ArchivedAt = cmp.Or(t.ArchivedAt, t.UpdatedAt)
		if t.Summary = f.text("close_reason"); t.Summary != "" {
			p.Report.maps("beads.close_reason → summary")
		}
	case "deferred", "pinned":
		t.Status = task.Draft
	default:
		t.Status = task.Active
	}
	status = cmp.Or(status, "open")
	p.Report.maps(fmt.Sprintf("beads.status %s → %s", task.Quote(status), t.Status))
}

// beadLinks parses the dependencies: blockers and parents.
func (p *Plan) beadLinks(item *Item, f *fields) {
	r := &p.Report
	for d := range f.objects("dependencies") {
		to := d.ref("depends_on_id")
		switch kind := d.text("type"); {
		case to == "":
			r.AddProblem(d.at("depends_on_id"), "is missing")
		case kind == "blocks":
			item.BlockedBy = append(item.BlockedBy, to)
			r.maps("beads.dependencies blocks → blockedBy")
		case kind == "parent-child" && item.Parent == "":
			item.Parent = to
			r.maps("beads.dependencies parent-child → subtask, linked to a step of its parent")
		default:
			r.omit(d.where, "links of the kind "+task.Quote(kind))
		}
	}
}

func (p *Plan) beadComments(item *Item, f *fields) {
	for c := range f.objects("comments") {
		item.Task.Comments = append(item.Task.Comments, task.Comment{
			Author: person(c.text("author")), Kind: task.KindComment, Content: c.text("text"), CreatedAt: c.time("created_at"),
		})
		p.Report.maps("beads.comments → comments")
	}
}

func (p *Plan) beadText(item *Item, f *fields) {
	r := &p.Report
	var d descriptionBuilder
	d.add(f.text("description"))
	for _, s := range []struct{ field, title string }{
		{"design", "Design"},
		{"acceptance_criteria", "Acceptance criteria"},
		{"notes", "Notes"},
	} {
		if d.section(s.title, f.text(s.field)) {
			r.maps("beads." + s.field + " → a section of the description")
		}
	}
	if ref := f.text("external_ref"); item.attach(ref, "External reference") {
		r.maps("beads.external_ref → resource")
	} else {
		d.note("External reference", ref)
	}
	if n, ok := f.wholeNumber("estimated_minutes"); ok {
		d.note("Estimated minutes", strconv.Itoa(n))
	}
	d.note("Due", f.text("due_at"))
	d.note("Deferred until", f.text("defer_until"))
	d.note("Assignee", item.Task.Owner)
	d.note("Imported from beads", item.Ref)
	item.Task.Description = d.String()
}
