package views

import (
	"net/url"
	"strings"

	"taskyard/task"
)

// DocsModel is the reference of the JSON API, generated from the OpenAPI
// document.
type DocsModel struct {
	Version string
	Groups  []DocGroup
	Types   []DocType
	Codes   []DocCode
}

// DocGroup is the operations of one tag.
type DocGroup struct {
	Name string
	Ops  []DocOp
}

// ID is the group's anchor.
func (g DocGroup) ID() string { return "tag-" + strings.ReplaceAll(strings.ToLower(g.Name), " ", "-") }

// DocOp is one operation.
type DocOp struct {
	ID, Method, Path string
	Summary, Desc    string // Markdown, but only backticks
	Need             task.Perm
	Params           []DocField
	Body             []DocField
	HasBody          bool
	BodyOptional     bool
	Status           int        // on success
	Also             int        // another status on success, or 0
	Answer           []DocRef   // one of these types
	Fields           []DocField // alternatively, of an answer without a type
	Text             string     // media type of an answer that is not JSON
	Headers          []string   // that the answer may have
	Curl             string
}

// Anchor is the operation's anchor.
func (o DocOp) Anchor() string { return "op-" + o.ID }

// found returns the text that the search field matches.
func (o DocOp) found() string {
	return strings.ToLower(o.Method + " " + o.Path + " " + o.Summary)
}

// DocField is a parameter, or a field of a body.
type DocField struct {
	Name     string
	In       string // path, query or header; "" in a body
	Required bool
	Type     DocRef
	Bounds   string // such as "1 to 50"
	Doc      string
}

// DocRef names a type: "list of " and "Step". If Linked, the page describes it.
type DocRef struct {
	Before, Name string
	Linked       bool
}

// DocType is an object in answers.
type DocType struct {
	Name   string
	Fields []DocField
}

// DocCode is an error code.
type DocCode struct{ Code, Doc string }

// permTexts describe the permissions.
var permTexts = map[task.Perm]string{
	task.Everyone: "No sign-in and no token.",
	task.SignedIn: "Any person or token.",
	task.Read:     "Read tasks, runs, agents and events.",
	task.Write: "Create and change tasks. An agent may change only tasks that it owns or created, and their subtasks; " +
		"it may comment on any.",
	task.Claiming: "Sign up, move, heartbeat. An agent as itself, a person for any agent.",
	task.Account:  "Tokens of one's own account; all tokens for admins. Never an agent.",
	task.Person:   "Change, but never as an agent.",
	task.Decide:   "Decide approvals. Never an agent.",
	task.Execute:  "Take runs and execute them, with a token of the scope worker.",
	task.Admin:    "Agents, people, tokens, settings.",
}

// rolesWithPerm lists the roles with a permission, lowest first.
func rolesWithPerm(p task.Perm) string {
	if task.RoleNone.May(p) {
		return "everyone"
	}
	var list []string
	for _, r := range append([]task.Role{task.RoleAgent, task.RoleWorker}, task.PeopleRoles...) {
		if r.May(p) {
			list = append(list, string(r))
		}
	}
	return strings.Join(list, ", ")
}

// Manual is a document of the program, or one of its sections; README is the
// list of all.
func (urls) Manual(page, anchor string) string {
	to := "/docs"
	if page != "README" {
		to += "/" + url.PathEscape(page)
	}
	if anchor != "" {
		to += "#" + anchor
	}
	return to
}

// ManualFile is an image in the documents.
func (urls) ManualFile(name string) string { return "/docs/" + url.PathEscape(name) }

// API is the reference of the JSON endpoints.
func (urls) API() string { return "/api/docs" }

// OpenAPI is the document that the reference is generated from.
func (urls) OpenAPI() string { return "/api/openapi.json" }
