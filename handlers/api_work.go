package handlers

import (
	"context"

	"taskyard/task"
)

// changedFile is task.FileChange with its lines.
type changedFile struct {
	Path    string      `json:"path" minLength:"1" doc:"at most 1024 bytes"`
	Change  task.Change `json:"change" enum:"added,modified,deleted"`
	Added   int         `json:"added,omitempty" minimum:"0" maximum:"1000000000"`
	Removed int         `json:"removed,omitempty" minimum:"0" maximum:"1000000000"`
	Note    string      `json:"note,omitempty" doc:"at most 400 bytes"`
	Diff    string      `json:"diff,omitempty" doc:"hunks of a unified diff, at most 64 KiB, and 256 KiB for all files"`
}

// workBody is task.Work with the lines of the files.
type workBody struct {
	Files      []changedFile `json:"files,omitempty" maxItems:"1000"`
	Total      int           `json:"total" minimum:"0" maximum:"1000000000" doc:"number of all changed files"`
	Note       string        `json:"note,omitempty" doc:"at most 2000 bytes"`
	Repository string        `json:"repository,omitempty"`
	Branch     string        `json:"branch,omitempty"`
	Folder     string        `json:"folder,omitempty"`
	Merge      string        `json:"merge,omitempty" doc:"at most 2000 bytes"`
}

// work converts the body to task.Work; nil stays nil.
func (b *workBody) work() *task.Work {
	if b == nil {
		return nil
	}
	w := &task.Work{Total: b.Total, Note: b.Note, Repository: b.Repository, Branch: b.Branch, Folder: b.Folder, Merge: b.Merge}
	for _, f := range b.Files {
		w.Files = append(w.Files, task.FileChange(f))
	}
	return w
}

// WorkAnswer is the work of a run, in the answer about the run. It is exported
// for huma.
type WorkAnswer struct {
	Files      []task.FileChange `json:"files,omitzero" doc:"what the run changed in its workspace, by path, at most 1000; absent until the run has ended, and when the workspace was not compared"`
	FilesTotal int               `json:"filesTotal,omitzero" doc:"number of all changed files"`
	FilesNote  string            `json:"filesNote,omitempty" doc:"why files are left out or could not be compared"`
	Repository string            `json:"repository,omitempty" doc:"repository of its worktree"`
	Branch     string            `json:"branch,omitempty" doc:"branch of that repository that has its work"`
	WorkFolder string            `json:"workFolder,omitempty" doc:"folder with its work, if not all of it could be committed to a branch"`
	Merge      string            `json:"merge,omitempty" doc:"whether its files were merged into the worktree of the run that delegated it, and if not, why"`
}

// workAnswer returns the work of a run; it is zero for a run without any.
func (s *Server) workAnswer(ctx context.Context, run task.ID) (WorkAnswer, error) {
	w, err := s.svc.Work(ctx, actorIn(ctx), run, false)
	if err != nil || w == nil {
		return WorkAnswer{}, err
	}
	return WorkAnswer{append([]task.FileChange{}, w.Files...), w.Total, w.Note, w.Repository, w.Branch, w.Folder, w.Merge}, nil
}

type diffOut struct {
	ContentType        string `header:"Content-Type"`
	ContentDisposition string `header:"Content-Disposition"`
	Body               []byte
}

const diffType = "text/x-diff"

// apiRunDiff returns the whole diff of a run as text.
func (s *Server) apiRunDiff(ctx context.Context, in *RunPath) (*diffOut, error) {
	w, err := s.svc.Work(ctx, actorIn(ctx), in.ID.ID, true)
	if err != nil {
		return nil, err
	}
	out := &diffOut{ContentType: diffType + "; charset=utf-8", ContentDisposition: `inline; filename="run-` + in.ID.ID.String() + `.diff"`}
	if w != nil {
		out.Body = []byte(w.Patch())
	}
	return out, nil
}
