package task

import "slices"

// News is what a write changed, for those who wait for it: of the server that
// wrote and of the others that share its database.
type News struct {
	Topics []string `json:"topics,omitempty"` // of pages and streams
	Freed  []string `json:"freed,omitempty"`  // agents in whose queue a task may be free now, "" for all
	Queued bool     `json:"queued,omitempty"` // a run may be startable
	Ended  []ID     `json:"ended,omitempty"`  // runs
	MCP    []ID     `json:"mcp,omitempty"`    // runs whose program has reached the MCP server
	Waits  []ID     `json:"waits,omitempty"`  // runs that may have begun or ended to wait for what they delegated
	Stops  []Stop   `json:"stops,omitempty"`
	Cuts   []Cut    `json:"cuts,omitempty"`
	All    bool     `json:"all,omitempty"` // anything may have changed
}

// Stop is a run whose program must stop, and why.
type Stop struct {
	Run   ID     `json:"run"`
	Cause string `json:"cause"`
}

// Cut is a token, or a person with their sessions, whose open calls and streams
// must end.
type Cut struct {
	Token ID   `json:"token,omitempty"`
	Role  bool `json:"role,omitempty"` // since the role of its person changed, not since it was revoked
	User  ID   `json:"user,omitempty"`
}

// Empty reports whether there is nothing to tell.
func (n *News) Empty() bool {
	return len(n.Topics)+len(n.Freed)+len(n.Ended)+len(n.MCP)+len(n.Waits)+len(n.Stops)+len(n.Cuts) == 0 && !n.Queued && !n.All
}

// Add adds the news of another write.
func (n *News) Add(o *News) {
	n.Topics, n.Freed = union(n.Topics, o.Topics), union(n.Freed, o.Freed)
	n.Ended, n.Waits, n.MCP = append(n.Ended, o.Ended...), append(n.Waits, o.Waits...), append(n.MCP, o.MCP...)
	n.Stops, n.Cuts = append(n.Stops, o.Stops...), append(n.Cuts, o.Cuts...)
	n.Queued, n.All = n.Queued || o.Queued, n.All || o.All
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}
