package task

import (
	"context"
	"strings"
)

// Role is what a caller is to the instance. The roles of people grow from left to
// right; agents are separate.
type Role string

// The roles.
const (
	RoleNone     Role = ""
	RoleAgent    Role = "agent"
	RoleViewer   Role = "viewer"
	RoleOperator Role = "operator"
	RoleReviewer Role = "reviewer"
	RoleAdmin    Role = "admin"
	RoleWorker   Role = "worker" // a program that executes runs on another machine; separate too
)

// PeopleRoles lists the roles that a person may have.
var PeopleRoles = []Role{RoleViewer, RoleOperator, RoleReviewer, RoleAdmin}

// Perm is one thing that a route needs.
type Perm string

// The permissions. Everyone needs no sign-in; the rest do.
const (
	Everyone Perm = "everyone" // no sign-in: health, sign-in page, static files
	SignedIn Perm = "signed-in"
	Read     Perm = "read"    // all tasks, runs, agents, events
	Write    Perm = "write"   // create and change tasks; agents further bounded by relation
	Claiming Perm = "claim"   // sign up, move, heartbeat: agents as themselves, people for any
	Account  Perm = "account" // tokens of one's own account: every person, never an agent
	Person   Perm = "person"  // write, but never an agent
	Decide   Perm = "decide"  // approvals
	Admin    Perm = "admin"   // agents, users, tokens, settings
	Execute  Perm = "execute" // take runs and execute them; nothing else of the instance
)

// Perms lists every permission.
var Perms = []Perm{Everyone, SignedIn, Read, Write, Claiming, Account, Person, Decide, Admin, Execute}

// grants is the one authorization table: role × permission. Unknown means no.
var grants = map[Role]map[Perm]bool{
	RoleNone:     {Everyone: true},
	RoleAgent:    {Everyone: true, SignedIn: true, Read: true, Write: true, Claiming: true},
	RoleWorker:   {Everyone: true, SignedIn: true, Execute: true},
	RoleViewer:   {Everyone: true, SignedIn: true, Read: true, Account: true},
	RoleOperator: {Everyone: true, SignedIn: true, Read: true, Write: true, Claiming: true, Account: true, Person: true},
	RoleReviewer: {Everyone: true, SignedIn: true, Read: true, Write: true, Claiming: true, Account: true, Person: true, Decide: true},
	RoleAdmin: {
		Everyone: true, SignedIn: true, Read: true, Write: true, Claiming: true, Account: true, Person: true, Decide: true, Admin: true,
	},
}

// May reports whether the role has the permission.
func (r Role) May(p Perm) bool { return grants[r][p] }

// System is the actor for what Taskyard does by itself.
const System = "system"

// Importer stands for the unknown authors of what was imported from foreign
// files.
const Importer = "import"

// Actor is the caller: an agent, a person, or Taskyard itself.
type Actor struct {
	Name    string // "coder", "user:maya" or "system"
	Role    Role
	ActAs   bool   // a token that may name any agent
	TokenID ID     // the token used, or 0
	UserID  ID     // the person, or 0
	RunID   ID     // the run that a run token is bound to, or 0
	Session string // the hash of the browser session, or ""

	// For the audit: the network address, and the id of the request that the
	// answer carries as X-Request-Id, or "".
	Addr, RequestID string
}

// SystemActor is Taskyard itself.
var SystemActor = Actor{Name: System, Role: RoleAdmin}

// IsAgent reports whether the caller is an agent.
func (a Actor) IsAgent() bool { return a.Role == RoleAgent }

// May reports whether the caller has the permission.
func (a Actor) May(p Perm) bool { return a.Role.May(p) }

// CheckPerm returns an error that names who may, if the caller lacks the permission.
func (a Actor) CheckPerm(p Perm) *Error {
	var roles []string
	scope := ""
	for _, r := range []Role{RoleAgent, RoleWorker, RoleViewer, RoleOperator, RoleReviewer, RoleAdmin} {
		if !r.May(p) {
			continue
		}
		roles = append(roles, string(r))
		for s, of := range Scopes {
			if scope == "" && of == r {
				scope = s
			}
		}
	}
	if last := len(roles) - 1; last > 0 {
		roles = []string{strings.Join(roles[:last], ", "), roles[last]}
	}
	e := Errorf(Forbidden, CodeForbidden, "%s (%s) may not do this: it requires the role %s", a.Name, a.Role, strings.Join(roles, " or "))
	switch {
	case a.TokenID == 0: // signed in with a password
	case scope == "admin" || scope == ScopeWorker:
		e.Message += "; use a token of scope " + scope
	case scope != "":
		e.Message += "; use a token of scope " + scope + " or higher"
	}
	e.Perm = p
	return e
}

