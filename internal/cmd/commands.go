//go:build !windows

package cmd

import (
	"log/slog"

	"taskyard/db"
	"taskyard/internal/app"
	"taskyard/internal/buildinfo"
	"taskyard/internal/client"
)

// Commands is the whole command line; serve is the default.
type Commands struct {
	Serve serveCmd `cmd:"" group:"serve" default:"withargs" help:"Run the server (the default command). The first line on stdout is the sign-in link; logs go to stderr."`
	Demo  demoCmd  `cmd:"" group:"serve" help:"Run a sample server with scripted agents and no model."`

	Worker workerCmd `cmd:"" group:"serve" help:"Execute a server's runs on this machine. Needs a worker token."`

	clientCommands `embed:"" group:"work"`
	MCP            mcpCmd `cmd:"" group:"work" name:"mcp" help:"Serve MCP on stdin and stdout, for agents that start it."`

	Backup     backupCmd     `cmd:"" group:"data" help:"Write the whole instance to a new archive; the server may be running. A plain file copy may be corrupt."`
	Restore    restoreCmd    `cmd:"" group:"data" help:"Verify a backup and put it in the data folder of a stopped server."`
	Check      checkCmd      `cmd:"" group:"data" help:"Check integrity, references, the log's hash chain, and definitions."`
	Export     exportCmd     `cmd:"" group:"data" help:"Write all tasks, projects and todo lists to plain files."`
	Import     importCmd     `cmd:"" group:"data" help:"Read the files of an export, Beads, Task Master or Backlog.md. All or nothing; --dry-run writes nothing."`
	Database   dbCmd         `cmd:"" group:"data" name:"db" help:"Copy the database between SQLite and PostgreSQL."`
	User       userCmd       `cmd:"" group:"data" help:"Add people and set passwords, without a browser."`
	Token      tokenCmd      `cmd:"" group:"data" help:"Create, list and revoke tokens, without a browser."`
	Notify     notifyCmd     `cmd:"" group:"data" help:"Test the external notification services."`
	Config     configCmd     `cmd:"" group:"data" help:"Print the effective configuration and where each value comes from."`
	Completion completionCmd `cmd:"" group:"self" help:"Print the completion script of a shell."`
	Version    versionCmd    `cmd:"" group:"self" help:"Print the version; so do --version and -v."`

	Man      manCmd       `cmd:"" group:"self" name:"man-page" hidden:"" help:"Print the manual page."`
	Complete completeCmd  `cmd:"" group:"self" name:"complete-words" hidden:"" help:"Answer the completion scripts."`
	Scripted demoAgentCmd `cmd:"" group:"self" name:"demo-agent" hidden:"" help:"The scripted agent of the demo."`
}

// agentCmd contains the commands for agents; check and restore need no server.
type agentCmd struct {
	List    client.AgentList  `cmd:"" help:"List the agents with their load."`
	Show    client.AgentShow  `cmd:"" help:"Show an agent, or the text of its definition."`
	Queue   client.AgentQueue `cmd:"" help:"List the tasks of an agent in the order in which they are claimed."`
	Runners client.RunnerList `cmd:"" help:"List the runners: what each can start, and what it enforces."`
	Check   agentCheckCmd     `cmd:"" help:"Check definition files before a server uses them. Needs no server."`
	Restore agentRestoreCmd   `cmd:"" help:"Restore default agents that were deleted. Needs no server."`

	JSON client.JSONFlag `name:"json" help:"Print JSON."`
}

// appOptions returns the options for an instance that this command opens.
func (e *Env) appOptions(log *slog.Logger) app.Options {
	return app.Options{Log: log, Now: e.Now, Getenv: e.Getenv, Level: &e.level}
}

type demoAgentCmd struct {
	Fast bool `help:"Do not pause between steps."`
}

// Run executes one run of the scripted agent.
func (c *demoAgentCmd) Run(e *Env) error {
	return client.DemoAgent(e.Ctx, client.DemoOptions{Getenv: e.Getenv, Stdin: e.Stdin, Stdout: e.Stdout, Stderr: e.Stderr, Fast: c.Fast})
}

// Build returns the build of this program, including the version of SQLite.
func Build() buildinfo.Info {
	i := buildinfo.Read()
	i.SQLite = db.SQLiteVersion()
	return i
}
