package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"taskyard/task"
)

// ProjectFields are the flags that set fields of a project. Fields without a
// flag stay; an empty value clears a field.
type ProjectFields struct {
	Name          *string  `help:"Name (default: the key)."`
	Description   *string  `short:"d" help:"Markdown; - reads it from stdin." placeholder:"TEXT"`
	Repository    *string  `help:"Absolute path of a Git repository on the server." placeholder:"PATH"`
	DefaultBranch *string  `help:"Branch that task branches start from (default main)." placeholder:"BRANCH"`
	BranchPrefix  *string  `help:"Prefix of task branches (default taskyard/)." placeholder:"PREFIX"`
	Setup         []string `help:"Command that runs once in a new worktree; may be repeated." placeholder:"COMMAND" sep:"none"`
	Check         []string `help:"Check of every result, such as 'name=test,run=go test ./...,timeout=10m,required'; may be repeated." placeholder:"CHECK" sep:"none"`

	Approvals *int     `help:"How many people must accept a result; 0: nobody." placeholder:"N"`
	Reviewer  []string `help:"Person or role whose vote counts (default: everyone who may decide); may be repeated." placeholder:"NAME" sep:"none"`
	Expires   *string  `help:"Remind reviewers after this time, such as 3d or 12h." placeholder:"TIME"`
	StandIn   *string  `help:"Person who may also accept after that time." placeholder:"NAME"`

	MergeInto  *string  `help:"Merge accepted results into this branch." placeholder:"BRANCH"`
	Method     *string  `help:"squash (default), rebase or ff." complete:"squash,rebase,ff"`
	MergeCheck []string `help:"Check on the merged tree, before the branch moves; may be repeated." placeholder:"CHECK" sep:"none"`
	KeepBranch *string  `help:"How long the branch of a merged task stays (default 7d)." placeholder:"TIME"`
	Push       *string  `help:"Push the branch to this remote after each merge." placeholder:"REMOTE"`

	File string `short:"f" help:"Read the whole project from this file, in the form of project show --json; - is stdin." placeholder:"FILE" complete:"file"`
}

// apply changes p according to the flags.
func (f *ProjectFields) apply(e *Env, p *task.Project) error {
	if f.File != "" {
		if err := f.read(e, p); err != nil {
			return err
		}
	}
	if f.Description != nil {
		text, err := e.text(*f.Description, "")
		if err != nil {
			return err
		}
		p.Description = text
	}
	assignIfSet(&p.Name, f.Name)
	assignIfSet(&p.Repository, f.Repository)
	assignIfSet(&p.DefaultBranch, f.DefaultBranch)
	assignIfSet(&p.BranchPrefix, f.BranchPrefix)
	if f.Setup != nil {
		p.Setup = withoutEmpty(f.Setup)
	}
	checks, err := readChecks("--check", f.Check, p.Checks)
	if err != nil {
		return err
	}
	p.Checks = checks
	return errors.Join(f.applyReview(&p.Review), f.applyMerge(p))
}

func (f *ProjectFields) applyReview(r *task.Review) error {
	assignIfSet(&r.Approvals, f.Approvals)
	assignIfSet(&r.StandIn, f.StandIn)
	if f.Reviewer != nil {
		r.From = withoutEmpty(f.Reviewer)
	}
	if f.Expires == nil {
		return nil
	}
	d, err := readSpan("--expires", *f.Expires)
	r.ExpiresSeconds = int(d.Seconds())
	return err
}

func (f *ProjectFields) applyMerge(p *task.Project) error {
	if f.MergeInto != nil && *f.MergeInto == "" {
		p.Merge = nil
	}
	rest := f.Method != nil || f.MergeCheck != nil || f.KeepBranch != nil || f.Push != nil
	switch {
	case p.Merge == nil && (f.MergeInto == nil || *f.MergeInto == ""):
		if rest {
			return usagef("results of %s are not merged: name the branch with --merge-into BRANCH", p.Key)
		}
		return nil
	case p.Merge == nil:
		p.Merge = &task.Merge{}
	}
	m := p.Merge
	assignIfSet(&m.Into, f.MergeInto)
	assignIfSet((*string)(&m.Method), f.Method)
	assignIfSet(&m.Push, f.Push)
	checks, err := readChecks("--merge-check", f.MergeCheck, m.Checks)
	if err != nil {
		return err
	}
	m.Checks = checks
	if f.KeepBranch == nil {
		return nil
	}
	d, err := readSpan("--keep-branch", *f.KeepBranch)
	m.KeepBranchHours = int(d.Hours())
	return err
}

