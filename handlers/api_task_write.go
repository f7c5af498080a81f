package handlers

import (
	"context"
	"strconv"
	"strings"

	"taskyard/task"
)

type newTaskBody struct {
	Title       string         `json:"title" doc:"1 to 200 characters"`
	Description string         `json:"description,omitempty" doc:"Markdown, at most 64 KiB; with the steps at most 1 MiB"`
	Owner       string         `json:"owner" doc:"agent id"`
	Status      task.Status    `json:"status,omitempty" enum:"draft,active" doc:"default active"`
	Priority    int            `json:"priority,omitempty" doc:"higher values come first; default 0"`
	Steps       []stepBody     `json:"steps,omitempty"`
	Resources   []resourceBody `json:"resources,omitempty"`
	Labels      []string       `json:"labels,omitempty" doc:"at most 20, each 1 to 32 characters of a-z, 0-9 and -"`
	BlockedBy   []apiID        `json:"blockedBy,omitempty" doc:"tasks that must be done first, at most 100"`
	Channel     string         `json:"channel,omitempty" doc:"default web"`
	Project     string         `json:"project,omitempty" doc:"key of a project"`
	Checks      []checkBody    `json:"checks,omitempty" doc:"in addition to those of its project and agent, at most 20. Only reviewers and admins"`
	Policy      *task.Review   `json:"policy,omitempty" doc:"who must accept its result, in addition to what its project and agent require. Only reviewers and admins"`
	Start       *bool          `json:"start,omitempty" doc:"false: do not wake the owner of an active task"`
}

type stepBody struct {
	Title   string `json:"title" doc:"1 to 60 characters"`
	Details string `json:"details,omitempty"`
	Done    bool   `json:"done,omitempty"`
}

type resourceBody struct {
	Type  string `json:"type" enum:"url,file"`
	Value string `json:"value" doc:"http, https or mailto URL, or absolute path"`
	Label string `json:"label,omitempty"`
}

func (b newTaskBody) task() task.New {
	n := task.New{
		Title: b.Title, Description: b.Description, Owner: b.Owner, Status: b.Status, Priority: b.Priority, Channel: b.Channel,
		Project: b.Project, Checks: toChecks(b.Checks), Policy: b.Policy,
		Steps: toSteps(b.Steps), Labels: b.Labels, BlockedBy: ids(b.BlockedBy), NoStart: b.Start != nil && !*b.Start,
	}
	for _, r := range b.Resources {
		n.Resources = append(n.Resources, task.Resource(r))
	}
	return n
}

func toSteps(list []stepBody) []task.Step {
	steps := make([]task.Step, len(list))
	for i, s := range list {
		steps[i] = task.Step{Title: s.Title, Details: s.Details, Done: s.Done}
	}
	return steps
}

type patchIn struct {
	TaskPath
	IfMatch string `header:"If-Match" doc:"the ETag that you read"`
	Body    struct {
		Title       *string      `json:"title,omitempty"`
		Description *string      `json:"description,omitempty"`
		Priority    *int         `json:"priority,omitempty"`
		Owner       *string      `json:"owner,omitempty"`
		Status      *string      `json:"status,omitempty" doc:"draft, active, done, canceled; or idle, working, complete"`
		Labels      *[]string    `json:"labels,omitempty" doc:"the complete list; an empty list removes all"`
		Project     *string      `json:"project,omitempty" doc:"key of a project; empty for none. Only people can change it, and only while no run is open"`
		Checks      *[]checkBody `json:"checks,omitempty" doc:"the complete list of its own checks; an empty list removes all. Only reviewers and admins"`
		Policy      *task.Review `json:"policy,omitempty" doc:"who must accept, in addition to what its project and agent require; 0 approvals: nobody. Only reviewers and admins"`
		Version     int64        `json:"version,omitempty" minimum:"1" doc:"the version that you read"`
	}
}

func (s *Server) apiUpdateTask(ctx context.Context, in *patchIn) (*taskOut, error) {
	b := in.Body
	p := task.Patch{
		Title: b.Title, Description: b.Description, Priority: b.Priority,
		Owner: b.Owner, Status: b.Status, Labels: b.Labels, Project: b.Project, Policy: b.Policy, Version: b.Version,
	}
	if b.Checks != nil {
		list := toChecks(*b.Checks)
		p.Checks = &list
	}
	if in.IfMatch != "" {
		v, err := etagVersion(in.IfMatch)
		if err != nil {
			return nil, err
		}
		p.Version = v
	}
	return taskAnswer(s.svc.UpdateTask(ctx, actorIn(ctx), in.ID.ID, p))
}

// etagVersion parses the version in an ETag; 0 means any.
func etagVersion(tag string) (int64, error) {
	if tag == "*" {
		return 0, nil
	}
	v, err := strconv.ParseInt(etagText(tag), 10, 64)
	if err != nil || v < 1 {
		return 0, task.FieldErrorf("If-Match", "must be an ETag that this task had")
	}
	return v, nil
}

// etagText returns the content of an ETag. A proxy that compresses answers
// turns it into a weak one, which still names the same version.
func etagText(tag string) string {
	tag = strings.TrimPrefix(tag, "W/")
	if n := len(tag); n >= 2 && tag[0] == '"' && tag[n-1] == '"' {
		return tag[1 : n-1]
	}
	return tag
}
