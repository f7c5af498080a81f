package exchange

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// candidates are the locations of each program's file, relative to the folder
// of a project or to its own.
var candidates = map[string][]string{
	FromTaskyard:   {"tasks.json"},
	FromBeads:      {".beads/issues.jsonl", "issues.jsonl", ".beads/beads.jsonl", "beads.jsonl"},
	FromTaskMaster: {".taskmaster/tasks/tasks.json", "tasks/tasks.json", "tasks.json"},
}

var (
	backlogRoots   = []string{"backlog", ".backlog", "."}
	backlogFolders = []string{"tasks", "drafts", "completed", "archive/tasks", "archive/drafts"}
)

// Read reads the files of a format. name is a file, or "." for the whole
// folder; history may name an additional file, only for the taskyard format.
// Errors: a file is missing, is not a regular file, or all together exceed
// MaxBytes. Problems inside the files are in the plan's report.
func Read(from string, folder fs.FS, name string, history func() (fs.FS, string)) (*Plan, error) {
	l := &loader{left: MaxBytes}
	if from == FromBacklog {
		files, err := l.backlog(folder, name)
		if err != nil {
			return nil, err
		}
		return Backlog(files), nil
	}
	main, err := l.first(folder, name, candidates[from])
	if err != nil {
		return nil, err
	}
	switch from {
	case FromBeads:
		return Beads(main), nil
	case FromTaskMaster:
		return TaskMaster(main), nil
	case FromTaskyard:
	default:
		return nil, fmt.Errorf("unknown format %q", from)
	}
	var old, todos, projects *Source
	if name == "." {
		if old, err = l.optional(folder, "history.jsonl"); err != nil {
			return nil, err
		}
		if todos, err = l.optional(folder, "todos.json"); err != nil {
			return nil, err
		}
		if projects, err = l.optional(folder, "projects.json"); err != nil {
			return nil, err
		}
	}
	if history != nil {
		sys, file := history()
		s, err := l.file(sys, file)
		if err != nil {
			return nil, err
		}
		old = &s
	}
	p := Taskyard(main, old, todos)
	if projects != nil {
		p.ReadProjects(*projects)
	}
	return p, nil
}

type loader struct{ left int64 }

func (l *loader) file(folder fs.FS, name string) (Source, error) {
	fi, err := fs.Stat(folder, name)
	if err != nil {
		return Source{}, err
	}
	if !fi.Mode().IsRegular() {
		return Source{}, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := folder.Open(name)
	if err != nil {
		return Source{}, err
	}
	defer f.Close()
	// Check the size first, so that no memory is allocated for a file of 1 GB.
	if fi.Size() > l.left {
		return Source{}, l.tooBig(name)
	}
	b, err := io.ReadAll(io.LimitReader(f, l.left+1))
	if err != nil {
		return Source{}, err
	}
	if l.left -= int64(len(b)); l.left < 0 {
		return Source{}, l.tooBig(name)
	}
	return Source{Name: name, Data: b}, nil
}

func (l *loader) tooBig(name string) error {
	return fmt.Errorf("%s: one import takes at most %d MiB and %d tasks, since it is one transaction; "+
		"use backup and restore to move a whole instance", name, MaxBytes>>20, MaxTasks)
}

func (l *loader) optional(folder fs.FS, name string) (*Source, error) {
	s, err := l.file(folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &s, err
}

// first reads the named file, or in a folder the first existing candidate.
func (l *loader) first(folder fs.FS, name string, names []string) (Source, error) {
	if name != "." {
		return l.file(folder, name)
	}
	for _, n := range names {
		s, err := l.optional(folder, n)
		if err != nil {
			return Source{}, err
		}
		if s != nil {
			return *s, nil
		}
	}
	return Source{}, fmt.Errorf("the folder has no %s", strings.Join(names, ", "))
}

func (l *loader) backlog(folder fs.FS, name string) ([]Source, error) {
	if name != "." {
		s, err := l.file(folder, name)
		return []Source{s}, err
	}
	for _, root := range backlogRoots {
		if fi, err := fs.Stat(folder, path.Join(root, "tasks")); err != nil || !fi.IsDir() {
			continue
		}
		var files []Source
		for _, sub := range backlogFolders {
			more, err := l.markdown(folder, path.Join(root, sub))
			if err != nil {
				return nil, err
			}
			files = append(files, more...)
		}
		return files, nil
	}
	return nil, errors.New("the folder has no backlog/tasks, .backlog/tasks or tasks")
}

func (l *loader) markdown(folder fs.FS, dir string) ([]Source, error) {
	entries, err := fs.ReadDir(folder, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(entries) > MaxTasks {
		return nil, l.tooBig(dir)
	}
	var files []Source
	for _, e := range entries {
		if e.IsDir() || path.Ext(e.Name()) != ".md" || slices.Contains([]string{"README.md", "readme.md"}, e.Name()) {
			continue
		}
		s, err := l.file(folder, path.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, s)
	}
	return files, nil
}
