package task

// EnforcementLevel says how far a runner enforces what was asked for.
type EnforcementLevel string

// The enforcement levels.
const (
	Enforced       EnforcementLevel = "enforced"
	PartlyEnforced EnforcementLevel = "partly"       // How says what is not enforced
	NotEnforced    EnforcementLevel = "not_enforced" // the agent is told, and may do otherwise
	NotAsked       EnforcementLevel = "not_asked"    // there is nothing to hold it to: a tool that is allowed, a limit that is not set
)

// Enforcement is one tool or limit: what was asked for, and whether the runner
// enforces it.
type Enforcement struct {
	What  string           `json:"what" doc:"a tool by its name, or files, network, timeout, idleTimeout, maxTokens, maxTurns, maxCostUsd"`
	Asked string           `json:"asked" doc:"such as: allowed, not allowed, work folder only, closed, 300 s, none"`
	Level EnforcementLevel `json:"enforced" enum:"enforced,partly,not_enforced,not_asked"`
	How   string           `json:"how,omitempty" doc:"by what, or what is not enforced"`
}

// Unenforced returns what is asked for and not, or only partly, enforced.
func Unenforced(list []Enforcement) (out []Enforcement) {
	for _, e := range list {
		if e.Level == NotEnforced || e.Level == PartlyEnforced {
			out = append(out, e)
		}
	}
	return out
}
