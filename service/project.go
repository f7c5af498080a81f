package service

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// ProjectView is a project with how many tasks it has.
type ProjectView struct {
	*task.Project
	OpenTasks int `json:"openTasks"`
	InReview  int `json:"inReview" doc:"tasks whose result is waiting for people"`
	InMerge   int `json:"inMerge" doc:"tasks whose accepted result is waiting to be merged"`
}

// Projects returns all projects by key. Error: may not read.
func (s *Service) Projects(ctx context.Context, a task.Actor) ([]ProjectView, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]ProjectView, error) {
		list, err := rx.Projects()
		if err != nil {
			return nil, err
		}
		uses, err := rx.ProjectUses()
		views := make([]ProjectView, len(list))
		for i, p := range list {
			u := uses[p.Key]
			views[i] = ProjectView{p, u.Open, u.Review, u.Merge}
		}
		return views, err
	})
}

// ProjectKeys returns the keys of the projects that take tasks, in order: what
// every page offers. Error: may not read.
func (s *Service) ProjectKeys(ctx context.Context, a task.Actor) ([]string, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]string, error) { return rx.ProjectKeys() })
}

// Project returns one project. Errors: may not read, unknown key.
func (s *Service) Project(ctx context.Context, a task.Actor, key string) (*task.Project, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) (*task.Project, error) { return rx.Project(key) })
}

// projectEvents is how many of the last events ProjectVersion looks at.
const projectEvents = 500

// ProjectVersion returns the version of a project, and who made it: "" if that is
// not among the last events. Errors: not an admin, unknown key.
func (s *Service) ProjectVersion(ctx context.Context, a task.Actor, key string) (version int64, by string, err error) {
	if err := s.allowed(a, task.Admin); err != nil {
		return 0, "", err
	}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error {
		p, err := rx.Project(key)
		if err != nil {
			return err
		}
		last, err := rx.LastEventID()
		if err != nil {
			return err
		}
		list, err := rx.Events(task.EventFilter{After: max(0, last-projectEvents), Limit: projectEvents, Nouns: []string{"project"}})
		for _, e := range list {
			var made struct {
				Project string `json:"project"`
				Version int64  `json:"version"`
			}
			if json.Unmarshal(e.Changes, &made) == nil && made.Project == key && made.Version == p.Version {
				by = e.Actor
			}
		}
		version = p.Version
		return err
	})
	return version, by, err
}

// ExamineProject looks at the repository of a project, saved or not. Errors:
// not an admin, invalid fields.
func (s *Service) ExamineProject(ctx context.Context, a task.Actor, p task.Project) ([]task.Finding, error) {
	if err := s.allowed(a, task.Admin); err != nil {
		return nil, err
	}
	if err := checkProject(&p); err != nil {
		return nil, err
	}
	if p.Repository == "" {
		return []task.Finding{{Level: task.LevelOK, Message: "It has no repository: its tasks have checks and reviews, and no branch."}}, nil
	}
	if s.config().Repositories == nil {
		return nil, noRepositoriesError()
	}
	return s.config().Repositories.Examine(ctx, &p), nil
}

func noRepositoriesError() error {
	return task.Errorf(task.Unavailable, task.CodeRepository, "This process has no access to the repositories of projects: use the server")
}

func checkProject(p *task.Project) error {
	p.Fill()
	var problems task.Problems
	problems.CheckProject(p)
	return problems.Err()
}

// CreateProject makes a project. Its repository must be usable. Errors: not an
// admin, invalid fields, key taken, too many projects, unusable repository.
func (s *Service) CreateProject(ctx context.Context, a task.Actor, p task.Project) (*task.Project, error) {
	return s.putProject(ctx, a, p, func(tx *txn) (string, error) {
		list, err := tx.Projects()
		switch {
		case err != nil:
			return "", err
		case len(list) >= task.MaxProjects:
			return "", task.FieldErrorf("key", "there are %d projects, which is the limit: archive one and use its key", len(list))
		}
		if slices.ContainsFunc(list, func(existing *task.Project) bool { return existing.Key == p.Key }) {
			return "", &task.Error{
				Kind: task.Conflict, Code: task.CodeNameTaken, Field: "key", Message: "there is already a project " + p.Key,
			}
		}
		return task.EvProjectCreated, nil
	})
}

