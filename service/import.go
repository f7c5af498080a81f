package service

import (
	"cmp"
	"context"
	"slices"

	"taskyard/internal/exchange"
	"taskyard/task"
)

// Imported is what an import wrote.
type Imported struct {
	KeptIDs  bool // the tasks have the ids of the files
	Projects int  // that were not here yet
	IDs      []ImportedID
	Comments int
	Items    int // of todo lists
}

// ImportedID is a task's id in the files and its id here.
type ImportedID struct {
	Ref string
	ID  task.ID
}

// Import writes what PrepareImport found good, in one transaction: all of it
// or nothing. In an instance that never had a task the ids of an export stay, and
// with them its counter; else new ids are given and every link follows.
// Times, authors and history stay as they are; nobody is woken: the next tick
// takes what is active. Errors: forbidden.
func (s *Service) Import(ctx context.Context, a task.Actor, r *ReadyImport) (Imported, error) {
	defer s.pastHours.forget()
	if err := checkPerm(a, task.Admin); err != nil {
		return Imported{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (Imported, error) {
		w := &importer{txn: tx, plan: r.plan, ids: make(map[string]task.ID, len(r.plan.Items))}
		if err := w.number(); err != nil {
			return Imported{}, err
		}
		for _, step := range []func() error{w.projects, w.tasks, w.links, w.archive, w.todos} {
			if err := step(); err != nil {
				return Imported{}, err
			}
		}
		return w.out, nil
	})
}

type importer struct {
	*txn
	plan *exchange.Plan
	ids  map[string]task.ID
	out  Imported
}

// number assigns every task its id: its own, or the next ones in the order in
// which the tasks were made, which is the order of queues.
func (w *importer) number() error {
	last, err := w.LastTaskID()
	if err != nil {
		return err
	}
	w.out.KeptIDs = last == 0 && !w.plan.Foreign()
	list := slices.Clone(w.plan.Items)
	slices.SortStableFunc(list, func(a, b *exchange.Item) int {
		if !w.plan.Foreign() {
			return cmp.Compare(a.Task.ID, b.Task.ID)
		}
		return cmp.Compare(w.created(a), w.created(b))
	})
	for _, item := range list {
		last++
		id := last
		if w.out.KeptIDs {
			id = item.Task.ID
		}
		w.ids[item.Ref] = id
		w.out.IDs = append(w.out.IDs, ImportedID{item.Ref, id})
	}
	return nil
}

// created is when a task was made, as far as its file knows.
func (w *importer) created(item *exchange.Item) task.Time {
	return cmp.Or(item.Task.CreatedAt, item.Task.UpdatedAt, item.Task.ArchivedAt, w.Now)
}

// projects makes those that are not here yet. Nobody has examined their
// repositories.
func (w *importer) projects() error {
	for _, p := range w.plan.Projects {
		if _, err := w.Project(p.Key); !task.IsCode(err, task.CodeProjectNotFound) {
			if err != nil {
				return err
			}
			continue
		}
		if err := w.PutProject(&p); err != nil {
			return err
		}
		w.out.Projects++
		w.signals.Topics = append(w.signals.Topics, "projects")
		if err := w.event(task.EvProjectCreated, task.Event{}, projectChanges(&p, 1)); err != nil {
			return err
		}
	}
	return nil
}

func (w *importer) tasks() error {
	keep := w.out.KeptIDs && commentIDs(w.plan)
	for _, item := range w.plan.ParentsFirst() {
		tk := item.Task
		tk.ID, tk.ParentTaskID = w.ids[item.Ref], w.ids[item.Parent]
		tk.CreatedAt = w.created(item)
		if w.plan.Foreign() { // nobody here knows who wrote it
			tk.TitleBy, tk.TextBy = task.Importer, task.Importer
		}
		tk.UpdatedAt = cmp.Or(tk.UpdatedAt, tk.CreatedAt)
		if tk.Status == task.Done {
			tk.Project, tk.Demands = "", task.Demands{} // it has no result that proves it
		}
		for _, ref := range item.BlockedBy {
			switch w.plan.Item(ref).Task.Status {
			case task.Done:
			case task.Canceled:
				tk.BlockersCanceled++
				tk.Blocked++
			default:
				tk.Blocked++
			}
		}
		if err := w.ImportTask(&tk); err != nil {
			return err
		}
		if err := w.contributions(item, &tk); err != nil {
			return err
		}
		if err := w.thread(item, tk.ID, keep); err != nil {
			return err
		}
		c := changes{"title": tk.Title, "status": tk.Status, "from": w.plan.From, "id": item.Ref}
		if item.Task.Project != "" {
			c["project"] = item.Task.Project
		}
		if err := w.taskEvent(task.EvTaskImported, &tk, c); err != nil {
			return err
		}
	}
	return nil
}

// contributions makes the runs of a task wait for a person unless its file says
// that a person consented to it.
func (w *importer) contributions(item *exchange.Item, tk *task.Task) error {
	if item.Withheld {
		if err := w.PutContribution(tk.ID, task.Contribution{Part: task.PartStarted, Actor: tk.Owner, At: w.Now}); err != nil {
			return err
		}
	}
	if task.IsUserName(tk.CreatedBy) || tk.CreatedBy == task.System {
		return nil
	}
	return w.PutContribution(tk.ID, task.Contribution{Part: task.PartCreated, Actor: tk.CreatedBy, At: w.Now})
}

// commentIDs reports whether the comments can keep their ids: each has one of
// its own, in the order of its thread.
func commentIDs(p *exchange.Plan) bool {
	seen := map[task.ID]bool{}
	for _, item := range p.Items {
		before := task.ID(0)
		for _, c := range item.Task.Comments {
			if c.ID <= before || seen[c.ID] {
				return false
			}
			before, seen[c.ID] = c.ID, true
		}
	}
	return true
}

func (w *importer) thread(item *exchange.Item, id task.ID, keep bool) error {
	var question task.ID
	for _, c := range item.Task.Comments {
		if !keep {
			c.ID = 0
		}
		c.Imported = c.Imported || w.plan.Foreign()
		c.CreatedAt = cmp.Or(c.CreatedAt, item.Task.UpdatedAt, w.Now)
		msg, err := w.ImportComment(id, c)
		if err != nil {
			return err
		}
		w.out.Comments++
		if c.Kind == task.KindQuestion {
			question = msg
		}
	}
	if item.Asked && question != 0 {
		return w.ImportQuestion(id, question)
	}
	return nil
}

// links writes what leads from task to task, when all of them are there.
func (w *importer) links() error {
	for _, item := range w.plan.Items {
		id := w.ids[item.Ref]
		for i, ref := range item.Subtasks {
			if ref == "" {
				continue
			}
			if err := w.LinkStep(id, i, w.ids[ref]); err != nil {
				return err
			}
		}
		for _, ref := range item.BlockedBy {
			if err := w.ImportBlocker(id, w.ids[ref]); err != nil {
				return err
			}
		}
	}
	return nil
}

// archive comes last: history takes no parts any more.
func (w *importer) archive() error {
	for _, item := range w.plan.Items {
		if !item.Task.Status.Archived() {
			continue
		}
		tk := item.Task
		tk.ID = w.ids[item.Ref]
		tk.ArchivedAt = cmp.Or(tk.ArchivedAt, tk.UpdatedAt, w.Now)
		if err := w.ImportArchive(&tk); err != nil {
			return err
		}
	}
	if w.out.KeptIDs && w.plan.NextID > 0 {
		return w.RaiseTaskID(w.plan.NextID - 1)
	}
	return nil
}

func (w *importer) todos() error {
	for _, l := range w.plan.Todos {
		if len(l.Items) == 0 {
			continue
		}
		ends, err := w.TodoEnds(l.Agent)
		if err != nil {
			return err
		}
		if n := ends.Count() + len(l.Items); n > w.s.config().TodoLimit {
			return task.Errorf(task.TooMany, task.CodeQueueFull,
				"The todo list of %s would hold %d items, more than %d: nothing was written", l.Agent, n, w.s.config().TodoLimit)
		}
		if err := w.ImportTodos(l.Agent, l.Items); err != nil {
			return err
		}
		w.out.Items += len(l.Items)
		if err := w.event(task.EvTodoImported, task.Event{Agent: l.Agent}, changes{"items": len(l.Items)}); err != nil {
			return err
		}
	}
	return nil
}
