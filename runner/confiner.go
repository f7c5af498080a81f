package runner

import "slices"

// Confiner is a Runner that knows whether it enforces the tools of an agent.
type Confiner interface {
	Runner
	// EnforcementGap describes, in sentences for people, what an agent with
	// these tools could do here beyond them; "" if they are enforced. refused
	// reports that such an agent is not started for that reason.
	EnforcementGap(tools []string) (sentence string, refused bool)
}

// EnforcementGap says that nothing holds a program to its tools.
func (c *Command) EnforcementGap([]string) (string, bool) {
	return "It starts a program, which is told these tools and not held to them: it can do all that the account of the server can.", false
}

// EnforcementGap says that nothing holds a receiver to its tools.
func (w *Webhook) EnforcementGap([]string) (string, bool) {
	return "It hands the run to a receiver, which is told these tools and not held to them.", false
}

// Missing says why the program of a command line cannot be started here, or "".
func Missing(argv []string) string {
	if _, err := lookPath(argv); err != nil {
		return err.Error()
	}
	return ""
}

// acceptWeaker is the hint of every refusal because of an enforcement gap.
const acceptWeaker = `Give the agent these tools, choose another runner, or set accept_weaker = true for this one.`

// lacks returns those of names that are not among tools.
func lacks(tools []string, names ...string) (list []string) {
	for _, name := range names {
		if !slices.Contains(tools, name) {
			list = append(list, name)
		}
	}
	return list
}
