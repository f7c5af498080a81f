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
	it := &Item{Where: where, Ref: f.ref("id")}
	if it.Ref == "" {
		r.AddProblem(f.at("id"), "is missing")
	}
	t := &it.Task
	t.Title, t.Channel, t.Version = f.text("title"), "web", 1
	t.CreatedAt, t.UpdatedAt = f.time("created_at"), f.time("updated_at")
	r.maps("beads.title, description, created_at, updated_at → the same")
	p.beadStatus(it, f, status)
	if n, ok := f.wholeNumber("priority"); ok {
		r.maps("beads.priority 0 to 4 → priority 20 to -20")
		t.Priority = 10 * (2 - n)
	}
	if t.Owner = f.text("assignee"); t.Owner != "" {
		r.maps("beads.assignee → owner")
	}
	t.CreatedBy = person(f.text("created_by"))
	if it.Task.Labels = f.texts("labels"); len(it.Task.Labels) > 0 {
		r.maps("beads.labels → labels")
	}
	if kind := f.text("issue_type"); kind != "" && kind != "task" {
		it.Task.Labels = append(it.Task.Labels, kind)
		r.maps("beads.issue_type → label")
	}
	p.beadLinks(it, f)
	p.beadComments(it, f)
	p.beadText(it, f)
	f.reportUnread()
	p.add(it)
}

func (p *Plan) beadStatus(it *Item, f *fields, status string) {
	t := &it.Task
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
func (p *Plan) beadLinks(it *Item, f *fields) {
	r := &p.Report
	for d := range f.objects("dependencies") {
		to := d.ref("depends_on_id")
		switch kind := d.text("type"); {
		case to == "":
			r.AddProblem(d.at("depends_on_id"), "is missing")
		case kind == "blocks":
			it.BlockedBy = append(it.BlockedBy, to)
			r.maps("beads.dependencies blocks → blockedBy")
		case kind == "parent-child" && it.Parent == "":
			it.Parent = to
			r.maps("beads.dependencies parent-child → subtask, linked to a step of its parent")
		default:
			r.omit(d.where, "links of the kind "+task.Quote(kind))
		}
	}
}

func (p *Plan) beadComments(it *Item, f *fields) {
	for c := range f.objects("comments") {
		it.Task.Comments = append(it.Task.Comments, task.Comment{
			Author: person(c.text("author")), Kind: task.KindComment, Content: c.text("text"), CreatedAt: c.time("created_at"),
		})
		p.Report.maps("beads.comments → comments")
	}
}

func (p *Plan) beadText(it *Item, f *fields) {
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
	if ref := f.text("external_ref"); it.attach(ref, "External reference") {
		r.maps("beads.external_ref → resource")
	} else {
		d.note("External reference", ref)
	}
	if n, ok := f.wholeNumber("estimated_minutes"); ok {
		d.note("Estimated minutes", strconv.Itoa(n))
	}
	d.note("Due", f.text("due_at"))
	d.note("Deferred until", f.text("defer_until"))
	d.note("Assignee", it.Task.Owner)
	d.note("Imported from beads", it.Ref)
	it.Task.Description = d.String()
}
