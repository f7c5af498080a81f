package main

import (
	"os"

	"taskyard/config"
	"taskyard/runner"
)

// programOf is the command line of a runner; a kind that is one certain
// program needs none.
func programOf(r config.Runner) []string {
	if len(r.Command) == 0 && r.Kind == "codex" {
		return []string{"codex"}
	}
	return r.Command
}

// mcpBridge is the command line that makes this program an MCP server on its
// stdin and stdout; nil when its file is not known.
func mcpBridge() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, "mcp"}
}

// weaker says what an agent with these tools could do beyond them under a
// runner, as sentences; "" when the runner holds it to them, or is not ours.
func (y *yard) weaker(name string, tools []string) string {
	c, ok := y.known[name].(runner.Confiner)
	if !ok {
		return ""
	}
	sentence, refused := c.Weaker(tools)
	if refused {
		sentence += " Therefore it is not started, unless accept_weaker = true is configured for this runner."
	}
	return sentence
}

// claudeOf makes the runner of a section of kind claude.
func claudeOf(r config.Runner) *runner.Claude {
	c := &runner.Claude{Argv: r.Command, Env: r.Env, Confine: confinementOf(r), AcceptWeaker: r.AcceptWeaker}
	if r.SecretEnv != "" {
		c.Pass = []string{r.SecretEnv}
	}
	return c
}

// confinementOf says which files the program of a runner may change.
func confinementOf(r config.Runner) runner.Confinement {
	return runner.Confinement{On: r.Confine == nil || *r.Confine, Writable: r.Writable}
}
