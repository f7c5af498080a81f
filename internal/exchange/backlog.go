package exchange

import (
	"fmt"
	"strings"

	"taskyard/task"
)

// Backlog parses the task files of Backlog.md. Names contain the folder of each
// file: tasks, drafts, completed or archive.
func Backlog(files []Source) *Plan {
	p := &Plan{From: FromBacklog}
	for _, f := range files {
		p.backlog(f)
	}
	p.dropUnknown("dependencies")
	p.stepsOfChildren()
	return p.settle()
}

func (p *Plan) backlog(s Source) {
	r := &p.Report
	f, body, ok := p.readMatter(s)
	if !ok {
		return
	}
	item := &Item{Where: s.Name}
	id := f.text("id")
	if id == "" {
		r.AddProblem(s.Name+".id", "is missing in the front matter")
	}
	item.Ref = strings.ToLower(id)
	t := &item.Task
	t.Title, t.Channel, t.Version = f.text("title"), "web", 1
	t.CreatedAt, t.UpdatedAt = f.time("created_date"), f.time("updated_date")
	r.maps("backlog.title, created_date, updated_date, Description → the same")
	p.backlogStatus(item, s.Name, f.text("status"))
	if n, ok := map[string]int{"critical": 20, "high": 10, "medium": 0, "low": -10}[strings.ToLower(f.text("priority"))]; ok {
		t.Priority = n
		r.maps("backlog.priority high, medium, low → priority 10, 0, -10")
	}
	t.CreatedBy = person(f.text("reporter"))
	if item.Task.Labels = f.texts("labels"); len(item.Task.Labels) > 0 {
		r.maps("backlog.labels → labels")
	}
	for _, ref := range f.texts("dependencies") {
		item.BlockedBy = append(item.BlockedBy, strings.ToLower(ref))
		r.maps("backlog.dependencies → blockedBy")
	}
	if item.Parent = strings.ToLower(f.text("parent_task_id")); item.Parent != "" {
		r.maps("backlog.parent_task_id → subtask, linked to a step of its parent")
	}
	p.backlogText(item, f, id, body)
	f.reportUnread()
	p.add(item)
}

// backlogStatus prefers the folder: files move when their task ends.
func (p *Plan) backlogStatus(item *Item, name, status string) {
	t := &item.Task
	folder := "/" + name
	switch {
	case strings.Contains(folder, "/archive/"):
		t.Status = task.Canceled
		p.Report.maps("backlog archive → canceled")
	case strings.Contains(folder, "/completed/"), strings.EqualFold(status, "Done"):
		t.Status = task.Done
		p.Report.maps("backlog.status Done, or folder completed → done")
	case strings.Contains(folder, "/drafts/"), strings.EqualFold(status, "Draft"):
		t.Status = task.Draft
		p.Report.maps("backlog drafts → draft")
	default:
		t.Status = task.Active
		p.Report.maps(fmt.Sprintf("backlog.status %s → active", task.Quote(status)))
	}
	if t.Status.Archived() {
		t.ArchivedAt = t.UpdatedAt
	}
}

func (p *Plan) backlogText(item *Item, f *frontMatter, id, body string) {
	r, t := &p.Report, &item.Task
	var d descriptionBuilder
	for _, s := range splitSections(body) {
		switch s.title {
		case "", "Description":
			d.add(s.text)
		case "Acceptance Criteria", "Definition of Done":
			steps, other := checklist(s.text)
			for i := range steps {
				if s.title != "Acceptance Criteria" {
					steps[i].Details = s.title
				}
				r.maps("backlog " + s.title + " → steps")
			}
			t.Steps = append(t.Steps, steps...)
			d.section(s.title, other)
		case "Comments":
			comments, other := parseComments(r, item.Where, s.text)
			for range comments {
				r.maps("backlog Comments → comments")
			}
			t.Comments = append(t.Comments, comments...)
			d.section(s.title, other)
		case "Final Summary":
			if t.Status == task.Done && t.Summary == "" {
				t.Summary = s.text
				r.maps("backlog Final Summary → summary")
				continue
			}
			d.section(s.title, s.text)
		default:
			if d.section(s.title, s.text) {
				r.maps("backlog " + task.Quote(s.title) + " → a section of the description")
			}
		}
	}
	for _, field := range []string{"references", "documentation", "modified_files"} {
		for _, link := range f.texts(field) {
			if item.attach(link, "") {
				r.maps("backlog." + field + " → resource")
			} else {
				d.note(strings.ReplaceAll(field, "_", " "), link)
			}
		}
	}
	for _, field := range []string{"milestone", "due_date", "planned_start", "planned_end", "type"} {
		d.note(strings.ReplaceAll(field, "_", " "), f.text(field))
	}
	for i, name := range f.texts("assignee") {
		if i == 0 {
			t.Owner = strings.TrimPrefix(name, "@")
			r.maps("backlog.assignee, the first → owner")
		}
		d.note("Assignee", name)
	}
	f.texts("subtasks") // the subtasks themselves name their parent
	d.note("Imported from Backlog.md", id)
	t.Description = d.String()
}