// UpdateProject replaces a project as a whole. version, if not 0, must be its
// present one. Errors: as CreateProject, unknown key, stale version.
func (s *Service) UpdateProject(ctx context.Context, a task.Actor, p task.Project, version int64) (*task.Project, error) {
	return s.putProject(ctx, a, p, func(tx *txn) (string, error) {
		before, err := tx.Project(p.Key)
		if err != nil {
			return "", err
		}
		if version != 0 && before.Version != version {
			return "", task.Errorf(task.Conflict, task.CodeStaleProject,
				"Project %s is now at version %d, not %d: read it again and merge", p.Key, before.Version, version)
		}
		if before.Repository != p.Repository {
			uses, err := tx.ProjectUses()
			if err != nil {
				return "", err
			}
			if u := uses[p.Key]; u.Review+u.Merge > 0 {
				return "", task.FieldErrorf("repository", "cannot change while results of %d tasks wait for review or merge", u.Review+u.Merge)
			}
		}
		return task.EvProjectUpdated, nil
	})
}

func (s *Service) putProject(ctx context.Context, a task.Actor, p task.Project,
	check func(*txn) (event string, err error),
) (*task.Project, error) {
	if err := s.allowed(a, task.Admin); err != nil {
		return nil, err
	}
	if err := checkProject(&p); err != nil {
		return nil, err
	}
	if p.Repository != "" && !p.Archived {
		list, err := s.ExamineProject(ctx, a, p)
		if err != nil {
			return nil, err
		}
		for _, f := range list {
			if f.Level == task.LevelError {
				return nil, task.FieldErrorf("repository", "cannot be used: %s", joinFix(f))
			}
		}
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Project, error) {
		kind, err := check(tx)
		if err != nil {
			return nil, err
		}
		if !p.Archived {
			var problems task.Problems
			if err := checkVoters(&tx.Rx, &problems, "review", p.Review); err != nil {
				return nil, err
			}
			if err := problems.Err(); err != nil {
				return nil, err
			}
		}
		if err := tx.PutProject(&p); err != nil {
			return nil, err
		}
		now, err := tx.Project(p.Key)
		if err != nil {
			return nil, err
		}
		tx.signals.Topics = append(tx.signals.Topics, "projects")
		return now, tx.event(kind, task.Event{}, projectChanges(&p, now.Version))
	})
}

func projectChanges(p *task.Project, version int64) changes {
	return changes{
		"project": p.Key, "version": version, "checks": len(p.Checks),
		"approvals": p.Review.Approvals, "merges": p.Merge != nil, "archived": p.Archived,
	}
}

func joinFix(f task.Finding) string {
	if f.Fix == "" {
		return f.Message
	}
	return strings.TrimSuffix(f.Message, ".") + ". " + f.Fix
}

// projectFor returns the project that a new or changed task names, nil for
// none. Errors: unknown, archived.
func projectFor(rx *db.Rx, key string) (*task.Project, error) {
	if key == "" {
		return nil, nil
	}
	p, err := rx.Project(key)
	var known *task.Error
	switch {
	case errors.As(err, &known) && known.Code == task.CodeProjectNotFound:
		return nil, &task.Error{Kind: task.Invalid, Code: task.CodeProjectNotFound, Field: "project", Message: "there is no project " + key}
	case err != nil:
		return nil, err
	case p.Archived:
		return nil, &task.Error{
			Kind: task.Conflict, Code: task.CodeProjectArchived, Field: "project",
			Message: "project " + key + " is archived and takes no new tasks",
		}
	}
	return p, nil
}

// moveToProject changes the project of a task. What was gathered under another
// project proves nothing in this one. Errors: unknown or archived project, a
// run is open, a result waits.
func (tx *txn) moveToProject(tk *task.Task, key string) error {
	if key == tk.Project {
		return nil
	}
	if _, err := projectFor(&tx.Rx, key); err != nil {
		return err
	}
	switch {
	case tx.actor.IsAgent():
		return &task.Error{
			Kind: task.Forbidden, Code: task.CodeForbidden, Field: "project",
			Message: "only people may move a task into another project or out of one",
		}
	case tk.Project != "" && !tx.actor.May(task.Decide):
		return &task.Error{
			Kind: task.Forbidden, Code: task.CodeForbidden, Field: "project",
			Message: "only reviewers and admins may take a task out of its project: its checks and its review go with it",
		}
	case tk.OpenRunID != 0:
		return &task.Error{
			Kind: task.Conflict, Code: task.CodeRunOpen, Field: "project",
			Message: "cannot change while run " + tk.OpenRunID.String() + " of the task is open",
		}
	case tk.Awaits != "":
		return task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d %s: its project cannot change now", tk.ID, awaitsText(tk))
	}
	before := tk.Project
	if err := tx.SetProject(tk.ID, key); err != nil {
		return err
	}
	tk.Project = key
	return tx.taskEvent(task.EvTaskUpdated, tk, changes{"project": []string{before, key}})
}

// awaitsText says what the result of a task waits for.
func awaitsText(tk *task.Task) string {
	if tk.Awaits == task.WaitsMerge {
		return "waits for the merge of its result"
	}
	return "waits for the review of its result"
}
