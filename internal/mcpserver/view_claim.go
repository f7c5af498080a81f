package mcpserver

import (
	"slices"

	"taskyard/task"
)

// claimView is a task as those who claim and hand over see it: complete, except
// for what the caller knows, duplicate fields, and the details of steps other
// than the next one.
type claimView struct {
	*taskView
	StepsNote string `json:"stepsNote,omitempty"`

	// These replace fields of the task.
	Resources []task.Resource `json:"resources,omitempty"` // never set: links has them, in the same order
	BlockedBy []task.ID       `json:"blockedBy,omitempty"`
	Labels    []string        `json:"labels,omitempty"`
	ThreadID  task.ID         `json:"threadId,omitzero"` // never set: it equals the task's ID
	Channel   string          `json:"channel,omitempty"` // if it is not web
	Claim     *ownClaim       `json:"claim,omitempty"`
}

// ownClaim is a claim of the caller.
type ownClaim struct {
	ID        int64     `json:"id"`
	ExpiresAt task.Time `json:"expiresAt"`
}

const stepsNote = "other details: get_task with stepIndex"

func claimed(t *task.Task) *claimView {
	if t == nil {
		return nil
	}
	return claimedView(view(t))
}

func claimedMany(list []*task.Task) []*claimView {
	out := make([]*claimView, len(list))
	for i, v := range views(list) {
		out[i] = claimedView(v)
	}
	return out
}

func claimedView(v *taskView) *claimView {
	c := &claimView{taskView: v, BlockedBy: v.Task.BlockedBy, Labels: v.Task.Labels}
	if v.Task.Channel != "web" {
		c.Channel = v.Task.Channel
	}
	if held := v.Task.Claim; held != nil {
		c.Claim = &ownClaim{held.ID, held.ExpiresAt}
	}
	short := *v.Task
	short.Steps = slices.Clone(short.Steps)
	next := slices.IndexFunc(short.Steps, func(s task.Step) bool { return !s.Done })
	for i, s := range short.Steps {
		if i == next || len(s.Details) <= minDetails && s.DetailsCut == 0 {
			continue
		}
		short.Steps[i].Details, short.Steps[i].DetailsCut, c.StepsNote = "", 0, stepsNote
	}
	short.Cut = slices.DeleteFunc(slices.Clone(short.Cut), func(what string) bool { return what == "details" && c.StepsNote != "" })
	v.Task = &short
	return c
}
