package cmd

import (
	"taskyard/internal/buildinfo"
	"taskyard/internal/client"
)

// Commands is the command line on Windows, which has only the client. A server
// stops and confines whole process trees, which is supported only on Linux and
// macOS.
type Commands struct {
	Serve  refusedCmd `cmd:"" group:"serve" default:"withargs" help:"Run a server. Not on Windows: use WSL."`
	Demo   refusedCmd `cmd:"" group:"serve" help:"Run a server to explore. Not on Windows: use WSL."`
	Worker refusedCmd `cmd:"" group:"serve" help:"Execute runs of a server. Not on Windows: use WSL."`

	clientCommands `embed:"" group:"work"`
	MCP            refusedCmd `cmd:"" group:"work" name:"mcp" help:"Serve MCP on stdin and stdout. Not on Windows: give your agent the address of the server, which ends in /mcp."`

	Completion completionCmd `cmd:"" group:"self" help:"Print the completion script of a shell."`
	Version    versionCmd    `cmd:"" group:"self" help:"Print version, commit, date and the version of Go; so do --version and -v."`

	Man      manCmd      `cmd:"" group:"self" name:"man-page" hidden:"" help:"Print the manual page."`
	Complete completeCmd `cmd:"" group:"self" name:"complete-words" hidden:"" help:"Answer the completion scripts."`
}

// refusedCmd is a command that is not supported on this system.
type refusedCmd struct {
	Rest []string `arg:"" optional:"" passthrough:"" hidden:""`
}

// Run returns an error.
func (refusedCmd) Run() error {
	return &usageError{"this command does not run on Windows: use WSL, and Taskyard for Linux in it"}
}

// agentCmd contains the commands for agents.
type agentCmd struct {
	List    client.AgentList  `cmd:"" help:"List the agents with their load."`
	Show    client.AgentShow  `cmd:"" help:"Show an agent, or the text of its definition."`
	Queue   client.AgentQueue `cmd:"" help:"List the tasks of an agent in the order in which they are claimed."`
	Runners client.RunnerList `cmd:"" help:"List the runners: what each can start, and what it enforces."`

	JSON client.JSONFlag `name:"json" help:"Print JSON."`
}

// Build returns the build of this program.
func Build() buildinfo.Info { return buildinfo.Read() }