// read replaces p with the contents of a file, except its key if that is known.
func (f *ProjectFields) read(e *Env, p *task.Project) error {
	if f.File == "-" && f.Description != nil && *f.Description == "-" {
		return usagef("stdin is either the project or its description")
	}
	text, err := e.text("", f.File)
	if err != nil {
		return err
	}
	var got task.Project
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		return usagef("%s is not a project in the form of project show --json: %v", f.File, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return usagef("%s holds more than one project", f.File)
	}
	if p.Key != "" && got.Key != "" && got.Key != p.Key {
		return usagef("%s holds the project %s, not %s", f.File, printable(got.Key), printable(p.Key))
	}
	got.Key = cmp.Or(p.Key, got.Key)
	got.Version = cmp.Or(got.Version, p.Version)
	*p = got
	return nil
}

// assignIfSet assigns a value that was given.
func assignIfSet[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}

// withoutEmpty removes empty values, so that a single one clears the list.
func withoutEmpty(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "" })
}

// projectBody returns a project as request body, without fields that only the
// server sets.
func projectBody(p *task.Project, also map[string]any) (map[string]any, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	body := map[string]any{}
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, err
	}
	for _, name := range []string{"key", "version", "createdAt", "updatedAt"} {
		delete(body, name)
	}
	for _, name := range []string{"setup", "checks"} {
		if body[name] == nil {
			delete(body, name)
		}
	}
	if m, ok := body["merge"].(map[string]any); ok && m["checks"] == nil {
		delete(m, "checks")
	}
	if m, ok := body["merge"].(map[string]any); ok && m["method"] == "" {
		delete(m, "method") // the default
	}
	maps.Copy(body, also)
	return body, nil
}

// ProjectAdd adds a project.
type ProjectAdd struct {
	Key string `arg:"" optional:"" name:"key" help:"Key of the project: 1 to 32 characters of a-z, 0-9 and -; it never changes."`
	ProjectFields
}

// Run adds the project.
func (c *ProjectAdd) Run(e *Env) error {
	p := task.Project{Key: c.Key}
	if err := c.apply(e, &p); err != nil {
		return err
	}
	if p.Key == "" {
		return usagef("name the project by its key, such as web")
	}
	body, err := projectBody(&p, map[string]any{"key": p.Key})
	if err != nil {
		return err
	}
	return e.sendProject("POST", "/api/projects", body, "added")
}

// ProjectEdit changes a project.
type ProjectEdit struct {
	OneProject
	ProjectFields
}

// Run changes the given fields, based on the version that it read.
func (c *ProjectEdit) Run(e *Env) error {
	return c.change(e, "changed", func(p *task.Project) error {
		if !c.any() {
			return usagef("say what to change, such as --approvals 2")
		}
		return c.apply(e, p)
	})
}

// any reports whether a flag was given.
func (f *ProjectFields) any() bool {
	for _, s := range []*string{
		f.Name, f.Description, f.Repository, f.DefaultBranch, f.BranchPrefix, f.Expires, f.StandIn,
		f.MergeInto, f.Method, f.KeepBranch, f.Push,
	} {
		if s != nil {
			return true
		}
	}
	return f.File != "" || f.Setup != nil || f.Check != nil || f.Reviewer != nil || f.MergeCheck != nil || f.Approvals != nil
}

// change reads a project, calls edit, and sends it with the version that was
// read, so that a concurrent change is a conflict.
func (p OneProject) change(e *Env, did string, edit func(*task.Project) error) error {
	var now task.Project
	if _, err := e.call("GET", p.path(""), nil, &now); err != nil {
		return err
	}
	if err := edit(&now); err != nil {
		return err
	}
	body, err := projectBody(&now, map[string]any{"version": now.Version})
	if err != nil {
		return err
	}
	return e.sendProject("PUT", p.path(""), body, did)
}

func (e *Env) sendProject(method, path string, body any, did string) error {
	return printCall(e, method, path, body, func(p *task.Project) { e.say("%s %s, version %d", did, printable(p.Key), p.Version) })
}
