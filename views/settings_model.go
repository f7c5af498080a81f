package views

import (
	"cmp"
	"strconv"
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// ProfileModel is the settings page of the person who is signed in.
type ProfileModel struct {
	User     task.User
	Sessions []Session // of this person, most recently used first

	Errors ui.FieldErrors // why changing the password failed
}

// Session is a signed-in browser.
type Session struct {
	ID                 string // identifies the session to end
	Browser, System    string // as reported by the browser; "": unknown
	Address            string // network address at sign-in, or ""
	SignedInAt, SeenAt task.Time
	Current            bool // the session of this request
}

// name describes the browser.
func (s Session) name() string {
	browser := cmp.Or(s.Browser, "Unknown browser")
	if s.System == "" {
		return browser
	}
	return browser + " on " + s.System
}

// PeopleModel is the settings page of the people, for admins.
type PeopleModel struct {
	People []task.User
	Name   string // as typed, if adding failed
	Role   task.Role
	Errors ui.FieldErrors
}

// TokensModel is the settings page of bearer tokens.
type TokensModel struct {
	Tokens []task.Token
	Agents []string // IDs that a token may be bound to
	Fresh  *FreshToken
	Form   TokenForm
	Errors ui.FieldErrors
}

// TokenForm contains the fields of the form for a new token.
type TokenForm struct {
	Name  string
	Scope string // agent, read, operate, review or admin
	ActAs bool
	Own   bool // for the person's own account
	Agent string
	Days  string
}

// FreshToken is a new token with its secret, which is shown only once.
type FreshToken struct {
	Token  task.Token
	Secret string
	URL    string // base URL of this server
}

// AboutModel is the settings page about this server.
type AboutModel struct {
	Build      []Fact // version, commit and so on
	Schema     int
	DataFolder string // "": not shown
	Engine     string // such as "PostgreSQL 17.2"
	DBBytes    int64
	StartedAt  task.Time
	Counts     []Tally // tasks, runs, messages and so on

	OpenIndexed, HistoryIndexed int // per cent, 0 if up to date

	Servers []task.Server // servers on the database; none: only one is possible
}

// describeServer describes what is known of one of several servers.
func describeServer(c Chrome, s task.Server) string {
	words := s.Address + ", version " + s.Version + ", seen " + ui.Dur(c.Now.Sub(s.SeenAt)) + " ago"
	if s.Leads {
		words += ", leads"
	}
	if s.This {
		words += ", this one"
	}
	return words
}

// indexText describes the progress of an index, and its effect.
func indexText(percent int, meanwhile string) string {
	if percent == 0 {
		return "up to date"
	}
	return strconv.Itoa(percent) + " %, indexing; " + meanwhile
}

// Fact is a named text.
type Fact struct{ Name, Text string }

// Tally is a named number.
type Tally struct {
	Name string
	N    int
}

// NewTokenForm returns the initial form for a new token.
func NewTokenForm(c Chrome) TokenForm {
	if c.CanAdmin {
		return TokenForm{Scope: "agent"}
	}
	scopes := scopesFor(c)
	return TokenForm{Scope: scopes[len(scopes)-1].Value, Own: true}
}

// scopesFor returns a person's choices: all for admins, for others those of the
// roles up to their own.
func scopesFor(c Chrome) []tokenScope {
	if c.CanAdmin {
		return tokenScopes
	}
	list := tokenScopes[1:2]
	for i, s := range tokenScopes {
		if task.Scopes[s.Value] == c.Role {
			list = tokenScopes[1 : i+1]
		}
	}
	return list
}

type tokenScope struct{ Value, Label string }

// tokenScopes are the choices of the form for a new token.
var tokenScopes = []tokenScope{
	{"agent", "Agent: claims and works as one agent"},
	{"read", "Read: sees everything, changes nothing"},
	{"operate", "Operate: creates and changes tasks"},
	{"review", "Review: decides on approvals and results too"},
	{"admin", "Admin: everything"},
	{task.ScopeWorker, "Worker: executes runs on another machine, sees nothing else"},
}

// tokenState returns the state of a token: "active", "expired" or "revoked".
func tokenState(t task.Token, now task.Time) string {
	switch {
	case t.RevokedAt != 0:
		return "revoked"
	case t.ExpiresAt != 0 && t.ExpiresAt <= now:
		return "expired"
	}
	return "active"
}

// envLines returns the lines that connect an agent's shell.
func (f *FreshToken) envLines() string {
	return "export TASKYARD_URL=" + f.URL + "\nexport TASKYARD_TOKEN=" + f.Secret
}

// curlLine returns a request that tests the token.
func (f *FreshToken) curlLine() string {
	if f.Token.Agent == "" {
		return `curl -H "Authorization: Bearer $TASKYARD_TOKEN" $TASKYARD_URL/api/tasks`
	}
	return `curl -X POST -H "Authorization: Bearer $TASKYARD_TOKEN" \` + "\n" +
		`  -H "Content-Type: application/json" -d '{}' \` + "\n" +
		`  $TASKYARD_URL/api/agents/` + f.Token.Agent + `/signup`
}

// mcpLine returns the command that connects Claude Code. The single quotes keep
// the variable's name, not the secret, in the shell's history and in the
// configuration.
func (f *FreshToken) mcpLine() string {
	return `claude mcp add --transport http taskyard ` + f.URL + `/mcp --header 'Authorization: Bearer ${TASKYARD_TOKEN}'`
}

// mcpConfig returns the configuration for other coding agents, most of which
// accept this block.
func (f *FreshToken) mcpConfig() string {
	return `{
  "mcpServers": {
    "taskyard": {
      "type": "http",
      "url": "` + f.URL + `/mcp",
      "headers": {"Authorization": "Bearer ` + f.Secret + `"}
    }
  }
}`
}

// mcpProgram returns the configuration for agents that start their MCP servers
// as programs.
func (f *FreshToken) mcpProgram() string {
	return `{
  "mcpServers": {
    "taskyard": {
      "command": "taskyard",
      "args": ["mcp"],
      "env": {"TASKYARD_URL": "` + f.URL + `", "TASKYARD_TOKEN": "` + f.Secret + `"}
    }
  }
}`
}

// scopeText returns a token's scope in words.
func scopeText(scope string) string {
	var words []string
	for _, s := range strings.Fields(scope) {
		if id, ok := strings.CutPrefix(s, "agent:"); ok {
			s = "agent " + id
		}
		words = append(words, s)
	}
	return strings.Join(words, ", ")
}
