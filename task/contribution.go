package task

import (
	"fmt"
	"slices"
	"strings"
)

// Part is a part of a task that has its own author.
type Part string

// The parts.
const (
	PartCreated     Part = "created" // the task itself
	PartStarted     Part = "started" // a draft made active
	PartOwner       Part = "owner"   // who works on it
	PartTitle       Part = "title"
	PartDescription Part = "description"
	PartSteps       Part = "steps"
	PartResources   Part = "resources"
	PartComment     Part = "comment" // comments, notices, questions, replies in reviews, and reasons
)

// Rights are what an agent may use when it acts: inside a run those of the
// run, elsewhere those of its definition.
type Rights struct {
	Tools   []string `json:"tools"`
	Limits  Limits   `json:"limits,omitzero"`
	Depth   int      `json:"depth,omitzero"`   // of its run below the first
	Network bool     `json:"network,omitzero"` // of its shell
	Env     []string `json:"env,omitempty"`    // names of the variables that its shell gets
}

// Contribution is a part of a task that an agent, or a program with the token
// of a person, wrote since a person last consented to the task, and the rights
// it had then.
type Contribution struct {
	Part      Part
	Actor     string // agent, or "user:NAME" for a token
	AllRights bool   // with all the rights of the agent's definition
	Rights
	At Time
}

// IsByAgent reports whether an agent did it.
func (h *Contribution) IsByAgent() bool { return !IsUserName(h.Actor) }

// Merge returns h for two acts of one actor on one part: what both could do.
func (h Contribution) Merge(with Contribution) Contribution {
	h.Tools = common(h.Tools, with.Tools)
	h.Env = common(h.Env, with.Env)
	h.Network = h.Network && with.Network
	h.Limits, h.Depth, h.AllRights = h.Limits.AtMost(with.Limits), max(h.Depth, with.Depth), h.AllRights && with.AllRights
	h.At = max(h.At, with.At)
	return h
}

// without returns the elements of list that are not in other.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// common returns the elements of list that are in other, too.
func common(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !slices.Contains(other, s) })
}

// shell is the tool that can use the network and the variables of a definition.
const shell = "bash"

// Missing describes the rights that r has and by lacks, to follow a name: "who lacks
// bash"; "" when nothing.
func (r Rights) Missing(by Rights) string {
	var list []string
	lacks := without(r.Tools, by.Tools)
	if slices.Contains(r.Tools, shell) && slices.Contains(by.Tools, shell) { // else nothing can use them, or it lacks the shell
		if r.Network && !by.Network {
			lacks = append(lacks, "network access")
		}
		lacks = append(lacks, without(r.Env, by.Env)...)
	}
	if len(lacks) > 0 {
		list = append(list, "lacks "+andList(lacks))
	}
	over := func(have, limit float64) bool { return limit > 0 && (have == 0 || have > limit) }
	for _, l := range []struct {
		what        string
		have, limit float64
	}{
		{"may use at most %g tokens", float64(r.Limits.MaxTokens), float64(by.Limits.MaxTokens)},
		{"may spend at most %g USD", r.Limits.MaxCostUSD, by.Limits.MaxCostUSD},
		{"has at most %g turns", float64(r.Limits.MaxTurns), float64(by.Limits.MaxTurns)},
		{"has at most %g seconds", float64(r.Limits.TimeoutSeconds), float64(by.Limits.TimeoutSeconds)},
	} {
		if over(l.have, l.limit) {
			list = append(list, fmt.Sprintf(l.what, l.limit))
		}
	}
	if r.Depth < by.Depth {
		list = append(list, fmt.Sprintf("works %d deep", by.Depth))
	}
	if len(list) == 0 {
		return ""
	}
	return "who " + andList(list)
}

func andList(list []string) string {
	if n := len(list) - 1; n > 0 {
		return strings.Join(list[:n], ", ") + " and " + list[n]
	}
	return strings.Join(list, "")
}

// Describe describes the act in a few words, to begin a reason with.
func (h *Contribution) Describe() string {
	actor := strings.TrimPrefix(h.Actor, "user:")
	switch h.Part {
	case PartCreated:
		return "created by " + actor
	case PartStarted:
		return "started by " + actor
	case PartOwner:
		return "handed over by " + actor
	case PartComment:
		return "comment by " + actor
	}
	return string(h.Part) + " changed by " + actor
}

// Bound is what holds for the runs of a task that a run created: how
// deep they are, and in whose tree their tokens and cost count.
type Bound struct {
	TreeRun   ID // the run that created the task, or handed it over; 0: none
	ParentRun ID // the run that delegated it, or 0
	Depth     int
	Ask       *Ask // widest model, tools and limits; of a delegation, or else Bounds
}
