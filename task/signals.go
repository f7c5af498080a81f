package task

import "slices"

// Signals is what a write tells those who wait for changes once it is committed:
// on the server that wrote, and on the others that share its database.
type Signals struct {
	Topics      []string     `json:"topics,omitempty"` // of pages and streams
	Freed       []string     `json:"freed,omitempty"`  // agents in whose queue a task may be free now, "" for all
	Queued      bool         `json:"queued,omitempty"` // a run may be startable
	Ended       []ID         `json:"ended,omitempty"`  // runs
	MCP         []ID         `json:"mcp,omitempty"`    // runs whose program has reached the MCP server
	Waits       []ID         `json:"waits,omitempty"`  // runs that may have started or stopped waiting for what they delegated
	Stops       []Stop       `json:"stops,omitempty"`
	Revocations []Revocation `json:"cuts,omitempty"`
	All         bool         `json:"all,omitempty"` // anything may have changed
}

// Stop is a run whose program must stop, and why.
type Stop struct {
	Run   ID     `json:"run"`
	Cause string `json:"cause"`
}

// Revocation is a token, or a person with their sessions, whose open calls and
// streams must end.
type Revocation struct {
	Token ID   `json:"token,omitempty"`
	Role  bool `json:"role,omitempty"` // since the role of its person changed, not since it was revoked
	User  ID   `json:"user,omitempty"`
}

// Empty reports whether nothing is to be told.
func (s *Signals) Empty() bool {
	return len(s.Topics)+len(s.Freed)+len(s.Ended)+len(s.MCP)+len(s.Waits)+len(s.Stops)+len(s.Revocations) == 0 && !s.Queued && !s.All
}

// Add adds the signals of another write.
func (s *Signals) Add(o *Signals) {
	s.Topics, s.Freed = union(s.Topics, o.Topics), union(s.Freed, o.Freed)
	s.Ended, s.Waits, s.MCP = append(s.Ended, o.Ended...), append(s.Waits, o.Waits...), append(s.MCP, o.MCP...)
	s.Stops, s.Revocations = append(s.Stops, o.Stops...), append(s.Revocations, o.Revocations...)
	s.Queued, s.All = s.Queued || o.Queued, s.All || o.All
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}
