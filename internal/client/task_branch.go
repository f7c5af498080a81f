package client

import (
	"fmt"

	"taskyard/task"
)

// TaskBranch says where the change of a task is.
type TaskBranch struct {
	Task    *task.Task
	Project *task.Project
	Branch  string // branch of its newest result; "" before the first
}

// TaskBranch returns the branch of a task in a project with a repository.
func (e *Env) TaskBranch(given string) (b TaskBranch, err error) {
	id, err := e.id(given)
	if err != nil {
		return b, err
	}
	b.Task, b.Project = &task.Task{}, &task.Project{}
	if _, err := e.call("GET", "/api/tasks/"+id, nil, b.Task); err != nil {
		return b, err
	}
	if b.Task.Project == "" {
		return b, fmt.Errorf("task %s belongs to no project, so it has no branch", id)
	}
	if _, err := e.call("GET", OneProject{b.Task.Project}.path(""), nil, b.Project); err != nil {
		return b, err
	}
	if b.Project.Repository == "" {
		return b, fmt.Errorf("project %s of task %s has no repository", printable(b.Project.Key), id)
	}
	var out struct{ Results []struct{ Branch string } }
	if _, err := e.call("GET", "/api/tasks/"+id+"/results", nil, &out); err != nil {
		return b, err
	}
	if len(out.Results) > 0 {
		b.Branch = out.Results[0].Branch
	}
	return b, nil
}
