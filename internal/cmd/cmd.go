// Package cmd is the command line: the tree of commands, and those that work on
// a data folder.
package cmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"taskyard/internal/app"
	"taskyard/internal/buildinfo"
	"taskyard/internal/client"
)

// Exit codes of the command line; client knows the rest.
const (
	exitOK      = client.ExitDone
	exitRefused = client.ExitRefused
	exitUsage   = client.ExitUsage
)

// Commands is the whole command line; serve is the default.
type Commands struct {
	Serve serveCmd `cmd:"" group:"serve" default:"withargs" help:"Run the server (the default command). The first line on stdout is the sign-in link; logs go to stderr."`
	Demo  demoCmd  `cmd:"" group:"serve" help:"Run a server with three scripted agents and a few tasks, to explore. Needs no model and no network."`

	Worker workerCmd `cmd:"" group:"serve" help:"Execute runs of a server on this machine; runs are returned to the queue when the worker stops. Needs a TASKYARD_TOKEN of scope worker."`

	clientCommands `embed:"" group:"work"`
	MCP            mcpCmd `cmd:"" group:"work" name:"mcp" help:"Serve MCP on stdin and stdout, for agents that start it."`

	Backup     backupCmd     `cmd:"" group:"data" help:"Write the whole instance to a new archive; the server may be running. A plain file copy may be corrupt."`
	Restore    restoreCmd    `cmd:"" group:"data" help:"Verify a backup and put it in the data folder. Stop the server first; with --replace what is there is kept."`
	Check      checkCmd      `cmd:"" group:"data" help:"Check integrity, references, the log's hash chain, and definitions."`
	Export     exportCmd     `cmd:"" group:"data" help:"Write all tasks with their threads, and the todo lists, to plain files; the server may be running."`
	Import     importCmd     `cmd:"" group:"data" help:"Read the files of an export, or the tasks of Beads, Task Master or Backlog.md. All or nothing; --dry-run shows the result without writing."`
	User       userCmd       `cmd:"" group:"data" help:"Add people and set passwords, without a browser."`
	Token      tokenCmd      `cmd:"" group:"data" help:"Create and revoke tokens, without a browser."`
	Notify     notifyCmd     `cmd:"" group:"data" help:"Test the external notification services."`
	Config     configCmd     `cmd:"" group:"data" help:"Print the effective configuration and where each value comes from."`
	Completion completionCmd `cmd:"" group:"self" help:"Print the completion script of a shell."`
	Version    versionCmd    `cmd:"" group:"self" help:"Print version, commit, date, and the versions of Go and SQLite."`

	PrintVersion versionFlag `name:"version" short:"v" help:"Print the version."`

	Complete completeCmd  `cmd:"" group:"self" name:"complete-words" hidden:"" help:"Answer the completion scripts."`
	Scripted demoAgentCmd `cmd:"" group:"self" name:"demo-agent" hidden:"" help:"The scripted agent of the demo."`
}

// Env is what a command gets from its process.
type Env struct {
	Ctx            context.Context // ends when the program is told to stop
	Getenv         func(string) string
	Environ        []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Now            func() time.Time // the wall clock; nil for the real one
	Build          buildinfo.Info
	SystemConfig   string // configuration file of the service of this machine; "" for none
	AddressFile    string // where that service notes its address; "" for none
}

// appOptions are those of an instance that this command opens.
func (e *Env) appOptions(log *slog.Logger) app.Options {
	return app.Options{Log: log, Now: e.Now, Getenv: e.Getenv}
}

// Run is the program without its process: it runs the command of args and
// returns the exit code.
func Run(e *Env, args []string) int {
	if e.Now == nil {
		e.Now = time.Now
	}
	var cmds Commands
	exited := -1
	e.Stdin = client.Until(e.Ctx, e.Stdin)
	ce, out := clientEnv(e), &printed{to: e.Stdout}
	e.Stdout, ce.Stdout = out, out
	parser, err := kong.New(&cmds, kong.Name("taskyard"),
		kong.Description("A task server for people and AI agents: queues, claims, runs with approval, one file, one binary."),
		kong.UsageOnError(), kong.Writers(e.Stdout, e.Stderr), kong.Exit(func(code int) { exited = code }),
		kong.Bind(e, ce), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}), kong.Help(help),
		kong.ExplicitGroups(Groups), kong.PostBuild(withExamples))
	if err != nil {
		fmt.Fprintln(e.Stderr, "taskyard:", err)
		return exitUsage
	}
	kctx, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help
	}
	if err != nil {
		return misused(e, args, err)
	}
	ce.Command = kctx.Selected().Name
	err = kctx.Run(e)
	if g := kctx.Selected().Group; err == nil && (g == nil || g.Key != "serve") {
		err = out.failure() // of a server only the first line is lost, and what it did is not
	}
	return ended(e, err)
}

// help prints the help of a command, and that of the subcommand which its name
// alone means.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	n := ctx.Selected()
	if n == nil || n.DefaultCmd == nil {
		return nil
	}
	start, err := kong.Trace(ctx.Kong, append(strings.Fields(n.Path()), n.DefaultCmd.Name))
	if err != nil {
		return err
	}
	fmt.Fprintln(ctx.Stdout)
	return kong.DefaultHelpPrinter(options, start)
}

// usageError is a wrong use of a command.
type usageError struct{ msg string }

func (u *usageError) Error() string { return u.msg }

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	error
}

func (e *exitError) Unwrap() error { return e.error }

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(e *Env) error {
	_, err := fmt.Fprint(e.Stdout, e.Build)
	return err
}

// versionFlag is --version and -v.
type versionFlag bool

// BeforeReset prints the version in the place of any command.
func (versionFlag) BeforeReset(k *kong.Kong, e *Env) error {
	_, err := fmt.Fprint(e.Stdout, e.Build)
	k.Exit(exitOK)
	return err
}

type demoAgentCmd struct {
	Fast bool `help:"Do not pause between steps."`
}

// Run is one run of the scripted agent.
func (c *demoAgentCmd) Run(e *Env) error {
	return client.DemoAgent(e.Ctx, client.DemoOptions{Getenv: e.Getenv, Stdin: e.Stdin, Stdout: e.Stdout, Stderr: e.Stderr, Fast: c.Fast})
}
