package runner

import "slices"

// Confiner is a Runner that tells how far it holds an agent to its tools.
type Confiner interface {
	Runner
	// Weaker says, as sentences for people, what an agent with these tools
	// could do here beyond them; "" when the runner holds it to them. refused
	// tells that such an agent is not started for that reason.
	Weaker(tools []string) (sentence string, refused bool)
}

// Weaker tells that a program is told its tools and not held to them.
func (c *Command) Weaker([]string) (string, bool) {
	return "It starts a program, which is told these tools and not held to them: it can do all that the account of the server can.", false
}

// Weaker tells that a receiver is told its tools and not held to them.
func (w *Webhook) Weaker([]string) (string, bool) {
	return "It hands the run to a receiver, which is told these tools and not held to them.", false
}

// Missing says why the program of a command line cannot be started here, or "".
func Missing(argv []string) string {
	if _, err := lookPath(argv); err != nil {
		return err.Error()
	}
	return ""
}

// acceptWeaker is the hint of every refusal for a weaker confinement.
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
