package handlers

import (
	"context"

	"taskyard/service"
	"taskyard/task"
)

// ProjectPath is the key of a project in the path.
type ProjectPath struct {
	Key string `path:"key" pattern:"^[a-z0-9-]{1,32}$" doc:"key of a project"`
}

// ProjectBody is a project in a request. It is exported for huma, which ignores
// unexported types.
type ProjectBody struct {
	Name          string       `json:"name,omitempty" doc:"1 to 100 characters; default: the key"`
	Description   string       `json:"description,omitempty" doc:"at most 64 KiB"`
	Repository    string       `json:"repository,omitempty" doc:"absolute path of a Git repository on the server"`
	DefaultBranch string       `json:"defaultBranch,omitempty" doc:"default main"`
	BranchPrefix  string       `json:"branchPrefix,omitempty" doc:"default taskyard/"`
	Setup         []string     `json:"setup,omitempty" doc:"commands that run once in a new worktree"`
	Checks        []checkBody  `json:"checks,omitempty"`
	Review        *task.Review `json:"review,omitempty"`
	Merge         *mergeBody   `json:"merge,omitempty"`
	Archived      bool         `json:"archived,omitempty"`
}

type checkBody struct {
	Name           string         `json:"name"`
	Kind           task.CheckKind `json:"kind,omitempty" enum:"command,file,changed,url"`
	Run            string         `json:"run,omitempty"`
	Path           string         `json:"path,omitempty"`
	Glob           string         `json:"glob,omitempty"`
	TimeoutSeconds int            `json:"timeoutSeconds,omitempty"`
	Required       bool           `json:"required,omitempty"`
	Network        bool           `json:"network,omitempty"`
}

type mergeBody struct {
	Into            string           `json:"into,omitempty" doc:"default: the default branch"`
	Method          task.MergeMethod `json:"method,omitempty" enum:"squash,rebase,ff"`
	Checks          []checkBody      `json:"checks,omitempty"`
	KeepBranchHours int              `json:"keepBranchHours,omitempty"`
	Push            string           `json:"push,omitempty"`
}

func toChecks(list []checkBody) []task.Check {
	out := make([]task.Check, len(list))
	for i, c := range list {
		out[i] = task.Check(c)
	}
	return out
}

func (b ProjectBody) project(key string) task.Project {
	p := task.Project{
		Key: key, Name: b.Name, Description: b.Description, Repository: b.Repository, DefaultBranch: b.DefaultBranch,
		BranchPrefix: b.BranchPrefix, Setup: b.Setup, Checks: toChecks(b.Checks), Archived: b.Archived,
	}
	if b.Review != nil {
		p.Review = *b.Review
	}
	if m := b.Merge; m != nil {
		p.Merge = &task.Merge{Into: m.Into, Method: m.Method, Checks: toChecks(m.Checks), KeepBranchHours: m.KeepBranchHours, Push: m.Push}
	}
	return p
}

type newProjectIn struct {
	Body struct {
		Key string `json:"key" doc:"1 to 32 characters of a-z, 0-9 and -; cannot be changed"`
		ProjectBody
	}
}

type projectIn struct {
	ProjectPath
	Body struct {
		ProjectBody
		Version int64 `json:"version,omitempty" minimum:"1" doc:"the version that you read"`
	}
}

type projectsOutBody struct {
	Projects []service.ProjectView `json:"projects"`
}

type findingsOutBody struct {
	Findings []task.Finding `json:"findings"`
}

func (s *Server) apiProjects(ctx context.Context, _ *struct{}) (projectsOutBody, error) {
	list, err := s.svc.Projects(ctx, actorIn(ctx))
	return projectsOutBody{list}, err
}

func (s *Server) apiProject(ctx context.Context, in *ProjectPath) (*task.Project, error) {
	return s.svc.Project(ctx, actorIn(ctx), in.Key)
}

func (s *Server) apiCreateProject(ctx context.Context, in *newProjectIn) (*task.Project, error) {
	return s.svc.CreateProject(ctx, actorIn(ctx), in.Body.project(in.Body.Key))
}

func (s *Server) apiUpdateProject(ctx context.Context, in *projectIn) (*task.Project, error) {
	return s.svc.UpdateProject(ctx, actorIn(ctx), in.Body.project(in.Key), in.Body.Version)
}

func (s *Server) apiExamineProject(ctx context.Context, in *ProjectPath) (findingsOutBody, error) {
	p, err := s.svc.Project(ctx, actorIn(ctx), in.Key)
	if err != nil {
		return findingsOutBody{}, err
	}
	list, err := s.svc.ExamineProject(ctx, actorIn(ctx), *p)
	return findingsOutBody{list}, err
}

type mergesIn struct {
	Project string `query:"project" doc:"only merges of this project"`
	Before  cursor `query:"before" doc:"only ended merges with a smaller id"`
	Limit   int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"page size of the ended merges"`
}

type mergesOutBody struct {
	Queue []*task.MergeEntry `json:"queue" doc:"in queue order"`
	Ended []*task.MergeEntry `json:"ended" doc:"newest first"`
}

func (s *Server) apiMerges(ctx context.Context, in *mergesIn) (mergesOutBody, error) {
	queue, ended, err := s.svc.ProjectMerges(ctx, actorIn(ctx), in.Project, in.Before.ID, in.Limit)
	return mergesOutBody{queue, ended}, err
}