// UserActorName is the actor name of a person.
func UserActorName(name string) string { return "user:" + name }

// IsUserName reports whether an actor name is a person's.
func IsUserName(actor string) bool { return strings.HasPrefix(actor, "user:") }

// ActorLabel returns an actor's name for people: maya, coder, Taskyard.
func ActorLabel(actor string) string {
	if actor == System {
		return "Taskyard"
	}
	return strings.TrimPrefix(actor, "user:")
}

// User is a person who may sign in.
type User struct {
	ID         ID     `json:"id"`
	Name       string `json:"name"`
	Role       Role   `json:"role" enum:"viewer,operator,reviewer,admin"`
	CreatedAt  Time   `json:"createdAt"`
	LastSeenAt Time   `json:"lastSeenAt,omitzero"`
	DisabledAt Time   `json:"disabledAt,omitzero"`
}

// Token is a bearer token as it may be shown: never its secret.
type Token struct {
	ID        ID     `json:"id"`
	Name      string `json:"name"`
	Hint      string `json:"hint" doc:"the first characters, to identify the token"`
	Scope     string `json:"scope" doc:"agent:ID; read, operate, review or admin, optionally with act-as; or worker"`
	Agent     string `json:"agent,omitempty"`
	Person    string `json:"person,omitempty" doc:"its owner: it acts as this person, with at most their role"`
	CreatedBy string `json:"createdBy"`
	CreatedAt Time   `json:"createdAt"`
	ExpiresAt Time   `json:"expiresAt,omitzero"`
	UsedAt    Time   `json:"usedAt,omitzero"`
	RevokedAt Time   `json:"revokedAt,omitzero"`
	RunID     ID     `json:"runId,omitzero"`
	UserID    ID     `json:"-"`
}

// Scopes lists the scopes of tokens that are no agent's, and the role of each.
var Scopes = map[string]Role{
	"read": RoleViewer, "operate": RoleOperator,
	"review": RoleReviewer, "admin": RoleAdmin, ScopeWorker: RoleWorker,
}

// ScopeWorker is the scope of workers. It goes with no other.
const ScopeWorker = "worker"

// ParseScope returns the role and act-as right of a token's scope, which is a
// list separated by spaces.
func ParseScope(scope string) (role Role, agent string, actAs bool) {
	for _, s := range strings.Fields(scope) {
		if id, ok := strings.CutPrefix(s, "agent:"); ok {
			role, agent = RoleAgent, id
			continue
		}
		if s == "act-as" {
			actAs = true
		} else if r := Scopes[s]; r != "" {
			role = r
		}
	}
	if actAs && role == RoleNone {
		role = RoleOperator
	}
	return role, agent, actAs
}

type callerKey struct{}

// WithActor passes the actor who calls to lower layers, such as an http.Handler
// of another package.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, callerKey{}, a)
}

// ActorFromContext returns the caller that WithActor put into a context; the zero Actor
// is nobody.
func ActorFromContext(ctx context.Context) Actor {
	a, _ := ctx.Value(callerKey{}).(Actor)
	return a
}

type waitHookKey struct{}

// WithWaitHook returns a context whose call runs hook when it begins to wait for
// something other than the store: what it needed only before can be released.
func WithWaitHook(ctx context.Context, hook func()) context.Context {
	return context.WithValue(ctx, waitHookKey{}, hook)
}

// BeginWait runs the hook of WithWaitHook, if the context has one.
func BeginWait(ctx context.Context) {
	if hook, ok := ctx.Value(waitHookKey{}).(func()); ok {
		hook()
	}
}

// CheckActsAs checks that the caller may act under an agent's name: agents under
// their own alone, people and act-as tokens under any.
func (a Actor) CheckActsAs(agent string) error {
	if !a.IsAgent() || a.Name == agent {
		return nil
	}
	return Errorf(Forbidden, CodeNotYourName, "agent %s may not act as %s", a.Name, agent)
}
