package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"taskyard/task"
)

// ReadProjects parses {"projects": […]} of an export and adds it to the plan.
func (p *Plan) ReadProjects(s Source) {
	f := p.Report.object(s.Name, jsontext.Value(bytes.TrimSpace(s.Data)))
	if f == nil {
		return
	}
	seen := map[string]bool{}
	for i, v := range f.list("projects") {
		where := fmt.Sprintf("%s[%d]", f.at("projects"), i)
		one := p.project(where, v)
		if one == nil {
			continue
		}
		if seen[one.Key] {
			p.Report.AddProblem(where+".key", "names a second project %s", one.Key)
		}
		seen[one.Key] = true
		p.Projects = append(p.Projects, *one)
	}
	f.reportUnread()
}

// project parses one project; nil: v is not one.
func (p *Plan) project(where string, v jsontext.Value) *task.Project {
	f := p.Report.object(where, v)
	if f == nil {
		return nil
	}
	for _, known := range []string{
		"key", "name", "description", "repository", "defaultBranch", "branchPrefix", "setup", "checks", "review", "merge", "archived",
		"version", "createdAt", "updatedAt",
	} {
		f.get(known)
	}
	f.reportUnread()
	out := &task.Project{}
	if err := json.Unmarshal(v, out); err != nil {
		p.Report.AddProblem(where, "is not a project: %v", err)
		return nil
	}
	out.Fill()
	var problem task.Problems
	problem.CheckProject(out)
	p.Report.problems(where, &problem)
	return out
}
