package task

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Demands are what a task itself must show before it is done, beyond what its
// project and its agents ask.
type Demands struct {
	Checks  []Check  `json:"checks,omitempty" doc:"only for this task, at most 20; GET /api/tasks/{id}/checks has all checks that apply"`
	Policy  *Review  `json:"policy,omitempty" doc:"who must accept a result of this task, in addition to what its project and agents require"`
	BoundBy []string `json:"boundBy,omitempty" doc:"agents whose checks and review still apply, even if another agent owns the task now"`
}

// Empty reports whether nothing is asked.
func (d Demands) Empty() bool { return len(d.Checks) == 0 && d.Policy == nil && len(d.BoundBy) == 0 }

// InForce is a check with where it comes from.
type InForce struct {
	Check
	From string `json:"from" doc:"project KEY, agent ID, or task"`
}

// NeedsTree reports whether the check looks at files: without a repository there
// are none.
func (c Check) NeedsTree() bool { return c.Kind != CheckURL }

// AddChecks adds the checks of one source to those in force. Nothing is
// replaced: one that is the same as another of its name runs once, required if
// either is; one that differs runs too, as NAME.suffix.
func AddChecks(list []InForce, more []Check, from, suffix string) []InForce {
next:
	for _, c := range more {
		name := c.Name
		for i := range list {
			if list[i].Name == name && sameEvidence(list[i].Check, c) {
				list[i].Required = list[i].Required || c.Required
				continue next
			}
		}
		taken := func(name string) bool {
			return slices.ContainsFunc(list, func(o InForce) bool { return o.Name == name })
		}
		if taken(name) {
			c.Name = name + "." + suffix
		}
		for n := 2; taken(c.Name); n++ {
			c.Name = fmt.Sprintf("%s.%s-%d", name, suffix, n)
		}
		list = append(list, InForce{c, from})
	}
	return list
}

// Text names the check and what it looks at, such as "test: go test ./...
// (required)".
func (c Check) Text() string {
	text := c.Name + ": "
	switch c.Kind {
	case CheckFile:
		text += "the file " + c.Path
	case CheckChanged:
		text += "a change of " + c.Glob
	case CheckURL:
		text += "a URL"
	default:
		text += c.Run
	}
	if c.Required {
		text += " (required)"
	}
	return text
}

// Text returns who must accept by the policy, such as "2 votes from maya".
func (r *Review) Text() string {
	if r == nil || r.Approvals == 0 {
		return "none"
	}
	text := fmt.Sprintf("%d votes", r.Approvals)
	if r.Approvals == 1 {
		text = "1 vote"
	}
	if len(r.From) > 0 {
		text += " from " + r.Voters()
	}
	return text
}

// Voters returns whose votes count: "maya, rita or any admin", "" for every reviewer.
func (r *Review) Voters() string {
	names := make([]string, len(r.From))
	for i, s := range r.From {
		names[i] = s
		if slices.Contains(PeopleRoles, Role(s)) {
			names[i] = "any " + s
		}
	}
	last := max(len(names)-1, 0)
	if last == 0 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// sameEvidence reports whether two checks differ at most in whether they are
// required.
func sameEvidence(a, b Check) bool {
	return cmp.Or(a.Kind, CheckCommand) == cmp.Or(b.Kind, CheckCommand) && a.Run == b.Run && a.Path == b.Path && a.Glob == b.Glob &&
		a.Network == b.Network && a.Timeout() == b.Timeout()
}

// Accept is who must accept a result: every policy in force by itself.
type Accept struct {
	Review
	Also []Review `json:"also,omitempty" doc:"additional policies, each of which must be met on its own"`
}

// Add adds a policy that must be met too. The one whose reviewers are reminded
// first leads.
func (a Accept) Add(r Review) Accept {
	all := a.All()
	if r.Approvals == 0 || slices.ContainsFunc(all, func(o Review) bool { return reflect.DeepEqual(o, r) }) {
		return a
	}
	all = append(all, r)
	remindsAfter := func(r Review) int { return cmp.Or(r.ExpiresSeconds, MaxExpires+1) } // 0: never
	slices.SortStableFunc(all, func(x, y Review) int { return cmp.Compare(remindsAfter(x), remindsAfter(y)) })
	return Accept{all[0], all[1:]}
}

// All are the policies that ask for votes.
func (a Accept) All() []Review {
	var all []Review
	if a.Approvals > 0 {
		all = append(all, a.Review)
	}
	return append(all, a.Also...)
}

// Counts reports whether a vote on a result that was made at a time counts by a
// policy.
func (r Review) Counts(v Vote, made Time) bool {
	name := strings.TrimPrefix(v.By, UserActorName(""))
	if len(r.From) == 0 || slices.ContainsFunc(r.From, func(s string) bool {
		return strings.EqualFold(s, name) || v.Role != RoleNone && s == string(v.Role)
	}) {
		return true
	}
	return r.StandIn != "" && strings.EqualFold(r.StandIn, name) &&
		v.At >= made.Add(time.Duration(r.ExpiresSeconds)*time.Second)
}

// missing is how many votes the policy still needs on a result.
func (r Review) missing(s *Result) int {
	need := r.Approvals
	for _, v := range s.Votes {
		if v.Accept && r.Counts(v, s.CreatedAt) {
			need--
		}
	}
	return max(need, 0)
}

// VotesMissing is how many people must still accept the result, at least; 0 when
// all policies are met. Flags need one person.
func (r *Result) VotesMissing() int {
	policies := r.Policy.All()
	if len(r.Flags) > 0 {
		policies = append(policies, Review{Approvals: 1})
	}
	need := 0
	for _, p := range policies {
		need = max(need, p.missing(r))
	}
	return need
}

// MissingVoters names whose votes the unmet policies of the result need; "" is a list
// that names nobody in particular.
func (r *Result) MissingVoters() string {
	var voters []string
	for _, p := range r.Policy.All() {
		if names := p.Voters(); p.missing(r) > 0 && names != "" && !slices.Contains(voters, names) {
			voters = append(voters, names)
		}
	}
	return strings.Join(voters, "; ")
}

// MayVote reports whether a vote counts by one of the policies of the result.
func (r *Result) MayVote(v Vote) bool {
	all := r.Policy.All()
	return len(all) == 0 || slices.ContainsFunc(all, func(p Review) bool { return p.Counts(v, r.CreatedAt) })
}
