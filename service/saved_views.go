package service

import (
	"context"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// SavedViews returns the filters that a person has kept, by name; nobody else
// has any. Error: may not read.
func (s *Service) SavedViews(ctx context.Context, a task.Actor) ([]task.SavedView, error) {
	if err := s.allowed(a, task.Read); err != nil || a.UserID == 0 {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]task.SavedView, error) { return rx.SavedViews(a.UserID) })
}

// SaveView keeps a filter under a name. Errors: not a person who signed in,
// blank, overlong or taken name, overlong path, too many views.
func (s *Service) SaveView(ctx context.Context, a task.Actor, name, path string) (task.SavedView, error) {
	name = strings.TrimSpace(name)
	if err := s.checkView(a, name); err != nil {
		return task.SavedView{}, err
	}
	var p task.Problems
	if p.CheckText("path", path, task.MaxViewPath) && !strings.HasPrefix(path, "/") {
		p.Add("path", "must be a path of this server")
	}
	if err := p.Err(); err != nil {
		return task.SavedView{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (v task.SavedView, err error) {
		count, err := tx.viewsBut(0, name)
		if err != nil {
			return v, err
		}
		if count >= task.MaxSavedViews {
			return v, task.FieldErrorf("name", "you have %d views, which is the limit: delete one first", count)
		}
		id, err := tx.InsertSavedView(a.UserID, name, path)
		if err != nil {
			return v, err
		}
		return task.SavedView{ID: id, Name: name, Path: path, CreatedAt: tx.Now},
			tx.event(task.EvViewSaved, task.Event{}, changes{"view": id, "name": name, "path": path})
	})
}

// RenameView renames one of the person's views. Errors: no such
// view, blank, overlong or taken name.
func (s *Service) RenameView(ctx context.Context, a task.Actor, id task.ID, name string) (task.SavedView, error) {
	name = strings.TrimSpace(name)
	if err := s.checkView(a, name); err != nil {
		return task.SavedView{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (task.SavedView, error) {
		v, err := tx.view(id)
		if err != nil || v.Name == name {
			return v, err
		}
		if _, err := tx.viewsBut(id, name); err != nil {
			return v, err
		}
		if err := tx.RenameSavedView(id, name); err != nil {
			return v, err
		}
		before := v.Name
		v.Name = name
		return v, tx.event(task.EvViewRenamed, task.Event{}, changes{"view": id, "name": []string{before, name}})
	})
}

// DeleteView forgets one of the person's views, and returns it. Error: no
// such view.
func (s *Service) DeleteView(ctx context.Context, a task.Actor, id task.ID) (task.SavedView, error) {
	if err := checkMaySave(a, "views"); err != nil {
		return task.SavedView{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (task.SavedView, error) {
		v, err := tx.view(id)
		if err != nil {
			return v, err
		}
		if err := tx.DeleteSavedView(id); err != nil {
			return v, err
		}
		return v, tx.event(task.EvViewDeleted, task.Event{}, changes{"view": id, "name": v.Name})
	})
}

// checkMaySave lets only people who may read keep something of their own.
func checkMaySave(a task.Actor, what string) error {
	if err := checkPerm(a, task.Read); err != nil {
		return err
	}
	if a.UserID == 0 || a.IsAgent() {
		return task.Errorf(task.Forbidden, task.CodeForbidden, "%s may not do this: %s belong to people", a.Name, what)
	}
	return nil
}

func (s *Service) checkView(a task.Actor, name string) error {
	if err := checkMaySave(a, "views"); err != nil {
		return err
	}
	var p task.Problems
	p.CheckLine("name", name, task.MaxViewName)
	return p.Err()
}

func (tx *txn) view(id task.ID) (task.SavedView, error) {
	v, ok, err := tx.SavedView(tx.actor.UserID, id)
	if err == nil && !ok {
		err = task.Errorf(task.NotFound, task.CodeNotFound, "You have no view %d; it may have been deleted", id)
	}
	return v, err
}

// viewsBut counts the person's views without one, none of which may have the
// name yet, whatever its case.
func (tx *txn) viewsBut(id task.ID, name string) (int, error) {
	list, err := tx.SavedViews(tx.actor.UserID)
	if err != nil {
		return 0, err
	}
	taken, err := tx.SavedViewNamed(tx.actor.UserID, name, id)
	n := 0
	for _, v := range list {
		if v.ID != id {
			n++
			taken = taken || strings.EqualFold(v.Name, name)
		}
	}
	if err == nil && taken {
		err = &task.Error{Kind: task.Conflict, Code: task.CodeNameTaken, Field: "name", Message: "you already have a view of this name"}
	}
	return n, err
}
